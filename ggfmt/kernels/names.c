#include "names.h"

#include "hash.h"

#include <stdlib.h>

int names_find(const Names *names, const char *text, size_t length) {
    if (names->index_size == 0)
        return -1;
    size_t size = names->index_size, place = hash_first(hash_of(text, length), size);
    for (; names->index[place] >= 0; place = hash_next(place, size)) {
        const Name *name = &names->all[names->index[place]];
        if (name->length == length && memcmp(name->text, text, length) == 0)
            return names->index[place];
    }
    return -1;
}

void names_free(Names *names) {
    for (int i = 0; i < names->count; i++)
        free(names->all[i].text);
    free(names->all);
    free(names->index);
    *names = (Names){0};
}

int names_read(Names *names, PyObject *tuple) {
    size_t count = (size_t)PyTuple_GET_SIZE(tuple), size = 16;
    while (size < count * 2)
        size *= 2;
    names->all = calloc(count + 1, sizeof(Name));
    names->index = malloc(size * sizeof(int32_t));
    if (names->all == NULL || names->index == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    memset(names->index, 0xff, size * sizeof(int32_t));
    names->index_size = size;
    for (size_t i = 0; i < count; i++) {
        char *data;
        Py_ssize_t length;
        if (PyBytes_AsStringAndSize(PyTuple_GET_ITEM(tuple, (Py_ssize_t)i), &data, &length) < 0)
            return -1;
        char *text = malloc((size_t)length + 1);
        if (text == NULL) {
            PyErr_NoMemory();
            return -1;
        }
        memcpy(text, data, (size_t)length);
        names->all[names->count++] = (Name){text, (size_t)length};
        size_t place = hash_first(hash_of(text, (size_t)length), size);
        while (names->index[place] >= 0)
            place = hash_next(place, size);
        names->index[place] = (int32_t)i;
    }
    return 0;
}
