#include "rows.h"

#include <stdlib.h>

int rows_start(Rows *rows, int old_columns, int new_columns, int slots) {
    *rows = (Rows){0};
    rows->before = calloc((size_t)old_columns + 1, sizeof(Column));
    rows->after = calloc((size_t)new_columns + 1, sizeof(Column));
    rows->slot = calloc((size_t)slots + 1, sizeof(Column));
    if (rows->before == NULL || rows->after == NULL || rows->slot == NULL) {
        rows_free(rows);
        PyErr_NoMemory();
        return -1;
    }
    rows->old_columns = old_columns;
    rows->new_columns = new_columns;
    rows->slots = slots;
    return 0;
}

void rows_free(Rows *rows) {
    for (int i = 0; i < rows->old_columns; i++)
        column_free(&rows->before[i]);
    for (int i = 0; i < rows->new_columns; i++)
        column_free(&rows->after[i]);
    for (int i = 0; i < rows->slots; i++)
        column_free(&rows->slot[i]);
    column_free(&rows->token_names);
    column_free(&rows->token_texts);
    bytes_free(&rows->token_offsets);
    bytes_free(&rows->ops);
    bytes_free(&rows->images);
    bytes_free(&rows->ordinals);
    free(rows->before);
    free(rows->after);
    free(rows->slot);
    *rows = (Rows){0};
}

Verdict rows_end(Rows *rows, char op, int images, int64_t ordinal) {
    const int32_t first = 0, tokens = (int32_t)rows->token_names.rows;
    char bits = (char)images;
    if (rows->rows == 0) {
        rows->token_offsets.size = 0;
        if (bytes_append(&rows->token_offsets, &first, sizeof first) < 0)
            return NO_MEMORY;
    }
    if (bytes_append(&rows->token_offsets, &tokens, sizeof tokens) < 0 || bytes_append(&rows->ops, &op, 1) < 0 ||
        bytes_append(&rows->images, &bits, 1) < 0 || bytes_append(&rows->ordinals, &ordinal, sizeof ordinal) < 0)
        return NO_MEMORY;
    rows->rows++;
    return TAKEN;
}

static void cut(Bytes *bytes, size_t size) {
    if (bytes->size > size)
        bytes->size = size;
}

void rows_cut(Rows *rows, int64_t row) {
    for (int i = 0; i < rows->old_columns; i++)
        column_cut(&rows->before[i], row);
    for (int i = 0; i < rows->new_columns; i++)
        column_cut(&rows->after[i], row);
    for (int i = 0; i < rows->slots; i++)
        column_cut(&rows->slot[i], row);
    cut(&rows->token_offsets, ((size_t)row + 1) * sizeof(int32_t));
    cut(&rows->ops, (size_t)row);
    cut(&rows->images, (size_t)row);
    cut(&rows->ordinals, (size_t)row * sizeof(int64_t));
    int64_t tokens = row ? ((const int32_t *)(const void *)rows->token_offsets.data)[row] : 0;
    column_cut(&rows->token_names, tokens);
    column_cut(&rows->token_texts, tokens);
    rows->rows = row;
}

/* What a column holds; nothing stays in memory of it, for there may be many tables. */
static PyObject *taken(Column *column, int64_t rows) {
    PyObject *result = column_take(column, rows);
    column_free(column);
    return result;
}

static PyObject *columns_taken(Column *columns, int count, int64_t rows) {
    PyObject *result = PyTuple_New(count);
    for (int i = 0; result != NULL && i < count; i++) {
        PyObject *column = taken(&columns[i], rows);
        if (column == NULL)
            Py_CLEAR(result);
        else
            PyTuple_SET_ITEM(result, i, column);
    }
    return result;
}

PyObject *rows_take(Rows *rows) {
    int64_t count = rows->rows, tokens = rows->token_names.rows;
    PyObject *parts[] = {
        columns_taken(rows->before, rows->old_columns, count),
        columns_taken(rows->after, rows->new_columns, count),
        columns_taken(rows->slot, rows->slots, count),
        taken(&rows->token_names, tokens),
        taken(&rows->token_texts, tokens),
        bytes_take(&rows->token_offsets),
        bytes_take(&rows->ops),
        bytes_take(&rows->images),
        bytes_take(&rows->ordinals),
    };
    const int most = (int)(sizeof parts / sizeof *parts);
    int whole = 1;
    rows->rows = 0;
    for (int i = 0; i < most; i++)
        whole = whole && parts[i] != NULL;
    PyObject *result = !whole ? NULL
                              : Py_BuildValue("(LOOOOOOOOO)", (long long)count, parts[0], parts[1], parts[2], parts[3],
                                              parts[4], parts[5], parts[6], parts[7], parts[8]);
    for (int i = 0; i < most; i++)
        Py_XDECREF(parts[i]);
    return result;
}
