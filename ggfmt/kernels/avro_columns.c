/* Decoder of records in Avro into columns of Arrow, as a program says.

   Each node with an action has a column. A column of a field has a value in each row; where the record that the field
   belongs to is null, or the field is, the row has no value. A column of items, or of the names of a map, has one for each
   item, and its LIST has where those of a row end. */
#include "avro_program.h"

/* What becomes of a value. PUT: the value of a row, or null. ITEM: one of the items of a row. LIST: an array, whose items
   have the next column, or a map, whose names and values have the next two. GROUP: whether there is a record. */
enum ColumnAction { C_SKIP, C_PUT, C_ITEM, C_LIST, C_GROUP };

enum { DECIMAL_BYTES = 16 };

typedef struct {
    Column column;
    uint8_t type;  /* of the node that puts values: A_NULL without such a node */
    uint8_t width; /* in bytes; 0 of texts, bytes and lists, and of records. Of booleans there is a byte for each */
    uint8_t items; /* rows are those of items */
} Cells;

typedef struct {
    PyObject_HEAD
    Memory memory;
    Node root;
    Cells *cells;
    int count;
    int64_t row;
} AvroColumns;

typedef AvroColumns Sink;

static int has_ends(const Cells *cells) {
    return cells->type == A_STRING || cells->type == A_ARRAY || (cells->type == A_BYTES && cells->width == 0);
}

/* Sees to it that the rows of a field before `row` are filled: those without a value have as many bytes as others. */
static Verdict fill(Cells *cells, int64_t row) {
    static const char blank[2 * SLACK];
    Verdict verdict = TAKEN;
    while (cells->width && cells->column.rows < row && verdict == TAKEN)
        verdict = column_put(&cells->column, cells->column.rows, blank, cells->width, sizeof blank, MISSING);
    return verdict;
}

/* What the walk does with values */

static Verdict on_string(Sink *s, const Node *node, const char *text, size_t length, size_t readable) {
    if (node->action == C_SKIP)
        return TAKEN;
    Cells *cells = &s->cells[node->place];
    Verdict verdict = fill(cells, s->row);
    const int64_t row = cells->items ? cells->column.rows : s->row;
    return verdict == TAKEN ? column_put(&cells->column, row, text, length, readable, TEXT) : verdict;
}

static Verdict put_value(Sink *s, const Node *node, const void *value, size_t width) {
    return on_string(s, node, value, width, width);
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

static inline Verdict on_enum(Sink *Py_UNUSED(s), const Node *Py_UNUSED(node), int Py_UNUSED(symbol)) {
    return TAKEN;
}

static inline Verdict on_item(Sink *Py_UNUSED(s), const Node *Py_UNUSED(node), int64_t Py_UNUSED(item)) {
    return TAKEN;
}

static Verdict on_key(Sink *s, const Node *node, int64_t item, const char *name, size_t length, size_t readable) {
    (void)item;
    Column *names = &s->cells[node->place + 1].column;
    return node->action == C_SKIP ? TAKEN : column_put(names, names->rows, name, length, readable, TEXT);
}

/* A record is there, or a list ends with as many items as there are. */
static Verdict on_close(Sink *s, const Node *node, int64_t Py_UNUSED(items)) {
    Verdict verdict = on_string(s, node, "", 0, 0);
    if (node->action == C_LIST && verdict == TAKEN) {
        Cells *cells = &s->cells[node->place];
        if (cells[1].column.rows > INT32_MAX)
            return ODD;
        ((int32_t *)cells->column.ends.data)[s->row] = (int32_t)cells[1].column.rows;
    }
    return verdict;
}

/* Readers of Avro make a map of the last value of each name. */
static inline int has_unique_names(const Node *Py_UNUSED(node)) {
    return 1;
}

#include "avro_walk.h"

/* The columns for Python */

static PyObject *cells_take(Cells *cells, int64_t count) {
    Column *column = &cells->column;
    const int64_t rows = cells->items ? column->rows : count;
    int64_t nulls = rows;
    for (int64_t row = 0; row < column->rows; row++)
        nulls -= column->kinds.data[row] == TEXT;
    PyObject *valid = nulls ? column_bits(column, rows, TEXT, TEXT) : none();
    PyObject *ends = has_ends(cells) ? column_offsets(column, rows) : none();
    PyObject *data = cells->type == A_BOOLEAN ? bits_take(column->data.data, rows, rows, 1, 1) : bytes_take(&column->data);
    return Py_BuildValue("(LNLNN)", (long long)rows, valid, (long long)nulls, ends, data);
}

static Verdict decode(AvroColumns *self, const char *at, const char *end, Py_ssize_t count) {
    Verdict verdict = count < 0 ? ODD : TAKEN;
    for (self->row = 0; verdict == TAKEN && self->row < count; self->row++)
        verdict = walk(self, &self->root, &at, end);
    if (verdict == TAKEN && at != end)
        verdict = ODD;
    for (int i = 0; verdict == TAKEN && i < self->count; i++)
        verdict = fill(&self->cells[i], self->cells[i].items ? 0 : count);
    return verdict;
}

static PyObject *columns_decode(PyObject *object, PyObject *args) {
    AvroColumns *self = (AvroColumns *)object;
    Py_buffer data;
    Py_ssize_t count;
    if (!PyArg_ParseTuple(args, "y*n", &data, &count))
        return NULL;
    const char *at = data.buf;
    Verdict verdict = decode(self, at, at + data.len, count);
    PyObject *result = verdict == NO_MEMORY ? PyErr_NoMemory() : verdict == ODD ? none() : PyTuple_New(self->count);
    for (int i = 0; i < self->count; i++) {
        if (verdict == TAKEN && result != NULL)
            put_item(&result, i, cells_take(&self->cells[i], count));
        column_free(&self->cells[i].column);
    }
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

/* Gives each node with an action its column; -1, with an exception, for a node whose values columns do not have. A list has a
   row in each record, for the rows of its items are not known where it has none. */
static int bind(AvroColumns *self, const Node *node, int is_optional) {
    const int place = node->place, behind = node->type == A_MAP ? 2 : 1;
    const Node *item = node->children;
    switch ((enum AvroType)node->type) {
    case A_NULL:
    case A_UNION:
        if (node->action != C_SKIP)
            return refuse("a union and its null have no column of their own");
        break;
    case A_RECORD:
        if (node->action != C_SKIP && node->action != C_GROUP)
            return refuse("a record is a group");
        if (node->action == C_GROUP && claim(self, place, A_RECORD, 0, 0) < 0)
            return -1;
        break;
    case A_ARRAY:
    case A_MAP:
        if (is_optional || node->action != C_LIST || place > INT32_MAX - behind || item->type != A_STRING ||
            item->action != C_ITEM || item->place != place + behind)
            return refuse("a list is not optional, and has texts, in the column behind it");
        if (claim(self, place, A_ARRAY, 0, 0) < 0 || claim(self, place + behind, A_STRING, 0, 1) < 0)
            return -1;
        return behind == 2 ? claim(self, place + 1, A_STRING, 0, 1) : 0;
    case A_FIXED:
    case A_ENUM:
        return refuse("a type that columns do not have");
    default:
        if (node->action != C_PUT || node->count || (node->show != PLAIN && node->show != DECIMAL))
            return refuse("a value has a column, and is shown as it is");
        return claim(self, place, node->type, width_of(node), 0);
    }
    for (int i = 0; i < node->count; i++)
        if (bind(self, &node->children[i], is_optional || node->type == A_UNION) < 0)
            return -1;
    return 0;
}

static void columns_dealloc(PyObject *object) {
    AvroColumns *self = (AvroColumns *)object;
    for (int i = 0; i < self->count; i++)
        column_free(&self->cells[i].column);
    memory_free(&self->memory);
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
    self->cells = memory_make(&self->memory, (size_t)count, sizeof(Cells));
    self->count = self->cells == NULL ? 0 : count;
    if (self->cells == NULL || node_read(&self->root, &self->memory, program, NULL, NULL) < 0 ||
        bind(self, &self->root, 0) < 0 || (self->root.least == 0 && refuse("a record has bytes") < 0))
        Py_CLEAR(self);
    return (PyObject *)self;
}

static PyMethodDef columns_methods[] = {
    {"decode", columns_decode, METH_VARARGS,
     "decode(data, count) -> for each column (rows, validity or None, nulls, offsets or None, values); None if data are odd"},
    {NULL, NULL, 0, NULL},
};

PyType_Spec avro_columns_spec = OBJECT_TYPE("AvroColumns", sizeof(AvroColumns), FIXED_TYPE,
                                            "Decodes records in Avro into columns of Arrow; see avro_columns.c.", columns_new,
                                            columns_dealloc, columns_methods);
