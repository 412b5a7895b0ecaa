/* A column in the making: texts by row, each of a kind. Rows that nothing was put in are missing. */
#ifndef GGFMT_COLUMN_H
#define GGFMT_COLUMN_H

#include "buffer.h"

/* What a cell holds. LITERAL is a JSON value that is no string, with its own characters. */
typedef enum { MISSING = 0, IS_NULL = 1, LITERAL = 2, TEXT = 3 } Kind;

typedef struct {
    int64_t rows;     /* how many have an end in `ends` and a kind */
    Bytes ends;       /* int32: the end of each row's text in `data` */
    Bytes kinds;      /* uint8 */
    Bytes data;
} Column;

/* Sees to it that rows before `row` are filled, with what is missing, and that there is room for `length` bytes. ODD
   where the texts of a column would be more than Arrow's offsets can count. */
Verdict column_ready(Column *column, int64_t row, size_t length);

/* Puts a text in a row after those that are filled. */
static inline Verdict column_put(Column *column, int64_t row, const char *text, size_t length, size_t readable, Kind kind) {
    Verdict ready = column_ready(column, row, length + SLACK);
    if (ready != TAKEN)
        return ready;
    copy_short(column->data.data + column->data.size, text, length, readable);
    column->data.size += length;
    ((int32_t *)column->ends.data)[row] = (int32_t)column->data.size;
    column->kinds.data[row] = (char)kind;
    column->rows = row + 1;
    return TAKEN;
}

/* Ends a row whose text was written at the end of `data` after `column_ready`. */
static inline void column_end(Column *column, int64_t row, Kind kind) {
    ((int32_t *)column->ends.data)[row] = (int32_t)column->data.size;
    column->kinds.data[row] = (char)kind;
    column->rows = row + 1;
}

/* Forgets the rows from `row` on. */
void column_cut(Column *column, int64_t row);
void column_free(Column *column);

/* Where the text of each row starts, and the end; and a bit for each row, whether its kind is from `least` to `most`. NULL, with
   an exception, on failure. */
PyObject *column_offsets(const Column *column, int64_t rows);
PyObject *column_bits(const Column *column, int64_t rows, Kind least, Kind most);

/* The column as a tuple for Python, which is empty afterwards: offsets (int32, rows + 1), data, validity bits or None,
   how many are null or missing, bits of where it is present or None for everywhere; and which values are TEXT: None for
   none, True for all, else bits. NULL, with an exception, on failure. */
PyObject *column_take(Column *column, int64_t rows);

#endif
