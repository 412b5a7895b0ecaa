/* The rows of binary logs as JSON (binlog_rows.c), for their events (binlog_events.c). */
#ifndef GGFMT_BINLOG_ROWS_H
#define GGFMT_BINLOG_ROWS_H

#include "buffer.h"

enum { IMAGES = 2 };

/* The writer of a table's rows. `head`: the first members of its records. `out`: the images of the rows it wrote last. */
typedef struct {
    PyObject_HEAD
    Memory memory;
    Slice head;
    struct Field *fields;
    int count;
    Bytes out[IMAGES];
} BinlogRows;

/* The writer that an object is; NULL for another object. */
BinlogRows *binlog_rows_of(PyObject *object);

/* Writes the rows between two places to `out`, with commas between them, and returns their number in `rows`. `shown`: the bits of
   the columns that each image of a row has. */
Verdict binlog_rows_write(BinlogRows *self, const unsigned char *at, const unsigned char *end, const Slice *shown, int images,
                          Py_ssize_t *rows);

/* The functions below write to bytes. */

static inline Verdict put(Bytes *out, const char *text, size_t length) {
    return bytes_append(out, text, length) < 0 ? NO_MEMORY : TAKEN;
}

static inline Verdict put_number(Bytes *out, uint64_t value, int negative) {
    char text[24], *at = text + sizeof text;
    do
        *--at = (char)('0' + value % 10);
    while (value /= 10);
    if (negative)
        *--at = '-';
    return put(out, at, (size_t)(text + sizeof text - at));
}

static inline uint64_t little(const unsigned char *at, int size) {
    uint64_t value = 0;
    for (int n = size - 1; n >= 0; n--)
        value = value << 8 | at[n];
    return value;
}

#endif
