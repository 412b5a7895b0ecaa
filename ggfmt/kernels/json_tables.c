/* Tables of the scanner of JSON records, and the identities that are bound to them. */
#include "json_scan.h"

#include <stdlib.h>

/* The length of a part of an identity; 0 if the record lacks the part. */
static size_t part_length(const Span *part) {
    return part->start == NULL ? 0 : (size_t)(part->end - part->start);
}

/* Whether the record has the identity that was found last. */
static int has_last_identity(const JsonScanner *s) {
    const size_t *parts = s->identities[s->base.last].parts;
    const char *text = s->base.keys.all[s->base.last].text;
    for (int i = 0; i < s->identity_parts; i++) {
        size_t length = part_length(&s->part[i]);
        if (parts[i + 1] - parts[i] != length + 1)
            return 0;
        if (!(s->known >> i & 1) && length && memcmp(text + parts[i], s->part[i].start, length) != 0)
            return 0;
    }
    return 1;
}

/* To behind a part of an identity if it is equal to the part of the last identity, which is cheaper than to parse it; else
   NULL. */
const char *json_known_part(const JsonScanner *s, int place, const char *at, const char *end) {
    if (scanner_last_table(&s->base) == NULL)
        return NULL;
    const size_t *parts = s->identities[s->base.last].parts;
    const char *part = s->base.keys.all[s->base.last].text + parts[place];
    size_t length = parts[place + 1] - parts[place] - 1;
    if (length == 0 || (size_t)(end - at) <= length || memcmp(at, part, length) != 0)
        return NULL;
    char c = at[length]; /* a number may continue */
    return c == ',' || c == '}' || c == ']' || is_space(c) ? at + length : NULL;
}

int json_write_identity(JsonScanner *s) {
    Bytes *identity = &s->base.identity;
    identity->size = 0;
    for (int i = 0; i < s->identity_parts; i++)
        if (bytes_append(identity, s->part[i].start, part_length(&s->part[i])) < 0 ||
            bytes_append(identity, "", 1) < 0)
            return -1;
    return 0;
}

/* Finds the table of the record by its identity; ODD if there is none. */
Verdict json_find_table(JsonScanner *s) {
    Scanner *base = &s->base;
    if (base->table != NULL)
        return TAKEN;
    Table *table = scanner_last_table(base);
    if (table != NULL && has_last_identity(s)) {
        scanner_use(base, table);
        return TAKEN;
    }
    if (json_write_identity(s) < 0)
        return NO_MEMORY;
    return scanner_find(base, base->identity.data, base->identity.size);
}

/* Finds the parts of an identity, and reads the states of its table's columns; None for no states. */
int json_read_identity(JsonScanner *s, int key, PyObject *states, const JsonTable *table) {
    for (; s->identity_count <= key; s->identity_count++) {
        Identity *identities = room_for_one(s->identities, (size_t)s->identity_count, sizeof(Identity));
        if (identities == NULL) {
            PyErr_NoMemory();
            return -1;
        }
        s->identities = identities;
        identities[s->identity_count] = (Identity){0};
    }
    Identity *identity = &s->identities[key];
    const char *text = s->base.keys.all[key].text;
    size_t length = s->base.keys.all[key].length, at = 0;
    if (identity->parts == NULL && (identity->parts = calloc((size_t)s->identity_parts + 1, sizeof(size_t))) == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    for (int i = 0; i < s->identity_parts && at < length; i++) {
        const char *stop = memchr(text + at, 0, length - at);
        at = identity->parts[i + 1] = stop == NULL ? length + 1 : (size_t)(stop - text) + 1;
    }
    if (identity->parts[s->identity_parts] != length)
        return refuse("the identity has other parts");
    free(identity->states.data);
    identity->states.data = NULL;
    identity->masked = identity->valued[0] = identity->valued[1] = 0;
    if (states == Py_None)
        return 0;
    if (own_text_read(&identity->states, states) < 0)
        return -1;
    if (identity->states.length != (size_t)table->names.count)
        return refuse("each column has a state");
    for (size_t i = 0; i < identity->states.length; i++) {
        identity->valued[0] += (identity->states.data[i] & IN_AFTER) != 0;
        identity->valued[1] += (identity->states.data[i] & IN_BEFORE) != 0;
        identity->masked |= identity->states.data[i] == LEFT_OUT;
    }
    if (identity->masked)
        identity->valued[0] = identity->valued[1] = 1;
    return 0;
}

/* Makes a table from column names, the places of key columns, the kinds of values of each column, and states. */
int json_make_table(Scanner *base, Table *base_table, int key, PyObject *description) {
    JsonScanner *s = (JsonScanner *)base;
    JsonTable *table = (JsonTable *)base_table;
    PyObject *names, *keys, *takes, *states;
    if (!PyArg_ParseTuple(description, "O!O!OO", &PyTuple_Type, &names, &PyTuple_Type, &keys, &takes, &states) ||
        keys_read(&table->names, names) < 0)
        return -1;
    int count = table->names.count;
    table->is_key = calloc((size_t)count + 1, 1);
    table->stamps = calloc((size_t)count + 1, sizeof(uint32_t));
    if (!table->is_key || !table->stamps) {
        PyErr_NoMemory();
        return -1;
    }
    if (s->purpose == DEFINITIONS && takes != Py_None) {
        if (count > MAX_PAIRED)
            return refuse("the table has too many columns");
        table->paired = calloc((size_t)count * (((size_t)count + 63) / 64) + 1, sizeof(uint64_t));
        if (!table->paired) {
            PyErr_NoMemory();
            return -1;
        }
    }
    if (s->row_only && s->key_updates)
        base_table->only_before = table->is_key;
    int kept = s->purpose == ROWS ? count : 0;
    if (rows_make(&base_table->rows, s->row_only && !s->key_updates ? 0 : kept, kept, s->purpose == ROWS ? s->slots : 0) < 0 ||
        own_text_read_optional(&table->takes, takes) < 0)
        return -1;
    if (takes != Py_None && table->takes.length != (size_t)count)
        return refuse("each column takes some kinds of values");
    for (Py_ssize_t i = 0; i < PyTuple_Size(keys); i++) {
        long place = PyLong_AsLong(PyTuple_GetItem(keys, i));
        if (place < 0 || place >= count)
            return PyErr_Occurred() ? -1 : refuse("a key column is no column");
        table->is_key[place] = 1;
    }
    return json_read_identity(s, key, states, table);
}

void json_free_table(Table *base) {
    JsonTable *table = (JsonTable *)base;
    keys_free(&table->names);
    bytes_free(&table->pairs);
    free(table->paired);
    free(table->is_key);
    free(table->takes.data);
    free(table->stamps);
}
