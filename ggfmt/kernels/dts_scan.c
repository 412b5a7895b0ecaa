/* Scanner of the records of Alibaba's Data Transmission Service in Avro.

   There is one schema (formats/dts/schema.py). A record's table, columns and key are its identity, by which the caller binds
   it to a definition. The scanner counts records that hold no change of a table, by their operation. */
#include "dts_scan.h"

/* Records */

/* Reads the fields before the columns. */
static const char *head(DtsScanner *s, const char *at, const char *end) {
    int branch;
    s->of = (Identity){0};
    if ((at = avro_long(at, end, &s->version)) == NULL || (at = avro_long(at, end, &s->id)) == NULL ||
        (at = avro_long(at, end, &s->stamp)) == NULL || (at = avro_text(at, end, &s->position)) == NULL ||
        (at = avro_text(at, end, &s->safe_position)) == NULL || (at = avro_text(at, end, &s->transaction)) == NULL ||
        (at = dts_branch(at, end, &branch)) == NULL || branch >= s->source_types.count)
        return NULL;
    s->of.source = branch;
    if ((at = avro_text(at, end, &s->source_version)) == NULL || (at = dts_branch(at, end, &s->operation)) == NULL ||
        s->operation >= OPERATIONS || (at = dts_branch(at, end, &branch)) == NULL || branch > 1)
        return NULL;
    if (branch && (at = avro_text(at, end, &s->of.name)) == NULL)
        return NULL;
    if ((at = dts_process(s, at, end)) == NULL)
        return NULL;
    return dts_tags(s, at, end);
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
    return s->born > 0 || (s->born < 0 && at < end) ? avro_long(at, end, &s->born_at) : at;
}

/* Takes an image. `there` becomes 1 if there is one. */
static Verdict image(DtsScanner *s, Column *columns, const char **place, const char *end, int *there) {
    const DtsTable *table = (const DtsTable *)s->base.table;
    int branch, cells = 0;
    *there = 0;
    const char *at = dts_branch(*place, end, &branch);
    if (at == NULL || branch > 2)
        return ODD;
    if (branch == 1) { /* an empty text is no image */
        if (at >= end || *at != 0)
            return ODD;
        at++;
    }
    while (branch == 2) {
        int64_t count;
        at = avro_count(at, end, table->cells - cells, &count);
        if (at == NULL)
            return ODD;
        if (count == 0)
            break;
        for (; count; count--, cells++) {
            enum Mode mode = (enum Mode)table->mode[cells];
            Verdict verdict = dts_cell(s, &columns[table->place[cells]], mode, table->digits, &at, end);
            if (verdict != TAKEN)
                return verdict;
        }
    }
    if (cells && cells != table->cells)
        return ODD;
    *there = cells > 0;
    *place = at;
    return TAKEN;
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
    if (image_rules_break(&s->rules, op, has_before, has_after))
        return ODD;
    if ((at = birth(s, at, end)) == NULL)
        return ODD;
    if (s->stamp) {
        if (s->stamp < -62135596800 || s->stamp > 253402300799)
            return ODD;
        verdict = column_put(&rows->slot[0], s->base.row, text, micros_text(text, s->stamp * 1000000), sizeof text, TEXT);
    }
    if (verdict == TAKEN && s->position.length)
        verdict = column_put(&rows->slot[1], s->base.row, s->position.start, s->position.length, s->position.length, TEXT);
    if (verdict == TAKEN && s->with_tokens)
        verdict = dts_put_tokens(s);
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
    if (s->prefix && (length != end - at || length > MAX_LENGTH))
        return ODD;
    at = head(s, at, end);
    if (at == NULL)
        return ODD;
    char op = s->ops[s->operation];
    if (op == COUNTED) {
        if ((at = null_or_text(at, end)) == NULL || (at = null_or_text(at, end)) == NULL ||
            (at = null_or_text(at, end)) == NULL || (at = birth(s, at, end)) == NULL || (base->in_span && at != end))
            return ODD;
        s->counts[s->operation]++;
        *place = at;
        return TAKEN;
    }
    if (op == LEFT || s->of.name.length == 0)
        return ODD;
    Verdict verdict = dts_find_table(s, &at, end);
    if (verdict != TAKEN)
        return verdict;
    *place = at;
    return change(s, op == FIRST_LOAD ? 'I' : op, place, end, ordinal);
}

/* The scanner */

static int make(Scanner *base, PyObject *args, PyObject *keywords) {
    static char *names[] = {"words", "source_types", "ops", "unicode", "ascii", "rules", "row_only", "with_tokens", NULL};
    DtsScanner *s = (DtsScanner *)base;
    PyObject *words, *source_types, *ops, *utf8, *ascii, *rules;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O!O!SO!O!O!pp", names, &PyTuple_Type, &words, &PyTuple_Type,
                                     &source_types, &ops, &PyTuple_Type, &utf8, &PyTuple_Type, &ascii, &PyDict_Type, &rules,
                                     &s->row_only, &s->with_tokens))
        return -1;
    if (PyTuple_Size(words) != WORDS || PyTuple_Size(source_types) > 64 || PyBytes_Size(ops) != OPERATIONS)
        return refuse("a wrong number of words, types of sources or operations");
    for (int i = 0; i < OPERATIONS; i++)
        s->ops[i] = PyBytes_AsString(ops)[i] & 127;
    if (keys_read(&s->words, words) < 0 || keys_read(&s->source_types, source_types) < 0 ||
        keys_read(&s->unicode, utf8) < 0 || keys_read(&s->ascii, ascii) < 0)
        return -1;
    return image_rules_read(&s->rules, rules);
}

static void free_scanner(Scanner *base) {
    DtsScanner *s = (DtsScanner *)base;
    keys_free(&s->words);
    keys_free(&s->source_types);
    keys_free(&s->unicode);
    keys_free(&s->ascii);
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
    for (int i = 0; counts != NULL && i < OPERATIONS; i++) {
        PyObject *count = PyLong_FromLongLong(s->counts[i]);
        if (count == NULL)
            Py_CLEAR(counts);
        else
            PyTuple_SetItem(counts, i, count);
    }
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
    .free = free_scanner,
    .make_table = dts_make_table,
    .free_table = dts_free_table,
    .begin = begin,
    .record = record,
};
