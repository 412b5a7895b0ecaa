/* The operations of one table in the making: columns of both images, and what else there is to an operation. */
#ifndef GGFMT_ROWS_H
#define GGFMT_ROWS_H

#include "column.h"

typedef struct {
    int old_columns; /* of the before images */
    int new_columns;
    int slots;
    Column *before;
    Column *after;
    Column *slot; /* texts that an operation has beside its images, such as its time */
    Column token_names;
    Column token_texts;
    Bytes token_offsets; /* int32 by row, and a first 0 */
    Bytes ops;           /* a letter by row */
    Bytes images;        /* 1 before, 2 after, by row */
    Bytes ordinals;      /* int64 by row */
    int64_t rows;
} Rows;

/* Makes room for so many columns of both images, and slots; -1, with an exception, on failure. */
int rows_start(Rows *rows, int old_columns, int new_columns, int slots);
void rows_free(Rows *rows);

/* Ends the row whose texts were put into the columns at place `rows`. */
Verdict rows_end(Rows *rows, char op, int images, int64_t ordinal);

/* Takes the row in the making, or all from `row` on, out of the columns. */
void rows_cut(Rows *rows, int64_t row);

/* All rows as a tuple for Python, which is empty afterwards: their number, columns of the before images, columns of the
   after images, slots (see `column_take`), names of tokens, texts of tokens, offsets of each row's tokens, letters
   of the operation types, images, ordinals. NULL, with an exception, on failure. */
PyObject *rows_take(Rows *rows);

#endif
