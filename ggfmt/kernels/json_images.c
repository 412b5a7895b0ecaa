/* Images of records: objects whose members are the columns of a table. */
#include "json_scan.h"

static inline uint64_t *pair_word(JsonTable *table, int first, int second) {
    size_t words = ((size_t)table->names.count + 63) / 64;
    return &table->paired[(size_t)first * words + (size_t)second / 64];
}

/* Notes that a column of an image follows another one; -1 if there is no memory. */
static inline int note_pair(JsonScanner *s, JsonTable *table, int first, int second) {
    if (first < 0 || (*pair_word(table, first, second) >> (second % 64) & 1))
        return 0;
    int32_t pair[2] = {first, second};
    return bytes_append(&s->pairs, pair, sizeof pair);
}

/* Only the pairs of a record that is taken count. */
Verdict json_keep_pairs(JsonScanner *s) {
    JsonTable *table = (JsonTable *)s->base.table;
    for (size_t at = 0; at < s->pairs.size; at += 2 * sizeof(int32_t)) {
        int32_t pair[2];
        memcpy(pair, s->pairs.data + at, sizeof pair);
        uint64_t *word = pair_word(table, pair[0], pair[1]), bit = UINT64_C(1) << (pair[1] % 64);
        if (!(*word & bit) && bytes_append(&table->pairs, pair, sizeof pair) < 0)
            return NO_MEMORY;
        *word |= bit;
    }
    return TAKEN;
}

/* The expected column if its name and a quote after it are at a place; -1 otherwise. */
static inline int expected_column(const Keys *names, int expected, const char *at, const char *end) {
    if (expected >= names->count)
        return -1;
    const Key *key = &names->all[expected];
    int is_here = (size_t)(end - at) > key->length && at[key->length] == '"' && memcmp(at, key->text, key->length) == 0;
    return is_here ? expected : -1;
}

/* Begins an image: chooses where its values go. */
static Image begin_image(const JsonScanner *s, JsonTable *table, int old, int64_t row) {
    const Rows *rows = &table->base.rows;
    const Identity *key = json_identity(s); /* the record's: its table is known */
    Image image = {old ? rows->before : rows->after, KEEP_ALL, old, row, 0, -1, key->valued[old]};
    if (s->row_only) {
        int chosen = old == (s->op == 'D');
        image.columns = chosen ? rows->after : rows->before;
        image.keep = chosen ? KEEP_ALL : old && s->key_updates ? KEEP_KEYS : KEEP_NONE;
    }
    if (s->purpose != ROWS)
        image.keep = KEEP_NONE;
    if (++table->stamp == 0) { /* all stamps are used up */
        memset(table->stamps, 0, (size_t)table->names.count * sizeof(uint32_t));
        table->stamp = 1;
    }
    return image;
}

/* In which images a column has a value, by the states of the identity; -1 if only the exact reader can decide. */
static inline int column_state(const JsonScanner *s, const Identity *key, Image *image, int found, int kinds, int mask) {
    if (key->states.start == NULL)
        return mask;
    int state = key->states.start[found];
    if (state == NOT_NAMED)
        return -1;
    if (!key->masked) {
        image->lacking -= (state & mask) != 0;
        return state;
    }
    if (state == LEFT_OUT && image->old && !(kinds & NULLS))
        return s->op && s->op != 'D' ? mask : -1;
    if (state == LEFT_OUT)
        return 0;
    image->lacking = 0;
    return mask;
}

/* Whether an after image of the record, which must be before this image, has a column. */
static inline int in_new_images(const JsonScanner *s, const JsonTable *table, const Image *image, int found) {
    uint32_t images = (uint32_t)(s->new_count + (image->row - s->base.row)); /* since the first after image */
    return s->new_count > 0 && images < table->stamp && table->stamps[found] >= table->stamp - images;
}

/* Takes the value of a column, from its start to behind it. If the identity has states, the image must have all columns with
   a value in it, and the scanner ignores the texts of its other columns. */
static inline Verdict column_value(JsonScanner *s, JsonTable *table, Image *image, int found, const char **place,
                                   const char *end) {
    const Identity *key = json_identity(s);
    int kinds, mask = image->old ? IN_BEFORE : IN_AFTER;
    if (table->stamps[found] == table->stamp)
        return ODD;
    if (s->overlay && s->row_only && image->old && s->op == 'U' && !in_new_images(s, table, image, found))
        return ODD; /* the column has become NULL, which rows alone do not show */
    table->stamps[found] = table->stamp;
    Span span;
    const char *at = spanned(*place, end, &span, &kinds);
    if (at == NULL)
        return ODD;
    if (table->takes.start != NULL &&
        (!(kinds & table->takes.start[found]) || (s->purpose == ROWS && found < image->expected)))
        return ODD;
    if (table->paired != NULL && note_pair(s, table, image->last, found) < 0)
        return NO_MEMORY;
    image->last = found;
    image->expected = found + 1;
    int state = column_state(s, key, image, found, kinds, mask);
    if (state < 0)
        return ODD;
    if ((state & mask) && (image->keep == KEEP_ALL || (image->keep == KEEP_KEYS && table->is_key[found]))) {
        Verdict verdict = put_span(&image->columns[found], image->row, &span, end);
        if (verdict != TAKEN)
            return verdict;
    } else if (span.escaped) {
        at = json_value(span.start - 1, end); /* check its escapes */
        if (at == NULL)
            return ODD;
    }
    *place = at;
    return TAKEN;
}

/* The column whose name is at a place, from its quote to behind it; -1 if there is none. */
static inline int named_column(const JsonTable *table, const Image *image, const char **place, const char *end) {
    const char *at = *place + 1;
    int escaped;
    if (at >= end || at[-1] != '"')
        return -1;
    int found = expected_column(&table->names, image->expected, at, end);
    if (found < 0) {
        const char *close = json_string(at, end, &escaped);
        if (close == NULL || escaped || (found = keys_find(&table->names, at, (size_t)(close - at))) < 0)
            return -1;
    }
    *place = at + table->names.all[found].length + 1;
    return found;
}

/* Ends an image. For ROWS, one without columns may be out of place. */
static Verdict end_image(const JsonScanner *s, const Image *image) {
    if (image->last < 0 && s->purpose != ROWS)
        return TAKEN;
    return image->lacking || (image->last < 0 && !(image->old && s->op == 'U')) ? ODD : TAKEN;
}

/* Takes one image from its brace to behind it. */
static Verdict whole_image(JsonScanner *s, JsonTable *table, int old, int64_t row, const char **place, const char *end) {
    const char *at = *place;
    Image image = begin_image(s, table, old, row);
    int more;
    for (at = json_first(at, end, '{', &more); at != NULL && more; at = json_next(at, end, '{', &more)) {
        int found = named_column(table, &image, &at, end);
        if (found < 0)
            return ODD;
        at = json_space(at, end);
        if (at >= end || *at != ':')
            return ODD;
        at = json_space(at + 1, end);
        Verdict verdict = column_value(s, table, &image, found, &at, end);
        if (verdict != TAKEN)
            return verdict;
    }
    *place = at;
    return at == NULL ? ODD : end_image(s, &image);
}

/* Takes an image that is a list of cells, which `cells_member` has seen. */
static Verdict image_of_cells(JsonScanner *s, JsonTable *table, int old, const char **place, const char *end) {
    Image image = begin_image(s, table, old, s->base.row);
    const char *at;
    int more, rest, escaped;
    for (at = json_first(*place, end, '[', &more); at != NULL && more; at = json_next(at, end, '[', &more)) {
        int found = -1, valued = 0;
        for (at = json_first(at, end, '{', &rest); at != NULL && rest; at = json_next(at, end, '{', &rest)) {
            Slice member;
            if ((at = json_name(at, end, &member, &escaped)) == NULL)
                return ODD;
            if (slice_is(&member, "name", 4)) {
                if ((found = named_column(table, &image, &at, end)) < 0)
                    return ODD;
            } else if (slice_is(&member, "value", 5)) {
                Verdict verdict = valued++ ? ODD : column_value(s, table, &image, found, &at, end);
                if (verdict != TAKEN)
                    return verdict;
            } else if ((at = json_value(at, end)) == NULL) {
                return ODD;
            }
        }
        if (at == NULL || !valued)
            return ODD;
    }
    *place = at;
    return at == NULL ? ODD : end_image(s, &image);
}

/* Takes an undeclared member of the record as a column of an image, from the start of its value to behind it. All columns of
   an image come together, behind the members that the table and the image depend on. */
Verdict json_column(JsonScanner *s, Slice name, const char **place, const char *end) {
    const ColumnMembers *of = s->columns;
    while (of < s->columns + s->columns_count &&
           (name.length < of->prefix.length || memcmp(name.start, of->prefix.start, of->prefix.length) != 0))
        of++;
    if (of == s->columns + s->columns_count || s->parts_met != s->identity_parts || (!s->op && (s->row_only || of->action == ROW)))
        return ODD;
    int old = of->action == BEFORE || (of->action == ROW && s->op == 'D');
    Verdict verdict = json_find_table(s);
    if (verdict != TAKEN)
        return verdict;
    JsonTable *table = (JsonTable *)s->base.table;
    int *count = old ? &s->old_count : &s->new_count, *done = old ? &s->old_done : &s->new_done;
    if (!*done) {
        *(old ? &s->before : &s->after) = (Span){name.start, name.start, LITERAL, 0, 0};
        *count = *done = 1;
        s->image = begin_image(s, table, old, s->base.row);
    } else if (s->image.old != old) {
        return ODD;
    }
    if (s->purpose != ROWS && table->takes.start == NULL) { /* any image will do */
        *place = json_value(*place, end);
        return *place == NULL ? ODD : TAKEN;
    }
    name = (Slice){name.start + of->prefix.length, name.length - of->prefix.length};
    int found = expected_column(&table->names, s->image.expected, name.start, end);
    if (found < 0 && (found = keys_find(&table->names, name.start, name.length)) < 0)
        return ODD;
    return column_value(s, table, &s->image, found, place, end);
}

/* A member has one object or, if images are listed, a list of objects. */
Verdict json_images(JsonScanner *s, int old, const char **place, const char *end, int *count) {
    JsonTable *table = (JsonTable *)s->base.table;
    if (s->purpose != ROWS && table->takes.start == NULL) { /* any image will do */
        *count = 1;
        *place = json_value(*place, end);
        return *place == NULL ? ODD : TAKEN;
    }
    if (s->cells) {
        *count = 1;
        return image_of_cells(s, table, old, place, end);
    }
    if (!s->listed) {
        *count = 1;
        return whole_image(s, table, old, s->base.row, place, end);
    }
    int more;
    const char *at = json_first(*place, end, '[', &more);
    for (*count = 0; at != NULL && more; at = json_next(at, end, '[', &more), ++*count) {
        Verdict verdict = whole_image(s, table, old, s->base.row + *count, &at, end);
        if (verdict != TAKEN)
            return verdict;
    }
    *place = at;
    return at == NULL || *count == 0 ? ODD : TAKEN;
}
