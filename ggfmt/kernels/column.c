#include "column.h"

Verdict column_ready(Column *column, int64_t row, size_t length) {
    if (length > INT32_MAX || column->data.size > (size_t)INT32_MAX - length)
        return ODD;
    if (bytes_reserve(&column->data, length) < 0)
        return NO_MEMORY;
    size_t rows = (size_t)row + 1;
    if (column->kinds.capacity < rows) {
        column->kinds.size = (size_t)column->rows;
        column->ends.size = (size_t)column->rows * sizeof(int32_t);
        if (bytes_reserve(&column->kinds, rows - column->kinds.size) < 0)
            return NO_MEMORY;
    }
    if (column->ends.capacity < rows * sizeof(int32_t)) {
        column->ends.size = (size_t)column->rows * sizeof(int32_t);
        if (bytes_reserve(&column->ends, rows * sizeof(int32_t) - column->ends.size) < 0)
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

/* Bits of the rows whose kind is at least `least` (or exactly so, if `only`), as a Buffer. */
static PyObject *bits_of(const Column *column, int64_t rows, Kind least, int only) {
    Bytes bits = {0};
    size_t length = ((size_t)rows + 7) / 8;
    if (bytes_reserve(&bits, length ? length : 1) < 0)
        return PyErr_NoMemory();
    memset(bits.data, 0, length);
    for (int64_t row = 0; row < column->rows; row++) {
        int kind = column->kinds.data[row];
        bits.data[row >> 3] |= (char)((only ? kind == (int)least : kind >= (int)least) << (row & 7));
    }
    bits.size = length;
    PyObject *taken = bytes_take(&bits);
    if (taken == NULL)
        bytes_free(&bits);
    return taken;
}

static PyObject *offsets_of(const Column *column, int64_t rows) {
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
    PyObject *taken = bytes_take(&offsets);
    if (taken == NULL)
        bytes_free(&offsets);
    return taken;
}

static PyObject *none(void) {
    Py_RETURN_NONE;
}

PyObject *column_take(Column *column, int64_t rows) {
    int64_t counts[4] = {0};
    for (int64_t row = 0; row < column->rows; row++)
        counts[column->kinds.data[row] & 3]++;
    int64_t missing = counts[MISSING] + rows - column->rows;
    int64_t nulls = missing + counts[IS_NULL];
    PyObject *offsets = offsets_of(column, rows);
    PyObject *validity = nulls ? bits_of(column, rows, LITERAL, 0) : none();
    PyObject *present = missing ? bits_of(column, rows, IS_NULL, 0) : none();
    PyObject *texts = none();
    if (counts[TEXT]) {
        Py_DECREF(texts);
        texts = counts[LITERAL] ? bits_of(column, rows, TEXT, 1) : PyBool_FromLong(1);
    }
    PyObject *data = bytes_take(&column->data);
    PyObject *result = NULL;
    if (offsets && validity && present && texts && data)
        result = Py_BuildValue("(OOOLOO)", offsets, data, validity, (long long)nulls, present, texts);
    Py_XDECREF(offsets);
    Py_XDECREF(validity);
    Py_XDECREF(present);
    Py_XDECREF(texts);
    Py_XDECREF(data);
    column->rows = 0;
    column->data.size = 0;
    return result;
}
