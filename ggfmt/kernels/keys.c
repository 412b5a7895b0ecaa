#include "keys.h"

#include "hash.h"

#include <stdlib.h>

static int find_hashed(const Keys *keys, const char *text, size_t length, uint64_t hash) {
    if (keys->index_size == 0)
        return -1;
    size_t size = keys->index_size, place = hash_first(hash, size);
    for (; keys->index[place] >= 0; place = hash_next(place, size)) {
        const Key *key = &keys->all[keys->index[place]];
        if (key->hash == hash && key->length == length && (length == 0 || memcmp(key->text, text, length) == 0))
            return keys->index[place];
    }
    return -1;
}

int keys_find(const Keys *keys, const char *text, size_t length) {
    return find_hashed(keys, text, length, hash_of(text, length));
}

static void enter(Keys *keys, int number) {
    size_t place = hash_first(keys->all[number].hash, keys->index_size);
    while (keys->index[place] >= 0)
        place = hash_next(place, keys->index_size);
    keys->index[place] = number;
}

/* Makes room for one text more. */
static int grow(Keys *keys) {
    Key *all = room_for_one(keys->all, (size_t)keys->count, sizeof(Key));
    if (all == NULL)
        return -1;
    keys->all = all;
    if (((size_t)keys->count + 1) * 2 <= keys->index_size)
        return 0;
    size_t size = keys->index_size ? keys->index_size * 2 : 64;
    int32_t *index = malloc(size * sizeof(int32_t));
    if (index == NULL)
        return -1;
    free(keys->index);
    keys->index = index;
    keys->index_size = size;
    memset(index, 0xff, size * sizeof(int32_t));
    for (int i = 0; i < keys->count; i++)
        enter(keys, i);
    return 0;
}

static int append(Keys *keys, const char *text, size_t length, uint64_t hash) {
    char *copy = malloc(length + 1);
    if (copy == NULL || keys->count == INT32_MAX || grow(keys) < 0) {
        free(copy);
        PyErr_NoMemory();
        return -1;
    }
    if (length)
        memcpy(copy, text, length);
    keys->all[keys->count] = (Key){copy, length, hash};
    enter(keys, keys->count);
    return keys->count++;
}

int keys_add(Keys *keys, const char *text, size_t length) {
    uint64_t hash = hash_of(text, length);
    int number = find_hashed(keys, text, length, hash);
    return number >= 0 ? number : append(keys, text, length, hash);
}

int keys_append(Keys *keys, PyObject *text) {
    char *data;
    Py_ssize_t length;
    if (PyBytes_AsStringAndSize(text, &data, &length) < 0)
        return -1;
    return append(keys, data, (size_t)length, hash_of(data, (size_t)length));
}

int keys_read(Keys *keys, PyObject *tuple) {
    for (Py_ssize_t i = 0; i < PyTuple_Size(tuple); i++)
        if (keys_append(keys, PyTuple_GetItem(tuple, i)) < 0)
            return -1;
    return 0;
}

void keys_free(Keys *keys) {
    for (int i = 0; i < keys->count; i++)
        free(keys->all[i].text);
    free(keys->all);
    free(keys->index);
    *keys = (Keys){0};
}

int own_text_read(OwnText *text, PyObject *from) {
    char *data;
    Py_ssize_t length;
    if (PyBytes_AsStringAndSize(from, &data, &length) < 0)
        return -1;
    text->data = malloc((size_t)length + 1);
    if (text->data == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    memcpy(text->data, data, (size_t)length);
    text->length = (size_t)length;
    return 0;
}

int own_text_read_optional(OwnText *text, PyObject *from) {
    return from == Py_None ? 0 : own_text_read(text, from);
}
