#include "rows.h"

int rows_make(Rows *rows, Memory *memory, int old_columns, int new_columns, int slots) {
    rows->before = memory_make(memory, (size_t)old_columns + (size_t)new_columns + (size_t)slots, sizeof(Column));
    if (rows->before == NULL)
        return -1;
    rows->after = rows->before + old_columns;
    rows->slot = rows->after + new_columns;
    rows->old_columns = old_columns;
    rows->new_columns = new_columns;
    rows->slots = slots;
    return 0;
}

void rows_free(Rows *rows) {
    for (Column *column = rows->before; column < rows->slot + rows->slots; column++)
        column_free(column);
    column_free(&rows->token_names);
    column_free(&rows->token_texts);
    bytes_free(&rows->token_offsets);
    bytes_free(&rows->ops);
    bytes_free(&rows->images);
    bytes_free(&rows->ordinals);
}

Verdict rows_end(Rows *rows, int64_t row, char op, int images, int64_t ordinal) {
    int32_t tokens = (int32_t)rows->token_names.rows;
    char bits = (char)images;
    if (rows->token_offsets.size == 0 && bytes_append(&rows->token_offsets, "\0\0\0\0", sizeof tokens) < 0)
        return NO_MEMORY;
    if (bytes_append(&rows->token_offsets, &tokens, sizeof tokens) < 0 || bytes_append(&rows->ops, &op, 1) < 0 ||
        bytes_append(&rows->images, &bits, 1) < 0 || bytes_append(&rows->ordinals, &ordinal, sizeof ordinal) < 0)
        return NO_MEMORY;
    rows->count = row + 1;
    return TAKEN;
}

static void shorten(Bytes *bytes, size_t size) {
    if (bytes->size > size)
        bytes->size = size;
}

void rows_cut(Rows *rows, int64_t row) {
    for (Column *column = rows->before; column < rows->slot + rows->slots; column++)
        column_cut(column, row);
    size_t count = (size_t)row;
    shorten(&rows->token_offsets, (count + 1) * sizeof(int32_t));
    shorten(&rows->ops, count);
    shorten(&rows->images, count);
    shorten(&rows->ordinals, count * sizeof(int64_t));
    int64_t tokens = row ? ((int32_t *)rows->token_offsets.data)[row] : 0;
    column_cut(&rows->token_names, tokens);
    column_cut(&rows->token_texts, tokens);
    if (rows->count > row)
        rows->count = row;
}

static PyObject *columns_taken(Column *columns, int count, int64_t rows, const uint8_t *only) {
    Py_ssize_t length = 0, place = 0;
    for (int i = 0; i < count; i++)
        length += only == NULL || only[i];
    PyObject *result = PyTuple_New(length);
    for (int i = 0; result != NULL && i < count; i++)
        if (only == NULL || only[i])
            put_item(&result, place++, column_take(&columns[i], rows));
    return result;
}

PyObject *rows_take(Rows *rows, const uint8_t *only) {
    int64_t count = rows->count, tokens = rows->token_names.rows;
    PyObject *before = columns_taken(rows->before, rows->old_columns, count, only);
    PyObject *after = columns_taken(rows->after, rows->new_columns, count, NULL);
    PyObject *slots = columns_taken(rows->slot, rows->slots, count, NULL);
    PyObject *names = column_take(&rows->token_names, tokens), *texts = column_take(&rows->token_texts, tokens);
    rows->count = 0;
    return Py_BuildValue("(LNNNNNNNNN)", (long long)count, before, after, slots, names, texts,
                         bytes_take(&rows->token_offsets), bytes_take(&rows->ops), bytes_take(&rows->images),
                         bytes_take(&rows->ordinals));
}
