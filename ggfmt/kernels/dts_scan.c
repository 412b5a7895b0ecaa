/* Scanner of the records of Alibaba's Data Transmission Service in Avro.

   There is one schema (formats/dts/schema.py). A record's table, columns and key are its identity, by which the caller binds
   it to a definition. The scanner counts records that hold no change of a table, by their operation. */
#include "dts_scan.h"

/* The fields of a record. Those in front of its columns come first */

/* Reads the times at which the record was processed, or null, as JSON. */
static const char *process(DtsScanner *s, const char *at, const char *end) {
    Bytes *text = &s->base.text;
    int branch;
    int64_t left = 0, number;
    text->size = 0;
    at = dts_branch(at, end, &branch);
    if (at == NULL || branch > 1 || bytes_reserve(text, MAX_STAMPS * 21 + 2) < 0)
        return NULL;
    if (branch == 0)
        return at;
    text->data[text->size++] = '[';
    for (int count = 0; (at = avro_item(at, end, MAX_STAMPS - count, &left)) != NULL && left; count++, left--) {
        at = avro_long(at, end, &number);
        if (at == NULL)
            return NULL;
        if (count)
            text->data[text->size++] = ',';
        text->size += integer_text(text->data + text->size, number);
    }
    text->data[text->size++] = ']';
    return at;
}

static const char *tags(DtsScanner *s, const char *at, const char *end) {
    int64_t left = 0;
    s->keys.start = NULL;
    s->keys.length = 0;
    for (s->tags = 0; (at = avro_item(at, end, MAX_TAGS - s->tags, &left)) != NULL && left; s->tags++, left--) {
        Slice *name = &s->tag_name[s->tags], *text = &s->tag_text[s->tags];
        if ((at = avro_text(at, end, name)) == NULL || (at = avro_text(at, end, text)) == NULL)
            return NULL;
        for (int i = 0; i < s->tags; i++)
            if (slice_is(name, s->tag_name[i].start, s->tag_name[i].length))
                return NULL;
        if (key_is(&s->words, W_KEYS, name->start, name->length))
            s->keys = *text;
    }
    return at;
}

static const char *head(DtsScanner *s, const char *at, const char *end) {
    int branch;
    s->name.length = 0;
    if ((at = avro_long(at, end, &s->version)) == NULL || (at = avro_long(at, end, &s->id)) == NULL ||
        (at = avro_long(at, end, &s->stamp)) == NULL || (at = avro_text(at, end, &s->position)) == NULL ||
        (at = avro_text(at, end, &s->safe_position)) == NULL || (at = avro_text(at, end, &s->transaction)) == NULL ||
        (at = dts_branch(at, end, &s->source)) == NULL || s->source >= s->source_types.count ||
        (at = avro_text(at, end, &s->source_version)) == NULL || (at = dts_branch(at, end, &s->operation)) == NULL ||
        s->operation >= OPERATIONS || (at = dts_branch(at, end, &branch)) == NULL || branch > 1 ||
        (branch && (at = avro_text(at, end, &s->name)) == NULL) || (at = process(s, at, end)) == NULL)
        return NULL;
    return tags(s, at, end);
}

/* To behind a member that is null or a text; NULL for a list, which the exact reader reads. */
static const char *null_or_text(const char *at, const char *end) {
    int branch;
    Slice span;
    at = dts_branch(at, end, &branch);
    if (at == NULL || branch > 1)
        return NULL;
    return branch ? avro_text(at, end, &span) : at;
}

/* Reads the time of birth, if the record has one. */
static const char *birth(DtsScanner *s, const char *at, const char *end) {
    s->born_at = 0;
    return at != NULL && (s->born > 0 || (s->born < 0 && at < end)) ? avro_long(at, end, &s->born_at) : at;
}

/* To behind the list of columns. */
static const char *columns_end(const char *at, const char *end) {
    int branch;
    Slice name;
    int64_t left = 0, number;
    at = dts_branch(at, end, &branch);
    if (at == NULL || branch != 2)
        return NULL;
    for (; (at = avro_item(at, end, INT64_MAX, &left)) != NULL && left; left--)
        if ((at = avro_text(at, end, &name)) == NULL || (at = avro_long(at, end, &number)) == NULL)
            return NULL;
    return at;
}

/* Passes over the columns, and finds the table by the identity of the record: lengths, then the texts. */
static Verdict find_table(DtsScanner *s, const char **place, const char *end) {
    Bytes *identity = &s->base.identity;
    const Slice *last = &s->last_fields;
    const char *at = *place;
    if (scanner_last_table(&s->base) != NULL && (size_t)(end - at) >= last->length &&
        memcmp(at, last->start, last->length) == 0)
        at += last->length; /* no encoding of columns is the start of another's */
    else if ((at = columns_end(at, end)) == NULL)
        return ODD;
    const size_t length = (size_t)(at - *place);
    const size_t lengths[] = {(size_t)s->source, s->name.length, s->keys.length, s->keys.start != NULL};
    identity->size = 0;
    if (bytes_append(identity, lengths, sizeof lengths) < 0 || bytes_append(identity, s->name.start, s->name.length) < 0 ||
        bytes_append(identity, s->keys.start, s->keys.length) < 0 || bytes_append(identity, *place, length) < 0)
        return NO_MEMORY;
    *place = at;
    Verdict verdict = scanner_find(&s->base, identity->data, identity->size);
    if (verdict == TAKEN) {
        const Key *key = &s->base.keys.all[s->base.last];
        s->last_fields = (Slice){key->text + key->length - length, length};
    }
    return verdict;
}

/* Takes an image. `there` becomes 1 if there is one. */
static Verdict image(DtsScanner *s, Column *columns, const char **place, const char *end, int *there) {
    const DtsTable *table = (const DtsTable *)s->base.table;
    int branch, cells = 0;
    int64_t left = 0;
    *there = 0;
    const char *at = dts_branch(*place, end, &branch);
    if (at == NULL || branch > 2)
        return ODD;
    if (branch == 1 && (at >= end || *at++ != 0)) /* an empty text is no image */
        return ODD;
    if (branch == 2) {
        for (; (at = avro_item(at, end, table->cells - cells, &left)) != NULL && left; cells++, left--) {
            Column *column = &columns[table->place[cells]];
            Verdict verdict = dts_cell(s, column, (enum Mode)table->mode[cells], table->digits, &at, end);
            if (verdict != TAKEN)
                return verdict;
        }
        if (at == NULL || (cells && cells != table->cells))
            return ODD;
    }
    *there = cells > 0;
    *place = at;
    return TAKEN;
}

/* What a change has besides its images */

/* Whether a tag has a name that the exact reader would replace, since a token has it or may have it. */
static int clashes(const DtsScanner *s, const Slice *name) {
    for (int which = W_SOURCE_TYPE; which <= W_SNAPSHOT; which++)
        if (key_is(&s->words, which, name->start, name->length))
            return 1;
    const Key *more = &s->words.all[W_MORE];
    return name->length >= more->length && memcmp(name->start, more->text, more->length) == 0;
}

static Slice number(char *text, int64_t value) {
    return (Slice){text, value ? integer_text(text, value) : 0};
}

static Verdict put_token(DtsScanner *s, Slice name, Slice text) {
    return rows_token(&s->base.table->rows, name, text.start, text.length, text.length);
}

/* Puts all that a record has besides its values, its time and its position. */
static Verdict put_tokens(DtsScanner *s) {
    char version[AVRO_TEXT], id[AVRO_TEXT], born[AVRO_TEXT];
    const Slice texts[] = {
        [W_SOURCE_TYPE] = key_text(&s->source_types, s->source),
        [W_VERSION] = number(version, s->version),
        [W_ID] = number(id, s->id),
        [W_BORN] = number(born, s->born_at),
        [W_SAFE_POSITION] = s->safe_position,
        [W_TRANSACTION] = s->transaction,
        [W_SOURCE_VERSION] = s->source_version,
        [W_PROCESS] = {s->base.text.data, s->base.text.size},
    };
    Verdict verdict = TAKEN;
    for (int which = W_SOURCE_TYPE; which <= W_PROCESS && verdict == TAKEN; which++)
        if (texts[which].length)
            verdict = put_token(s, key_text(&s->words, which), texts[which]);
    for (int i = 0; i < s->tags && verdict == TAKEN; i++) {
        if (clashes(s, &s->tag_name[i]))
            return ODD;
        if (!key_is(&s->words, W_KEYS, s->tag_name[i].start, s->tag_name[i].length))
            verdict = put_token(s, s->tag_name[i], s->tag_text[i]);
    }
    if (verdict == TAKEN && s->ops[s->operation] == FIRST_LOAD)
        verdict = put_token(s, key_text(&s->words, W_SNAPSHOT), key_text(&s->words, W_TRUE));
    return verdict;
}

static Verdict change(DtsScanner *s, char op, const char **place, const char *end, int64_t ordinal) {
    Rows *rows = &s->base.table->rows;
    const char *at = *place;
    char text[AVRO_TEXT];
    int has_before, has_after;
    Verdict verdict = image(s, s->row_only && op == 'D' ? rows->after : rows->before, &at, end, &has_before);
    if (verdict == TAKEN && s->row_only && op == 'D' && at < end && *at != 0)
        return ODD; /* the row is in the after columns already */
    if (verdict == TAKEN)
        verdict = image(s, rows->after, &at, end, &has_after);
    if (verdict != TAKEN)
        return verdict;
    if (image_rules_break(&s->rules, op, has_before, has_after) || (at = birth(s, at, end)) == NULL ||
        s->stamp < FIRST_SECOND || s->stamp > LAST_SECOND)
        return ODD;
    if (s->stamp)
        verdict = column_put(&rows->slot[0], s->base.row, text, micros_text(text, s->stamp * 1000000), sizeof text, TEXT);
    if (verdict == TAKEN && s->position.length)
        verdict = column_put(&rows->slot[1], s->base.row, s->position.start, s->position.length, s->position.length, TEXT);
    if (verdict == TAKEN && s->with_tokens)
        verdict = put_tokens(s);
    if (verdict != TAKEN)
        return verdict;
    *place = at;
    return rows_end(rows, s->base.row, op, has_before | has_after << 1, ordinal);
}

/* Takes a record from its start to behind it; in a span, behind its length. */
static Verdict record(Scanner *base, const char **place, const char *end, int64_t ordinal) {
    DtsScanner *s = (DtsScanner *)base;
    const char *at = *place;
    if (end - at < s->prefix)
        return ODD;
    int64_t length = 0;
    for (int i = 0; i < s->prefix; i++)
        length = length << 8 | (unsigned char)*at++;
    if ((s->prefix && (length != end - at || length > MAX_LENGTH)) || (at = head(s, at, end)) == NULL)
        return ODD;
    char op = s->ops[s->operation];
    if (base->routes && op != LEFT) { /* records have a span each, and the name is an identity */
        *place = end;
        return op == COUNTED ? TAKEN : s->name.length == 0 ? ODD : scanner_find(base, s->name.start, s->name.length);
    }
    if (op == COUNTED) {
        for (int i = 0; i < 3 && at != NULL; i++)
            at = null_or_text(at, end);
        if ((at = birth(s, at, end)) == NULL || (base->in_span && at != end))
            return ODD;
        s->counts[s->operation]++;
        *place = at;
        return TAKEN;
    }
    if (op == LEFT || s->name.length == 0)
        return ODD;
    *place = at;
    Verdict verdict = find_table(s, place, end);
    return verdict == TAKEN ? change(s, op == FIRST_LOAD ? 'I' : op, place, end, ordinal) : verdict;
}

/* The scanner */

static int make(Scanner *base, PyObject *args, PyObject *keywords) {
    static char *names[] = {"words", "source_types", "ops", "unicode", "ascii", "rules", "row_only", "with_tokens", NULL};
    DtsScanner *s = (DtsScanner *)base;
    Memory *memory = &base->memory;
    PyObject *words, *source_types, *ops, *utf8, *ascii, *rules;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O!O!SO!O!O!pp", names, &PyTuple_Type, &words, &PyTuple_Type,
                                     &source_types, &ops, &PyTuple_Type, &utf8, &PyTuple_Type, &ascii, &PyDict_Type, &rules,
                                     &s->row_only, &s->with_tokens))
        return -1;
    if (PyTuple_Size(words) != WORDS || PyTuple_Size(source_types) > 64 || PyBytes_Size(ops) != OPERATIONS)
        return refuse("a wrong number of words, types of sources or operations");
    for (int i = 0; i < OPERATIONS; i++)
        s->ops[i] = PyBytes_AsString(ops)[i] & 127;
    if (keys_read(&s->words, memory, words) < 0 || keys_read(&s->source_types, memory, source_types) < 0 ||
        keys_read(&s->unicode, memory, utf8) < 0 || keys_read(&s->ascii, memory, ascii) < 0)
        return -1;
    s->last_unicode = -1;
    return image_rules_read(&s->rules, rules);
}

/* Makes a table from the column and the mode of each value, the number of columns, and the digits of a second. */
static int make_table(Scanner *Py_UNUSED(base), Table *base_table, int Py_UNUSED(key), PyObject *description) {
    DtsTable *table = (DtsTable *)base_table;
    Memory *memory = &base_table->memory;
    PyObject *places;
    const char *modes;
    Py_ssize_t cells;
    int columns;
    if (!PyArg_ParseTuple(description, "O!y#ii", &PyTuple_Type, &places, &modes, &cells, &columns, &table->digits))
        return -1;
    if (columns < 0 || columns > MAX_COLUMNS || cells > columns || PyTuple_Size(places) != cells ||
        (table->digits != 6 && table->digits != 9))
        return refuse("a wrong number of columns, modes or digits");
    char *seen = memory_make(memory, (size_t)columns, 1);
    table->place = memory_make(memory, (size_t)cells, sizeof(int32_t));
    table->mode = memory_make(memory, (size_t)cells, 1);
    if (seen == NULL || table->place == NULL || table->mode == NULL)
        return -1;
    for (; table->cells < cells; table->cells++) {
        long place = PyLong_AsLong(PyTuple_GetItem(places, table->cells));
        unsigned char mode = (unsigned char)modes[table->cells];
        if (place < 0 || place >= columns || seen[place]++ || mode > BOOLEANS)
            return PyErr_Occurred() ? -1 : refuse("a column that is none, or is there twice, or of no mode");
        table->place[table->cells] = (int32_t)place;
        table->mode[table->cells] = mode;
    }
    return rows_make(&base_table->rows, memory, columns, columns, 2);
}

/* The context of a scan: whether records have a time of birth; in spans, the number of bytes with the length of each. */
static int begin(Scanner *base, PyObject *context) {
    DtsScanner *s = (DtsScanner *)base;
    long number = PyLong_AsLong(context);
    if (number < 0 || number > MAX_PREFIX)
        return PyErr_Occurred() ? -1 : refuse("no context of records");
    s->born = base->in_span ? -1 : number > 0;
    s->prefix = base->in_span ? (int)number : 0;
    return 0;
}

static PyObject *scanner_counts(PyObject *self, PyObject *Py_UNUSED(none)) {
    DtsScanner *s = (DtsScanner *)self;
    PyObject *counts = PyTuple_New(OPERATIONS);
    for (int i = 0; counts != NULL && i < OPERATIONS; i++)
        put_item(&counts, i, PyLong_FromLongLong(s->counts[i]));
    if (counts != NULL)
        memset(s->counts, 0, sizeof s->counts);
    return counts;
}

static PyMethodDef methods[] = {
    {"counts", scanner_counts, METH_NOARGS, "counts() -> the number of records counted by operation since the last call"},
    {NULL, NULL, 0, NULL},
};

ScannerKind dts_scanner = {
    SCANNER_TYPE("DtsScanner", sizeof(DtsScanner), methods, "Takes records of DTS into columns; see dts_scan.c."),
    .table_size = sizeof(DtsTable),
    .make = make,
    .make_table = make_table,
    .begin = begin,
    .record = record,
};
