/* Operations of one table in the making: a row for each, of cells in both images, of slots, and of tokens. */
#ifndef GGFMT_ROWS_H
#define GGFMT_ROWS_H

#include "column.h"

typedef struct {
    int old_columns; /* of a before image */
    int new_columns;
    int slots;
    Column *before;
    Column *after;      /* goes on where `before` ends: a place counts through both */
    Column *slot;       /* other texts of an operation, where `after` ends */
    Column token_names; /* of all rows one after the other */
    Column token_texts;
    Bytes token_offsets; /* int32 by row, and a first 0 */
    Bytes ops;          /* a letter by row */
    Bytes images;       /* 1 before, 2 after, by row */
    Bytes ordinals;     /* int64 by row */
    int64_t count;
} Rows;

/* Has room for so many columns of both images, and slots, in memory of the table; -1, with an exception, on failure. */
int rows_make(Rows *rows, Memory *memory, int old_columns, int new_columns, int slots);
void rows_free(Rows *rows);

/* Puts a token behind the tokens of all rows. Of its text `readable` bytes can be read. */
static inline Verdict rows_token(Rows *rows, Slice name, const char *text, size_t length, size_t readable) {
    Column *names = &rows->token_names, *texts = &rows->token_texts;
    Verdict verdict = column_put(names, names->rows, name.start, name.length, name.length, TEXT);
    return verdict == TAKEN ? column_put(texts, texts->rows, text, length, readable, TEXT) : verdict;
}

/* Ends a row whose cells, slots and tokens were put. */
Verdict rows_end(Rows *rows, int64_t row, char op, int images, int64_t ordinal);

/* Takes all rows from `row` on out again, as far as they were put. */
void rows_cut(Rows *rows, int64_t row);

/* Everything as a tuple for Python (see _native.pyi), after which there are no rows; of the before images only those
   columns that `only` says, where it is given. NULL, with an exception, on failure. */
PyObject *rows_take(Rows *rows, const uint8_t *only);

#endif
