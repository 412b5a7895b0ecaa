/* Texts that are numbered from 0 on and found by a hash. */
#ifndef GGFMT_KEYS_H
#define GGFMT_KEYS_H

#include "buffer.h"

typedef struct {
    const char *text;
    size_t length;
    uint64_t hash;
} Key;

typedef struct {
    Key *all;
    int count;
    int room;
    int32_t *index; /* -1 for none */
    size_t index_size;
} Keys;

/* The number of a text, the first if there are several; -1 if it has none. */
int keys_find(const Keys *keys, const char *text, size_t length);

/* Gives the next number to bytes of Python, even if they have a number, in memory that is always the same for `keys`; -1, with
   an exception, on failure. */
int keys_append(Keys *keys, Memory *memory, PyObject *text);

/* Appends each of a tuple of bytes; -1, with an exception, on failure. */
int keys_read(Keys *keys, Memory *memory, PyObject *tuple);

/* Whether a text is that of a number. */
static inline int key_is(const Keys *keys, int number, const char *text, size_t length) {
    const Key *key = &keys->all[number];
    if (key->length != length || length == 0)
        return key->length == length;
    return key->text[0] == text[0] && (length == 1 || memcmp(key->text, text, length) == 0); /* most texts differ soon */
}

static inline Slice key_text(const Keys *keys, int number) {
    return (Slice){keys->all[number].text, keys->all[number].length};
}

#endif
