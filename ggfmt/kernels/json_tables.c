/* The tables of a scanner, and the identities that are bound to them. */
#include "hash.h"
#include "json_scan.h"

#include <stdlib.h>

/* The bytes of a part of an identity: none of one that the record lacks. */
static size_t part_length(const Span *part) {
    return part->start == NULL ? 0 : (size_t)(part->end - part->start);
}

static int same_identity(const Scanner *s, const Identity *key) {
    for (int i = 0; i < s->identities; i++) {
        size_t length = part_length(&s->part[i]);
        if (key->parts[i + 1] - key->parts[i] != length + 1)
            return 0;
        if (!(s->known >> i & 1) && length && memcmp(key->data + key->parts[i], s->part[i].start, length) != 0)
            return 0;
    }
    return 1;
}

/* Behind a part of an identity if it is that of the key met last, which is less work than to look at it; else NULL. */
const char *scan_known_part(const Scanner *s, int place, const char *at, const char *end) {
    if (s->last < 0)
        return NULL;
    const Identity *key = &s->keys[s->last];
    const char *part = key->data + key->parts[place];
    size_t length = key->parts[place + 1] - key->parts[place] - 1;
    if (length == 0 || (size_t)(end - at) <= length || memcmp(at, part, length) != 0)
        return NULL;
    char c = at[length]; /* a number may go on */
    return c == ',' || c == '}' || c == ']' || is_space(c) ? at + length : NULL;
}

int scan_write_identity(Scanner *s) {
    s->identity.size = 0;
    for (int i = 0; i < s->identities; i++)
        if (bytes_append(&s->identity, s->part[i].start, part_length(&s->part[i])) < 0 ||
            bytes_append(&s->identity, "", 1) < 0)
            return -1;
    return 0;
}

static int32_t find_key(const Scanner *s, const char *data, size_t length, uint64_t hash) {
    if (s->index_size == 0)
        return -1;
    size_t place = hash_first(hash, s->index_size);
    for (; s->index[place] >= 0; place = hash_next(place, s->index_size)) {
        const Identity *key = &s->keys[s->index[place]];
        if (key->hash == hash && key->length == length && memcmp(key->data, data, length) == 0)
            return s->index[place];
    }
    return -1;
}

/* The table that the record's identity is bound to; ODD if to none. */
Verdict scan_find_table(Scanner *s) {
    if (s->table != NULL)
        return TAKEN;
    if (s->last < 0 || s->keys[s->last].table < 0 || !same_identity(s, &s->keys[s->last])) {
        if (scan_write_identity(s) < 0)
            return NO_MEMORY;
        int32_t found = find_key(s, s->identity.data, s->identity.size, hash_of(s->identity.data, s->identity.size));
        if (found < 0 || s->keys[found].table < 0)
            return ODD;
        s->last = found;
    }
    s->table = &s->tables[s->keys[s->last].table];
    s->row = s->table->rows.count;
    return TAKEN;
}

void scan_table_free(Table *table) {
    rows_free(&table->rows);
    names_free(&table->names);
    free(table->is_key);
    free(table->takes);
    free(table->stamps);
    *table = (Table){0};
}

static void index_key(Scanner *s, int number) {
    size_t place = hash_first(s->keys[number].hash, s->index_size);
    while (s->index[place] >= 0)
        place = hash_next(place, s->index_size);
    s->index[place] = number;
}

/* Makes room in the index for one key more. */
static int grow_index(Scanner *s) {
    if (((size_t)s->key_count + 1) * 2 < s->index_size)
        return 0;
    size_t size = s->index_size ? s->index_size * 2 : 64;
    int32_t *index = malloc(size * sizeof(int32_t));
    if (index == NULL)
        return -1;
    free(s->index);
    s->index = index;
    s->index_size = size;
    memset(index, 0xff, size * sizeof(int32_t));
    for (int i = 0; i < s->key_count; i++)
        index_key(s, i);
    return 0;
}

/* The number of an identity, which is bound to nothing yet if it is new; -1, with an exception, on failure. */
int scan_key_number(Scanner *s, PyObject *identity) {
    const char *data = PyBytes_AS_STRING(identity);
    size_t length = (size_t)PyBytes_GET_SIZE(identity);
    Identity key = {.hash = hash_of(data, length), .table = -1};
    int32_t number = find_key(s, data, length, key.hash);
    if (number >= 0)
        return number;
    Identity *keys = room_for_one(s->keys, (size_t)s->key_count, sizeof(Identity));
    if (keys != NULL)
        s->keys = keys;
    if (keys == NULL || grow_index(s) < 0 || (key.parts = calloc((size_t)s->identities + 1, sizeof(size_t))) == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    size_t at = 0;
    for (int i = 0; i < s->identities && at < length; i++) {
        const char *stop = memchr(data + at, 0, length - at);
        at = key.parts[i + 1] = stop == NULL ? length + 1 : (size_t)(stop - data) + 1;
    }
    if (key.parts[s->identities] != length) {
        free(key.parts);
        PyErr_SetString(PyExc_ValueError, "the identity has other parts");
        return -1;
    }
    if (copy_bytes(identity, &key.data, &key.length) < 0) {
        free(key.parts);
        return -1;
    }
    s->keys[s->key_count] = key;
    index_key(s, s->key_count);
    return s->key_count++;
}

/* Gives an identity the states of the columns of its table, none from None. */
int scan_set_states(Scanner *s, int number, PyObject *states, const Table *table) {
    Identity *key = &s->keys[number];
    size_t length = 0;
    free(key->states);
    key->states = NULL;
    key->valued[0] = key->valued[1] = 0;
    if (states == Py_None)
        return 0;
    if (copy_bytes(states, &key->states, &length) < 0)
        return -1;
    if (length != (size_t)table->names.count) {
        PyErr_SetString(PyExc_ValueError, "each column has a state");
        return -1;
    }
    for (size_t i = 0; i < length; i++) {
        key->valued[0] += (key->states[i] & IN_AFTER) != 0;
        key->valued[1] += (key->states[i] & IN_BEFORE) != 0;
    }
    return 0;
}

/* Gives a table its columns. */
int scan_make_columns(Scanner *s, Table *table, PyObject *names, PyObject *keys, PyObject *takes) {
    size_t length;
    if (names_read(&table->names, names) < 0)
        return -1;
    size_t count = (size_t)table->names.count;
    table->is_key = calloc(count + 1, 1);
    table->stamps = calloc(count + 1, sizeof(uint32_t));
    if (!table->is_key || !table->stamps) {
        PyErr_NoMemory();
        return -1;
    }
    int old_columns = s->row_only && !s->key_updates ? 0 : table->names.count;
    if (rows_make(&table->rows, old_columns, table->names.count, s->slots) < 0)
        return -1;
    if (takes != Py_None && copy_bytes(takes, &table->takes, &length) < 0)
        return -1;
    if (takes != Py_None && length != count) {
        PyErr_SetString(PyExc_ValueError, "each column takes some kinds of values");
        return -1;
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(keys); i++) {
        long key = PyLong_AsLong(PyTuple_GET_ITEM(keys, i));
        if (key < 0 || key >= table->names.count) {
            if (!PyErr_Occurred())
                PyErr_SetString(PyExc_ValueError, "a key column is no column");
            return -1;
        }
        table->is_key[key] = 1;
    }
    return 0;
}

/* A table that is bound to nothing. */
int scan_free_table(Scanner *s) {
    for (; s->first_free < s->table_count; s->first_free++)
        if (!s->tables[s->first_free].bound)
            return s->first_free;
    Table *tables = room_for_one(s->tables, (size_t)s->table_count, sizeof(Table));
    if (tables == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    s->tables = tables;
    s->table = NULL; /* it may have moved */
    tables[s->table_count] = (Table){0};
    return s->table_count++;
}

void scan_bind_key(Scanner *s, int key, int number) {
    s->keys[key].table = number;
    s->keys[key].next = s->tables[number].first_key;
    s->tables[number].first_key = key;
}

void scan_unbind(Scanner *s, Table *table) {
    int number = (int)(table - s->tables);
    for (int key = table->first_key; key >= 0; key = s->keys[key].next)
        s->keys[key].table = -1;
    scan_table_free(table);
    if (number < s->first_free)
        s->first_free = number;
}

Table *scan_table_numbered(Scanner *s, PyObject *number) {
    long place = PyLong_AsLong(number);
    if (place < 0 || place >= s->table_count || !s->tables[place].bound) {
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_ValueError, "no table is bound to this number");
        return NULL;
    }
    return &s->tables[place];
}
