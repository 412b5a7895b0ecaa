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

int keys_add(Keys *keys, const char *text, size_t length) {
    uint64_t hash = hash_of(text, length);
    int number = find_hashed(keys, text, length, hash);
    if (number >= 0)
        return number;
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

void keys_free(Keys *keys) {
    for (int i = 0; i < keys->count; i++)
        free(keys->all[i].text);
    free(keys->all);
    free(keys->index);
    *keys = (Keys){0};
}

int keys_read_letters(Keys *words, Bytes *letters, PyObject *kinds) {
    PyObject *word, *letter;
    Py_ssize_t place = 0;
    while (PyDict_Next(kinds, &place, &word, &letter)) {
        if (!PyBytes_Check(word) || !PyBytes_Check(letter) || PyBytes_GET_SIZE(letter) != 1) {
            PyErr_SetString(PyExc_ValueError, "an operation type is one letter");
            return -1;
        }
        int known = words->count;
        int number = keys_add(words, PyBytes_AS_STRING(word), (size_t)PyBytes_GET_SIZE(word));
        if (number < known || bytes_append(letters, PyBytes_AS_STRING(letter), 1) < 0) {
            PyErr_NoMemory();
            return -1;
        }
    }
    return 0;
}

int copy_bytes(PyObject *from, char **to, size_t *length) {
    char *data;
    Py_ssize_t size;
    if (PyBytes_AsStringAndSize(from, &data, &size) < 0)
        return -1;
    *to = malloc((size_t)size + 1);
    if (*to == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    memcpy(*to, data, (size_t)size);
    *length = (size_t)size;
    return 0;
}
