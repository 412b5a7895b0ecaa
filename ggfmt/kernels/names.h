/* Names of columns, found by their bytes: the one that is expected first, the others by a hash. */
#ifndef GGFMT_NAMES_H
#define GGFMT_NAMES_H

#include "buffer.h"

typedef struct {
    char *text;
    size_t length;
} Name;

typedef struct {
    Name *all;
    int count;
    int32_t *index; /* -1 for none */
    size_t index_size;
} Names;

/* Copies a tuple of bytes; -1, with an exception, on failure. */
int names_read(Names *names, PyObject *tuple);
int names_find(const Names *names, const char *text, size_t length);
void names_free(Names *names);

/* The expected place if its name stands at a place and a quote behind it; -1 otherwise. */
static inline int name_here(const Names *names, int expected, const char *at, const char *end) {
    if (expected >= names->count)
        return -1;
    const Name *name = &names->all[expected];
    if ((size_t)(end - at) <= name->length || at[name->length] != '"' || memcmp(at, name->text, name->length) != 0)
        return -1;
    return expected;
}

#endif
