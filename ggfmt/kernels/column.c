#include "column.h"

Verdict column_ready(Column *column, int64_t row, size_t length) {
    if (length > INT32_MAX || column->data.size > (size_t)INT32_MAX - length)
        return ODD;
    if (bytes_reserve(&column->data, length) < 0)
        return NO_MEMORY;
    size_t rows = (size_t)row + 1;
    if (column->kinds.capacity < rows || column->ends.capacity < rows * sizeof(int32_t)) {
        column->kinds.size = (size_t)column->rows;
        column->ends.size = (size_t)column->rows * sizeof(int32_t);
        if (bytes_reserve(&column->kinds, rows - column->kinds.size) < 0 ||
            bytes_reserve(&column->ends, rows * sizeof(int32_t) - column->ends.size) < 0)
            return NO_MEMORY;
    }
    for (; column->rows < row; column->rows++) {
        ((int32_t *)column->ends.data)[column->rows] = (int32_t)column->data.size;
        column->kinds.data[column->rows] = MISSING;
    }
    return TAKEN;
}

void column_cut(Column *column, int64_t row) {
    if (column->rows <= row)
        return;
    column->rows = row;
    column->data.size = row ? (size_t)((int32_t *)column->ends.data)[row - 1] : 0;
}

void column_free(Column *column) {
    bytes_free(&column->ends);
    bytes_free(&column->kinds);
    bytes_free(&column->data);
    *column = (Column){0};
}

PyObject *column_offsets(const Column *column, int64_t rows) {
    Bytes offsets = {0};
    size_t length = ((size_t)rows + 1) * sizeof(int32_t);
    if (bytes_reserve(&offsets, length) < 0)
        return PyErr_NoMemory();
    int32_t *ends = (int32_t *)offsets.data;
    ends[0] = 0;
    if (column->rows)
        memcpy(ends + 1, column->ends.data, (size_t)column->rows * sizeof(int32_t));
    for (int64_t row = column->rows; row < rows; row++)
        ends[row + 1] = (int32_t)column->data.size;
    offsets.size = length;
    return bytes_take(&offsets);
}

PyObject *column_bits(const Column *column, int64_t rows, Kind least, Kind most) {
    return bits_take(column->kinds.data, column->rows, rows, (char)least, (char)most);
}

PyObject *column_take(Column *column, int64_t rows) {
    int64_t counts[4] = {0};
    for (int64_t row = 0; row < column->rows; row++)
        counts[column->kinds.data[row] & 3]++;
    int64_t nulls = rows - counts[LITERAL] - counts[TEXT];
    PyObject *offsets = column_offsets(column, rows);
    PyObject *validity = nulls ? column_bits(column, rows, LITERAL, TEXT) : none();
    PyObject *present = nulls > counts[IS_NULL] ? column_bits(column, rows, IS_NULL, TEXT) : none();
    PyObject *texts = counts[TEXT] == 0      ? none()
                      : counts[LITERAL] == 0 ? PyBool_FromLong(1)
                                             : column_bits(column, rows, TEXT, TEXT);
    PyObject *data = bytes_take(&column->data);
    column_free(column);
    return Py_BuildValue("(NNNLNN)", offsets, data, validity, (long long)nulls, present, texts);
}
