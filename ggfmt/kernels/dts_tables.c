/* Identities of DTS's records, and the tables that they are bound to. */
#include "dts_scan.h"

#include <stdlib.h>

static int same_identity(const Identity *one, const Identity *other) {
    return one->source == other->source && (one->keys.start == NULL) == (other->keys.start == NULL) &&
           slice_is(&one->name, other->name.start, other->name.length) &&
           slice_is(&one->keys, other->keys.start, other->keys.length);
}

/* Writes the identity of the record: lengths, then the texts. */
static Verdict write_identity(DtsScanner *s) {
    const Identity *of = &s->of;
    Bytes *identity = &s->base.identity;
    size_t lengths[] = {(size_t)of->source, of->name.length, of->keys.length, of->keys.start != NULL};
    identity->size = 0;
    if (bytes_append(identity, lengths, sizeof lengths) < 0 || bytes_append(identity, of->name.start, of->name.length) < 0 ||
        bytes_append(identity, of->keys.start, of->keys.length) < 0 ||
        bytes_append(identity, of->fields.start, of->fields.length) < 0)
        return NO_MEMORY;
    return TAKEN;
}

/* Keeps the parts of the identity that was found last, as they are in its key. */
static void remember(DtsScanner *s) {
    const char *at = s->base.keys.all[s->base.last].text + 4 * sizeof(size_t);
    s->last_identity = s->of;
    s->last_identity.name.start = at;
    if (s->of.keys.start != NULL)
        s->last_identity.keys.start = at + s->of.name.length;
    s->last_identity.fields.start = at + s->of.name.length + s->of.keys.length;
}

/* To behind the list of columns. */
static const char *fields_end(const char *at, const char *end) {
    int branch;
    Slice name;
    int64_t count, number;
    at = dts_branch(at, end, &branch);
    if (at == NULL || branch != 2)
        return NULL;
    for (;;) {
        at = avro_count(at, end, INT64_MAX, &count);
        if (at == NULL)
            return NULL;
        if (count == 0)
            return at;
        for (; count; count--) {
            at = avro_text(at, end, &name);
            if (at == NULL || (at = avro_long(at, end, &number)) == NULL)
                return NULL;
        }
    }
}

Verdict dts_find_table(DtsScanner *s, const char **place, const char *end) {
    Scanner *base = &s->base;
    const Slice *fields = &s->last_identity.fields;
    Table *last = scanner_last_table(base);
    if (last != NULL && same_identity(&s->of, &s->last_identity) && (size_t)(end - *place) >= fields->length &&
        memcmp(*place, fields->start, fields->length) == 0) {
        *place += fields->length; /* no encoding of columns is the start of another's */
        scanner_use(base, last);
        return TAKEN;
    }
    const char *at = fields_end(*place, end);
    if (at == NULL)
        return ODD;
    s->of.fields = (Slice){*place, (size_t)(at - *place)};
    *place = at;
    Verdict verdict = write_identity(s);
    if (verdict == TAKEN)
        verdict = scanner_find(base, base->identity.data, base->identity.size);
    if (verdict == TAKEN)
        remember(s);
    return verdict;
}

/* Makes a table from the column and the mode of each value, the number of columns, and the digits of a second. */
int dts_make_table(Scanner *Py_UNUSED(base), Table *base_table, int Py_UNUSED(key), PyObject *description) {
    DtsTable *table = (DtsTable *)base_table;
    PyObject *places, *modes;
    int columns;
    if (!PyArg_ParseTuple(description, "O!Sii", &PyTuple_Type, &places, &modes, &columns, &table->digits))
        return -1;
    Py_ssize_t cells = PyTuple_Size(places);
    if (columns < 0 || columns > MAX_COLUMNS || cells > columns || PyBytes_Size(modes) != cells ||
        (table->digits != 6 && table->digits != 9))
        return refuse("a wrong number of columns, modes or digits");
    table->place = calloc((size_t)cells + 1, sizeof(int32_t));
    table->mode = calloc((size_t)cells + 1, 1);
    char *seen = calloc((size_t)columns + 1, 1);
    if (table->place == NULL || table->mode == NULL || seen == NULL) {
        free(seen);
        PyErr_NoMemory();
        return -1;
    }
    for (; table->cells < cells; table->cells++) {
        long place = PyLong_AsLong(PyTuple_GetItem(places, table->cells));
        unsigned char mode = (unsigned char)PyBytes_AsString(modes)[table->cells];
        if (place < 0 || place >= columns || seen[place] || mode > BOOLEANS)
            break;
        seen[place] = 1;
        table->place[table->cells] = (int32_t)place;
        table->mode[table->cells] = mode;
    }
    free(seen);
    if (table->cells < cells)
        return PyErr_Occurred() ? -1 : refuse("a column that is none, or is there twice, or of no mode");
    return rows_make(&table->base.rows, columns, columns, 2);
}

void dts_free_table(Table *base) {
    DtsTable *table = (DtsTable *)base;
    free(table->place);
    free(table->mode);
}
