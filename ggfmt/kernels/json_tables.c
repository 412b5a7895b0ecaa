/* Tables of the scanner of JSON records, and the identities that are bound to them. */
#include "json_scan.h"

/* The length of a part of an identity; 0 if the record lacks the part. */
static size_t part_length(const Span *part) {
    return part->start == NULL ? 0 : (size_t)(part->end - part->start);
}

/* Whether the record has the identity that was found last. */
static int has_last_identity(const JsonScanner *s) {
    const size_t *parts = json_identity(s)->parts;
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
    const size_t *parts = json_identity(s)->parts;
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
int json_read_identity(JsonScanner *s, int key, PyObject *states, JsonTable *table) {
    Identity *identity = s->base.bindings[key].detail;
    const char *text = s->base.keys.all[key].text;
    size_t length = s->base.keys.all[key].length, at = 0;
    if (identity == NULL) {
        size_t *parts = memory_make(&s->base.memory, (size_t)s->identity_parts + 1, sizeof(size_t));
        identity = s->base.bindings[key].detail = parts == NULL ? NULL : memory_make(&s->base.memory, 1, sizeof(Identity));
        if (identity == NULL)
            return -1;
        identity->parts = parts;
    }
    for (int i = 0; i < s->identity_parts && at < length; i++) {
        const char *stop = memchr(text + at, 0, length - at);
        at = identity->parts[i + 1] = stop == NULL ? length + 1 : (size_t)(stop - text) + 1;
    }
    if (identity->parts[s->identity_parts] != length)
        return refuse("the identity has other parts");
    identity->masked = identity->valued[0] = identity->valued[1] = 0;
    if (optional_text_read(&table->base.memory, states, &identity->states) < 0)
        return -1;
    if (states == Py_None)
        return 0;
    if (identity->states.length != (size_t)table->names.count)
        return refuse("each column has a state");
    for (size_t i = 0; i < identity->states.length; i++) {
        identity->valued[0] += (identity->states.start[i] & IN_AFTER) != 0;
        identity->valued[1] += (identity->states.start[i] & IN_BEFORE) != 0;
        identity->masked |= identity->states.start[i] == LEFT_OUT;
    }
    if (identity->masked)
        identity->valued[0] = identity->valued[1] = 1;
    return 0;
}

/* Makes a table from column names, the places of key columns, the kinds of values of each column, and states. */
int json_make_table(Scanner *base, Table *base_table, int key, PyObject *description) {
    JsonScanner *s = (JsonScanner *)base;
    JsonTable *table = (JsonTable *)base_table;
    Memory *memory = &base_table->memory;
    PyObject *names, *keys, *takes, *states;
    if (!PyArg_ParseTuple(description, "O!O!OO", &PyTuple_Type, &names, &PyTuple_Type, &keys, &takes, &states) ||
        keys_read(&table->names, memory, names) < 0 || optional_text_read(memory, takes, &table->takes) < 0)
        return -1;
    int count = table->names.count, kept = s->purpose == ROWS ? count : 0;
    if ((table->is_key = memory_make(memory, (size_t)count, 1)) == NULL ||
        (table->stamps = memory_make(memory, (size_t)count, sizeof(uint32_t))) == NULL)
        return -1;
    if (s->purpose == DEFINITIONS && takes != Py_None) {
        if (count > MAX_PAIRED)
            return refuse("the table has too many columns");
        table->paired = memory_make(memory, (size_t)count * (((size_t)count + 63) / 64), sizeof(uint64_t));
        if (table->paired == NULL)
            return -1;
    }
    if (s->row_only && s->key_updates)
        base_table->only_before = table->is_key;
    int old = s->row_only && !s->key_updates ? 0 : kept;
    if (rows_make(&base_table->rows, memory, old, kept, s->purpose == ROWS ? s->slots : 0) < 0)
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
    bytes_free(&((JsonTable *)base)->pairs);
}
