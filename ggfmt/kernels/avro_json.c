/* Writer of data in Avro as JSON: as msgspec writes decoded data, or in part as the texts of columns.

   The writer leaves every decision on errors to the exact reader. A datum with anything out of the ordinary is ODD and ends
   the work, so that the caller can read it exactly and go on behind it. */
#include "avro_program.h"
#include "escape.h"

#include <math.h>

typedef Bytes Sink;

typedef struct {
    PyObject_HEAD
    Memory memory;
    Node root;
    Bytes out;
} Writer;

static Verdict copied(Bytes *out, const char *text, size_t length) {
    return bytes_append(out, text, length) < 0 ? NO_MEMORY : TAKEN;
}

static Verdict string(Bytes *out, const char *text, size_t length, size_t readable) {
    if (copied(out, "\"", 1) != TAKEN || escape(out, JSON, text, length, readable) < 0)
        return NO_MEMORY;
    return copied(out, "\"", 1);
}

static Verdict base64(Bytes *out, const char *bytes, size_t length) {
    if (length > SIZE_MAX / 8 || bytes_reserve(out, base64_size(length) + 2) < 0)
        return NO_MEMORY;
    out->data[out->size++] = '"';
    out->size += base64_text(out->data + out->size, bytes, length);
    out->data[out->size++] = '"';
    return TAKEN;
}

static Verdict number(Bytes *out, double value) {
    char text[AVRO_TEXT];
    if (isnan(value))
        return copied(out, "\"NaN\"", 5);
    if (isinf(value))
        return value > 0 ? copied(out, "\"Infinity\"", 10) : copied(out, "\"-Infinity\"", 11);
    if (value != 0 && !(fabs(value) >= 1e-3 && fabs(value) < 1e15)) /* JSON's exponents are not Python's */
        return ODD;
    size_t length = double_text(text, value);
    return length ? copied(out, text, length) : ODD;
}

/* Writes a text without characters that JSON escapes; ODD if it has no length. */
static Verdict quoted(Bytes *out, const char *text, size_t length) {
    if (length == 0)
        return ODD;
    if (copied(out, "\"", 1) != TAKEN || copied(out, text, length) != TAKEN)
        return NO_MEMORY;
    return copied(out, "\"", 1);
}

static Verdict whole_number(Bytes *out, const Node *node, int64_t value) {
    static const int64_t day = 86400000000;
    char text[AVRO_TEXT];
    switch ((enum AvroShow)node->show) {
    case DATE:
        if (value < INT32_MIN / 256 || value > INT32_MAX / 256 || micros_text(text, value * day) == 0)
            return ODD;
        return quoted(out, text, 10);
    case TIME:
        if (value < 0 || value >= day / node->size || micros_text(text, value * node->size) == 0)
            return ODD;
        return quoted(out, text + 11, 15);
    case STAMP:
        if (value < INT64_MIN / node->size || value > INT64_MAX / node->size)
            return ODD;
        return quoted(out, text, micros_text(text, value * node->size));
    default:
        return copied(out, text, integer_text(text, value));
    }
}

/* What the walk does with values */

static Verdict on_null(Sink *out, const Node *Py_UNUSED(node)) {
    return copied(out, "null", 4);
}

static Verdict on_boolean(Sink *out, const Node *Py_UNUSED(node), int value) {
    return value ? copied(out, "true", 4) : copied(out, "false", 5);
}

static Verdict on_long(Sink *out, const Node *node, int64_t value) {
    return whole_number(out, node, value);
}

/* A number of 32 bits. As a text it is as Arrow writes it: a whole one has no point. */
static Verdict on_float(Sink *out, const Node *node, float value) {
    char text[AVRO_TEXT];
    if (!isfinite(value))
        return number(out, (double)value);
    size_t length = float_text(text, value);
    if (node->show != AS_TEXT)
        return length ? copied(out, text, length) : ODD;
    if (length > 2 && memcmp(text + length - 2, ".0", 2) == 0)
        length -= 2;
    return quoted(out, text, length);
}

static Verdict on_double(Sink *out, const Node *node, double value) {
    char text[AVRO_TEXT];
    return node->show == AS_TEXT && isfinite(value) ? quoted(out, text, double_text(text, value)) : number(out, value);
}

static Verdict on_bytes(Sink *out, const Node *node, const char *start, size_t length) {
    char text[AVRO_TEXT];
    if (node->show == DECIMAL)
        return quoted(out, text, decimal_text(text, start, length, (int)node->size));
    return base64(out, start, length);
}

static Verdict on_string(Sink *out, const Node *Py_UNUSED(node), const char *start, size_t length, size_t readable) {
    return string(out, start, length, readable);
}

static Verdict on_enum(Sink *out, const Node *node, int symbol) {
    return copied(out, node->texts.all[symbol].text, node->texts.all[symbol].length);
}

static Verdict on_item(Sink *out, const Node *node, int64_t item) {
    if (node->type == A_ARRAY)
        return copied(out, item ? "," : "[", 1);
    const Key *name = &node->texts.all[item];
    return copied(out, item ? "," : "{", 1) != TAKEN ? NO_MEMORY : copied(out, name->text, name->length);
}

static Verdict on_key(Sink *out, const Node *Py_UNUSED(node), int64_t item, const char *start, size_t length, size_t readable) {
    if (copied(out, item ? "," : "{", 1) != TAKEN || string(out, start, length, readable) != TAKEN)
        return NO_MEMORY;
    return copied(out, ":", 1);
}

static Verdict on_close(Sink *out, const Node *node, int64_t items) {
    if (items)
        return copied(out, node->type == A_ARRAY ? "]" : "}", 1);
    return copied(out, node->type == A_ARRAY ? "[]" : "{}", 2);
}

static int has_unique_names(const Node *Py_UNUSED(node)) {
    return 1;
}

#include "avro_walk.h"

/* The Python object */

static PyObject *writer_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
    static char *names[] = {"program", NULL};
    PyObject *program;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O", names, &program))
        return NULL;
    Writer *self = (Writer *)PyType_GenericAlloc(type, 0);
    if (self != NULL && node_read(&self->root, &self->memory, program, NULL, NULL) < 0)
        Py_CLEAR(self);
    return (PyObject *)self;
}

static void writer_dealloc(PyObject *self) {
    memory_free(&((Writer *)self)->memory);
    bytes_free(&((Writer *)self)->out);
    free_object(self);
}

/* Writes one datum with its mark; of one that is not TAKEN nothing stays. */
static Verdict datum(Writer *self, const char **place, const char *end, const Slice *mark, const Slice *before,
                     const Slice *behind) {
    const char *at = *place;
    const size_t written = self->out.size;
    if ((size_t)(end - at) < mark->length || memcmp(at, mark->start, mark->length) != 0)
        return ODD;
    at += mark->length;
    Verdict verdict = copied(&self->out, before->start, before->length);
    if (verdict == TAKEN)
        verdict = walk(&self->out, &self->root, &at, end);
    if (verdict == TAKEN)
        verdict = at == *place ? ODD : copied(&self->out, behind->start, behind->length); /* without bytes it has no end */
    if (verdict == TAKEN)
        *place = at;
    else
        self->out.size = written;
    return verdict;
}

static PyObject *writer_write(PyObject *object, PyObject *args) {
    Writer *self = (Writer *)object;
    Py_buffer data;
    Py_ssize_t place, most, done = 0, lengths[3];
    Slice mark, before, behind;
    if (!PyArg_ParseTuple(args, "y*nny#y#y#", &data, &place, &most, &mark.start, &lengths[0], &before.start, &lengths[1],
                          &behind.start, &lengths[2]))
        return NULL;
    mark.length = (size_t)lengths[0];
    before.length = (size_t)lengths[1];
    behind.length = (size_t)lengths[2];
    PyObject *result = NULL;
    Bytes ends = {0}, *out = &self->out;
    Verdict verdict = TAKEN;
    if (place < 0 || place > data.len) {
        refuse("the place is not in the data");
    } else {
        const char *start = data.buf, *at = start + place, *end = start + data.len;
        for (; at < end && (most < 0 || done < most); done++) {
            verdict = datum(self, &at, end, &mark, &before, &behind);
            int64_t sizes[2] = {at - start, (int64_t)out->size};
            if (verdict == TAKEN && bytes_append(&ends, sizes, sizeof sizes) < 0)
                verdict = NO_MEMORY;
            if (verdict != TAKEN)
                break;
        }
        const char *text = out->data == NULL ? "" : out->data;
        if (verdict == NO_MEMORY)
            PyErr_NoMemory();
        else
            result = Py_BuildValue("nny#N", done, (Py_ssize_t)(at - start), text, (Py_ssize_t)out->size, bytes_take(&ends));
    }
    out->size = 0;
    bytes_free(&ends);
    PyBuffer_Release(&data);
    return result;
}

static PyMethodDef writer_methods[] = {
    {"write", writer_write, METH_VARARGS, "write(data, place, most, mark, before, behind) -> (done, place, text, ends)"},
    {NULL, NULL, 0, NULL},
};

PyType_Spec avro_to_json_spec = OBJECT_TYPE("AvroToJson", sizeof(Writer), FIXED_TYPE,
                                            "Writes data in Avro as JSON; see avro_json.c.", writer_new, writer_dealloc,
                                            writer_methods);
