/* Texts that are numbered from 0 on and found by a hash, and texts of their own memory. */
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

/* The number of a text, the first if there are several; -1 if it has none. */
int keys_find(const Keys *keys, const char *text, size_t length);

/* The number of a text, which is the next one if it had none; -1, with an exception, on failure. */
int keys_add(Keys *keys, const char *text, size_t length);

/* Gives the next number to bytes of Python, even if they have a number; -1, with an exception, on failure. */
int keys_append(Keys *keys, PyObject *text);

/* Appends each of a tuple of bytes; -1, with an exception, on failure. */
int keys_read(Keys *keys, PyObject *tuple);
void keys_free(Keys *keys);

/* Whether a text is that of a number. */
static inline int key_is(const Keys *keys, int number, const char *text, size_t length) {
    const Key *key = &keys->all[number];
    if (key->length != length || length == 0)
        return key->length == length;
    return key->text[0] == text[0] && (length == 1 || memcmp(key->text, text, length) == 0); /* most texts differ soon */
}

/* The expected number if its text and a quote after it are at a place; -1 otherwise. */
static inline int key_here(const Keys *keys, int expected, const char *at, const char *end) {
    if (expected >= keys->count)
        return -1;
    const Key *key = &keys->all[expected];
    if ((size_t)(end - at) <= key->length || at[key->length] != '"' || memcmp(at, key->text, key->length) != 0)
        return -1;
    return expected;
}

/* A copy of bytes of Python, with room for one byte at least; `data` is NULL where Python gave none. */
typedef struct {
    char *data;
    size_t length;
} OwnText;

/* -1, with an exception, on failure. */
int own_text_read(OwnText *text, PyObject *from);

/* As `own_text_read`, or nothing from None. */
int own_text_read_optional(OwnText *text, PyObject *from);

static inline int own_text_is(const OwnText *own, const char *text, size_t length) {
    return own->length == length && memcmp(own->data, text, length) == 0;
}

#endif
