/* Texts with numbers, counted from 0, found by a hash. */
#ifndef GGFMT_KEYS_H
#define GGFMT_KEYS_H

#include "buffer.h"

typedef struct {
    char *text;
    size_t length;
    uint64_t hash;
} Key;

typedef struct {
    Key *all;
    int count;
    int32_t *index; /* -1 for none */
    size_t index_size;
} Keys;

/* The number of a text; -1 if it has none. */
int keys_find(const Keys *keys, const char *text, size_t length);

/* The number of a text, which is the next one if it had none; -1, with an exception, on failure. */
int keys_add(Keys *keys, const char *text, size_t length);
void keys_free(Keys *keys);

/* Whether a text is that of a number. */
static inline int key_is(const Keys *keys, int number, const char *text, size_t length) {
    const Key *key = &keys->all[number];
    return key->length == length && (length == 0 || memcmp(key->text, text, length) == 0);
}

/* Takes the words for operation types, and the letter that each stands for in its place, from a dict of bytes; -1, with an
   exception, on failure. */
int keys_read_letters(Keys *words, Bytes *letters, PyObject *kinds);

/* Bytes of a Python object as bytes of their own, with room for one at least; -1, with an exception, on failure. */
int copy_bytes(PyObject *from, char **to, size_t *length);

#endif
