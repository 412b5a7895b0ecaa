/* Images of records: objects whose members are the columns of a table. */
#include "json_scan.h"

/* Which columns of an image are kept: none, those of the key, or all. */
enum Keep { KEEP_NONE, KEEP_KEYS, KEEP_ALL };

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

/* Takes one image from its brace to behind it. If the identity has states, the image must have all columns with a value in
   it, and the scanner ignores the texts of its other columns. */
static Verdict image(JsonScanner *s, JsonTable *table, const Identity *key, int old, Column *columns, enum Keep keep,
                     int64_t row, const char **place, const char *end) {
    const char *at = *place;
    int expected = 0, last = -1, kinds, lacking = key->valued[old], mask = old ? IN_BEFORE : IN_AFTER;
    if (++table->stamp == 0) { /* all stamps are used up */
        memset(table->stamps, 0, (size_t)table->names.count * sizeof(uint32_t));
        table->stamp = 1;
    }
    if (at >= end || *at != '{')
        return ODD;
    at = json_space(at + 1, end);
    if (s->purpose != ROWS && at < end && *at == '}') {
        *place = at + 1;
        return TAKEN;
    }
    for (;;) { /* for ROWS, an image without columns is odd: it may be out of place */
        if (at >= end || *at != '"')
            return ODD;
        at++;
        int found = key_here(&table->names, expected, at, end);
        if (found < 0) {
            int escaped;
            const char *close = json_string(at, end, &escaped);
            if (close == NULL || escaped || (found = keys_find(&table->names, at, (size_t)(close - at))) < 0)
                return ODD;
        }
        if (table->stamps[found] == table->stamp)
            return ODD;
        table->stamps[found] = table->stamp;
        at = json_space(at + table->names.all[found].length + 1, end);
        if (at >= end || *at != ':')
            return ODD;
        Span span;
        at = spanned(json_space(at + 1, end), end, &span, &kinds);
        if (at == NULL)
            return ODD;
        if (table->takes.data != NULL && (!(kinds & table->takes.data[found]) || (s->purpose == ROWS && found < expected)))
            return ODD;
        if (table->paired != NULL && note_pair(s, table, last, found) < 0)
            return NO_MEMORY;
        last = found;
        int state = key->states.data == NULL ? mask : key->states.data[found];
        if (state & NOT_NAMED)
            return ODD;
        lacking -= key->states.data != NULL && (state & mask);
        if ((state & mask) && (keep == KEEP_ALL || (keep == KEEP_KEYS && table->is_key[found]))) {
            Verdict verdict = put_span(&columns[found], row, &span, end);
            if (verdict != TAKEN)
                return verdict;
        } else if (span.escaped) {
            at = json_value(span.start - 1, end); /* check its escapes */
            if (at == NULL)
                return ODD;
        }
        expected = found + 1;
        at = json_space(at, end);
        if (at >= end)
            return ODD;
        if (*at == '}') {
            *place = at + 1;
            return lacking ? ODD : TAKEN;
        }
        if (*at != ',')
            return ODD;
        at = json_space(at + 1, end);
    }
}

/* A member has one object or, if images are listed, a list of objects. */
Verdict json_images(JsonScanner *s, int old, const char **place, const char *end, int *count) {
    JsonTable *table = (JsonTable *)s->base.table;
    const Rows *rows = &table->base.rows;
    Column *columns = old ? rows->before : rows->after;
    const Identity *key = &s->identities[s->base.last]; /* the record's: its table is known */
    enum Keep keep = KEEP_ALL;
    if (s->row_only) {
        int chosen = old == (s->op == 'D');
        columns = chosen ? rows->after : rows->before;
        keep = chosen ? KEEP_ALL : old && s->key_updates ? KEEP_KEYS : KEEP_NONE;
    }
    *count = 0;
    if (s->purpose != ROWS) {
        keep = KEEP_NONE;
        if (table->takes.data == NULL) { /* any image will do */
            *count = 1;
            *place = json_value(*place, end);
            return *place == NULL ? ODD : TAKEN;
        }
    }
    if (!s->listed) {
        *count = 1;
        return image(s, table, key, old, columns, keep, s->base.row, place, end);
    }
    if (*place >= end || **place != '[')
        return ODD;
    const char *at = json_space(*place + 1, end);
    for (;;) {
        Verdict verdict = image(s, table, key, old, columns, keep, s->base.row + *count, &at, end);
        if (verdict != TAKEN)
            return verdict;
        ++*count;
        at = json_space(at, end);
        if (at >= end || (*at != ',' && *at != ']'))
            return ODD;
        if (*at == ']') {
            *place = at + 1;
            return TAKEN;
        }
        at = json_space(at + 1, end);
    }
}
