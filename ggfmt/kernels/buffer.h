/* Bytes that grow, the Python object that such bytes become, and memory that is freed with its owner. */
#ifndef GGFMT_BUFFER_H
#define GGFMT_BUFFER_H

#include "python.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* What became of a record: TAKEN into columns, ODD and so left to the exact reader, or no memory was left. */
typedef enum { TAKEN = 0, ODD = 1, NO_MEMORY = -1 } Verdict;

typedef struct {
    char *data;
    size_t size;
    size_t capacity;
} Bytes;

/* Makes room for so many bytes more; -1 if there is no memory. */
int bytes_grow(Bytes *bytes, size_t more);
/* Makes room for about so many bytes, which are more than none, to start with; -1 if there is no memory. */
int bytes_start(Bytes *bytes, size_t capacity);
void bytes_free(Bytes *bytes);

static inline int bytes_reserve(Bytes *bytes, size_t more) {
    return bytes->capacity - bytes->size >= more ? 0 : bytes_grow(bytes, more);
}

/* Copies `length` bytes to where there is room for SLACK bytes more than that. `readable` is how many can be read from
   `from` on: most texts are short, and a copy of a fixed size costs less than a call. */
#define SLACK 16
static inline void copy_short(char *to, const char *from, size_t length, size_t readable) {
    if (length <= SLACK && readable >= SLACK)
        memcpy(to, from, SLACK);
    else
        memcpy(to, from, length);
}

static inline int bytes_append(Bytes *bytes, const void *from, size_t length) {
    if (bytes_reserve(bytes, length) < 0)
        return -1;
    if (length)
        memcpy(bytes->data + bytes->size, from, length);
    bytes->size += length;
    return 0;
}

/* Bytes of another owner. */
typedef struct {
    const char *start;
    size_t length;
} Slice;

static inline int slice_is(const Slice *slice, const char *text, size_t length) {
    return slice->length == length && (length == 0 || memcmp(slice->start, text, length) == 0);
}

/* Copies whose owner frees them all at once. A struct of zeros holds none. */
typedef struct {
    struct Piece *last;
} Memory;

/* `count` items of a size, all zeros; NULL, with an exception, if there is no memory. */
void *memory_make(Memory *memory, size_t count, size_t size);
void memory_free(Memory *memory);

/* Copies bytes of Python; -1, with an exception, on failure. */
int text_read(Memory *memory, PyObject *from, Slice *text);

/* As `text_read`; None is a text that starts at NULL. */
int optional_text_read(Memory *memory, PyObject *from, Slice *text);

/* Raises a ValueError; returns -1. */
int refuse(const char *reason);

/* As `refuse`; returns NULL. */
static inline void *refused(const char *reason) {
    refuse(reason);
    return NULL;
}

/* Room for one item more behind `count` items of a size, which doubles where it is used up, so that many items one by one
   are no work by their square. NULL if there is no memory; the items are where they were then. */
void *room_for_one(void *items, size_t count, size_t size);

/* The bytes as an object with the buffer protocol, which owns them from now on; NULL, with an exception, on failure. There
   are none left either way. */
PyObject *bytes_take(Bytes *bytes);

/* A bit for each of `rows` bytes, of which those behind the first `count` are 0: whether it is from `least` to `most`. NULL,
   with an exception, on failure. */
PyObject *bits_take(const char *bytes, int64_t count, int64_t rows, char least, char most);

extern PyType_Spec buffer_spec;
extern PyTypeObject *buffer_type;

#endif
