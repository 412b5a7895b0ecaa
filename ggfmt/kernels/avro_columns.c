/* Decoder of records in Avro into columns of Arrow, as a program says.

   Each node with an action has a column. A column of a field has a value in each row; where the record that the field
   belongs to is null, or the field is, the row has no value. A column of items, or of the names of a map, has one for each
   item, and its LIST has where those of a row end. */
#include "avro_program.h"
#include "scanner.h"

#include <stdlib.h>

/* What becomes of a value. PUT: the value of a row, or null. ITEM: one of the items of a row. LIST: an array, whose items
   have the next column, or a map, whose names and values have the next two. GROUP: whether there is a record. */
enum ColumnAction { C_SKIP, C_PUT, C_ITEM, C_LIST, C_GROUP };

enum { DECIMAL_BYTES = 16 };

typedef struct {
    int64_t rows;
    int64_t nulls;
    Bytes valid;   /* a byte for each row */
    Bytes data;    /* of texts and bytes all of them, else values of `width` bytes; of booleans a byte for each */
    Bytes ends;    /* int32: of texts, bytes and lists */
    uint8_t type;  /* of the node that puts values: A_NULL without such a node */
    uint8_t width; /* in bytes; 0 of texts, bytes and lists, and of records */
    uint8_t items; /* rows are those of items */
} Cells;

typedef struct {
    PyObject_HEAD
    Node root;
    Cells *cells;
    int count;
    int64_t row;
} AvroColumns;

typedef AvroColumns Sink;

static int has_ends(const Cells *cells) {
    return cells->type == A_STRING || cells->type == A_ARRAY || (cells->type == A_BYTES && cells->width == 0);
}

/* A row without a value. */
static Verdict put_blank(Cells *cells) {
    static const char blank[DECIMAL_BYTES];
    const int32_t end = (int32_t)cells->data.size;
    if (bytes_append(&cells->valid, blank, 1) < 0 || bytes_append(&cells->data, blank, cells->width) < 0)
        return NO_MEMORY;
    if (has_ends(cells) && bytes_append(&cells->ends, &end, sizeof end) < 0)
        return NO_MEMORY;
    cells->rows++;
    cells->nulls++;
    return TAKEN;
}

/* Sees to it that the rows of a field before `row` are filled. */
static Verdict fill(Cells *cells, int64_t row) {
    Verdict verdict = TAKEN;
    while (verdict == TAKEN && cells->rows < row)
        verdict = put_blank(cells);
    return verdict;
}

/* The column in which a node puts a value, which is ready for the next row; NULL if there is no memory. */
static Cells *ready(Sink *s, const Node *node) {
    Cells *cells = &s->cells[node->place];
    if (!cells->items && fill(cells, s->row) != TAKEN)
        return NULL;
    if (bytes_reserve(&cells->valid, 1) < 0)
        return NULL;
    return cells;
}

static void end_row(Cells *cells) {
    cells->valid.data[cells->valid.size++] = 1;
    cells->rows++;
}

static Verdict put_value(Sink *s, const Node *node, const void *value, size_t width) {
    Cells *cells;
    if (node->action == C_SKIP)
        return TAKEN;
    if ((cells = ready(s, node)) == NULL || bytes_append(&cells->data, value, width) < 0)
        return NO_MEMORY;
    end_row(cells);
    return TAKEN;
}

static Verdict put_text(Cells *cells, const char *text, size_t length, size_t readable) {
    if (length > INT32_MAX || cells->data.size > (size_t)INT32_MAX - length)
        return ODD;
    if (bytes_reserve(&cells->data, length + SLACK) < 0 || bytes_reserve(&cells->ends, sizeof(int32_t)) < 0)
        return NO_MEMORY;
    copy_short(cells->data.data + cells->data.size, text, length, readable);
    cells->data.size += length;
    const int32_t end = (int32_t)cells->data.size;
    memcpy(cells->ends.data + cells->ends.size, &end, sizeof end);
    cells->ends.size += sizeof end;
    end_row(cells);
    return TAKEN;
}

/* What the walk does with values */

static Verdict on_string(Sink *s, const Node *node, const char *text, size_t length, size_t readable) {
    if (node->action == C_SKIP)
        return TAKEN;
    Cells *cells = ready(s, node);
    return cells == NULL ? NO_MEMORY : put_text(cells, text, length, readable);
}

/* A row is filled when the next value comes, or at the end. */
static inline Verdict on_null(Sink *Py_UNUSED(s), const Node *Py_UNUSED(node)) {
    return TAKEN;
}

static Verdict on_boolean(Sink *s, const Node *node, int value) {
    const char byte = (char)value;
    return put_value(s, node, &byte, sizeof byte);
}

static Verdict on_long(Sink *s, const Node *node, int64_t value) {
    return put_value(s, node, &value, sizeof value);
}

static Verdict on_double(Sink *s, const Node *node, double value) {
    return put_value(s, node, &value, sizeof value);
}

static Verdict on_float(Sink *s, const Node *node, float value) {
    return put_value(s, node, &value, sizeof value);
}

/* A number of bytes, the highest first, as one of 16 bytes, the lowest first. */
static Verdict put_decimal(Sink *s, const Node *node, const char *bytes, size_t length) {
    char number[DECIMAL_BYTES];
    if (length == 0 || length > sizeof number)
        return ODD;
    memset(number, bytes[0] & 0x80 ? 0xff : 0, sizeof number);
    for (size_t i = 0; i < length; i++)
        number[i] = bytes[length - 1 - i];
    return put_value(s, node, number, sizeof number);
}

static Verdict on_bytes(Sink *s, const Node *node, const char *start, size_t length) {
    if (node->show == DECIMAL && node->action != C_SKIP)
        return put_decimal(s, node, start, length);
    return on_string(s, node, start, length, length);
}

static inline Verdict on_fixed(Sink *Py_UNUSED(s), const Node *Py_UNUSED(node), const char *start, size_t length) {
    (void)start;
    (void)length;
    return TAKEN;
}

static inline Verdict on_enum(Sink *Py_UNUSED(s), const Node *Py_UNUSED(node), int Py_UNUSED(symbol)) {
    return TAKEN;
}

static inline Verdict on_item(Sink *Py_UNUSED(s), const Node *Py_UNUSED(node), int64_t Py_UNUSED(item)) {
    return TAKEN;
}

static Verdict on_key(Sink *s, const Node *node, int64_t item, const char *name, size_t length, size_t readable) {
    (void)item;
    if (node->action == C_SKIP)
        return TAKEN;
    Cells *names = &s->cells[node->place + 1];
    return bytes_reserve(&names->valid, 1) < 0 ? NO_MEMORY : put_text(names, name, length, readable);
}

static Verdict on_close(Sink *s, const Node *node, int64_t Py_UNUSED(items)) {
    if (node->action == C_SKIP)
        return TAKEN;
    Cells *cells = ready(s, node);
    if (cells == NULL)
        return NO_MEMORY;
    if (node->action == C_LIST) {
        const int64_t rows = cells[1].rows;
        const int32_t end = (int32_t)rows;
        if (rows > INT32_MAX)
            return ODD;
        if (bytes_append(&cells->ends, &end, sizeof end) < 0)
            return NO_MEMORY;
    }
    end_row(cells);
    return TAKEN;
}

/* Readers of Avro make a map of the last value of each name. */
static inline int has_unique_names(const Node *Py_UNUSED(node)) {
    return 1;
}

#include "avro_walk.h"

/* The columns for Python */

/* Bits of bytes that are 0 or 1. */
static PyObject *bits_of(const Bytes *bytes) {
    Bytes bits = {0};
    const size_t length = (bytes->size + 7) / 8;
    if (bytes_reserve(&bits, length ? length : 1) < 0)
        return PyErr_NoMemory();
    memset(bits.data, 0, length);
    for (size_t row = 0; row < bytes->size; row++)
        bits.data[row >> 3] |= (char)(bytes->data[row] << (row & 7));
    bits.size = length;
    PyObject *taken = bytes_take(&bits);
    if (taken == NULL)
        bytes_free(&bits);
    return taken;
}

static PyObject *none(void) {
    Py_RETURN_NONE;
}

static PyObject *cells_take(Cells *cells) {
    PyObject *valid = cells->nulls ? bits_of(&cells->valid) : none();
    PyObject *ends = has_ends(cells) ? bytes_take(&cells->ends) : none();
    PyObject *data = cells->type == A_BOOLEAN ? bits_of(&cells->data) : bytes_take(&cells->data);
    PyObject *result = NULL;
    if (valid && ends && data)
        result = Py_BuildValue("(LOLOO)", (long long)cells->rows, valid, (long long)cells->nulls, ends, data);
    Py_XDECREF(valid);
    Py_XDECREF(ends);
    Py_XDECREF(data);
    return result;
}

static void cells_clear(Cells *cells) {
    bytes_free(&cells->valid);
    bytes_free(&cells->data);
    bytes_free(&cells->ends);
    cells->rows = cells->nulls = 0;
}

/* The offsets of Arrow start with that of the first row. */
static Verdict start(AvroColumns *self) {
    static const int32_t first = 0;
    for (int i = 0; i < self->count; i++)
        if (has_ends(&self->cells[i]) && bytes_append(&self->cells[i].ends, &first, sizeof first) < 0)
            return NO_MEMORY;
    return TAKEN;
}

static Verdict decode(AvroColumns *self, const char *at, const char *end, Py_ssize_t count) {
    Verdict verdict = start(self);
    for (self->row = 0; verdict == TAKEN && self->row < count; self->row++)
        verdict = walk(self, &self->root, &at, end);
    if (verdict == TAKEN && at != end)
        verdict = ODD;
    for (int i = 0; verdict == TAKEN && i < self->count; i++)
        if (!self->cells[i].items)
            verdict = fill(&self->cells[i], count);
    return verdict;
}

static PyObject *columns_decode(PyObject *object, PyObject *args) {
    AvroColumns *self = (AvroColumns *)object;
    Py_buffer data;
    Py_ssize_t count;
    if (!PyArg_ParseTuple(args, "y*n", &data, &count))
        return NULL;
    PyObject *result = NULL;
    const char *at = data.buf;
    Verdict verdict = count < 0 ? ODD : decode(self, at, at + data.len, count);
    if (verdict == NO_MEMORY) {
        PyErr_NoMemory();
    } else if (verdict == ODD) {
        result = none();
    } else {
        result = PyTuple_New(self->count);
        for (int i = 0; result != NULL && i < self->count; i++) {
            PyObject *column = cells_take(&self->cells[i]);
            if (column == NULL)
                Py_CLEAR(result);
            else
                PyTuple_SetItem(result, i, column);
        }
    }
    for (int i = 0; i < self->count; i++)
        cells_clear(&self->cells[i]);
    PyBuffer_Release(&data);
    return result;
}

/* The program */

static int claim(AvroColumns *self, int place, int type, int width, int items) {
    if (place < 0 || place >= self->count || self->cells[place].type != A_NULL)
        return refuse("a column is not there, or has two nodes");
    self->cells[place].type = (uint8_t)type;
    self->cells[place].width = (uint8_t)width;
    self->cells[place].items = (uint8_t)items;
    return 0;
}

static int width_of(const Node *node) {
    switch ((enum AvroType)node->type) {
    case A_BOOLEAN:
        return 1;
    case A_FLOAT:
        return 4;
    case A_LONG:
    case A_DOUBLE:
        return 8;
    case A_BYTES:
        return node->show == DECIMAL ? DECIMAL_BYTES : 0;
    default:
        return 0;
    }
}

static int bind(AvroColumns *self, const Node *node, int is_optional);

/* A list has a row in each record, for the rows of its items are not known where it has none. */
static int bind_list(AvroColumns *self, const Node *node, int is_optional) {
    const int place = node->place, behind = node->type == A_MAP ? 2 : 1;
    const Node *item = &node->children[0];
    if (is_optional || node->action != C_LIST || place < 0 || place > INT32_MAX - behind)
        return refuse("a list is optional, or has no column");
    if (item->type != A_STRING || item->action != C_ITEM || item->place != place + behind)
        return refuse("a list has texts, in the column behind it");
    if (claim(self, place, A_ARRAY, 0, 0) < 0 || claim(self, place + behind, A_STRING, 0, 1) < 0)
        return -1;
    return behind == 2 ? claim(self, place + 1, A_STRING, 0, 1) : 0;
}

static int bind_children(AvroColumns *self, const Node *node, int is_optional) {
    for (int i = 0; i < node->count; i++)
        if (bind(self, &node->children[i], is_optional) < 0)
            return -1;
    return 0;
}

/* Gives each node with an action its column; -1, with an exception, for a node whose values columns do not have. */
static int bind(AvroColumns *self, const Node *node, int is_optional) {
    switch ((enum AvroType)node->type) {
    case A_NULL:
        return node->action == C_SKIP ? 0 : refuse("null has no column of its own");
    case A_UNION:
        return node->action == C_SKIP ? bind_children(self, node, 1) : refuse("a union has no column of its own");
    case A_RECORD:
        if (node->action != C_SKIP && (node->action != C_GROUP || claim(self, node->place, A_RECORD, 0, 0) < 0))
            return node->action == C_GROUP ? -1 : refuse("a record is a group");
        return bind_children(self, node, is_optional);
    case A_ARRAY:
    case A_MAP:
        return bind_list(self, node, is_optional);
    case A_BOOLEAN:
    case A_LONG:
    case A_FLOAT:
    case A_DOUBLE:
    case A_BYTES:
    case A_STRING:
        if (node->action != C_PUT || node->count || (node->show != PLAIN && node->show != DECIMAL))
            return refuse("a value has a column, and is shown as it is");
        return claim(self, node->place, node->type, width_of(node), 0);
    default:
        return refuse("a type that columns do not have");
    }
}

static void columns_dealloc(PyObject *object) {
    AvroColumns *self = (AvroColumns *)object;
    node_free(&self->root);
    for (int i = 0; i < self->count; i++)
        cells_clear(&self->cells[i]);
    free(self->cells);
    free_object(object);
}

static PyObject *columns_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
    static char *names[] = {"program", "columns", NULL};
    PyObject *program;
    int count;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "Oi", names, &program, &count))
        return NULL;
    if (count < 0 || count > 4 * AVRO_MAX_FIELDS) {
        refuse("too many columns");
        return NULL;
    }
    AvroColumns *self = (AvroColumns *)PyType_GenericAlloc(type, 0);
    if (self == NULL)
        return NULL;
    self->cells = calloc((size_t)count + 1, sizeof(Cells));
    if (self->cells == NULL) {
        PyErr_NoMemory();
        Py_DECREF(self);
        return NULL;
    }
    self->count = count;
    if (node_read(&self->root, program, NULL, NULL) < 0 || bind(self, &self->root, 0) < 0)
        Py_CLEAR(self);
    else if (self->root.least == 0) {
        refuse("a record has bytes");
        Py_CLEAR(self);
    }
    return (PyObject *)self;
}

static PyMethodDef columns_methods[] = {
    {"decode", columns_decode, METH_VARARGS,
     "decode(data, count) -> for each column (rows, validity or None, nulls, offsets or None, values); None if data are odd"},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot columns_slots[] = {
    {Py_tp_doc, "Decodes records in Avro into columns of Arrow; see avro_columns.c."},
    {Py_tp_new, (void *)columns_new},
    {Py_tp_dealloc, (void *)columns_dealloc},
    {Py_tp_methods, columns_methods},
    {0, NULL},
};

PyType_Spec avro_columns_spec = {
    .name = "ggfmt.kernels._native.AvroColumns",
    .basicsize = sizeof(AvroColumns),
    .flags = FIXED_TYPE,
    .slots = columns_slots,
};
