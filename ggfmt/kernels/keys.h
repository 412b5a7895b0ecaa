/* Texts that are numbered in the order in which they come: a key is found by its bytes. */
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
    int capacity;
    int32_t *places; /* by hash, -1 for none */
    size_t places_size;
} Keys;

/* The number of a key; -1 for none. */
int keys_find(const Keys *keys, const char *text, size_t length);

/* The number of a key, which is added if it is new; -1 if there is no memory. */
int keys_number(Keys *keys, const char *text, size_t length);
void keys_free(Keys *keys);

static inline int key_is(const Keys *keys, int number, const char *text, size_t length) {
    const Key *key = &keys->all[number];
    return key->length == length && memcmp(key->text, text, length) == 0;
}

#endif
