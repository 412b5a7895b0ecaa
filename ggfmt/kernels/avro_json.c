/* Data in Avro as the JSON that msgspec writes of them once they are decoded, or in part as the texts of columns.

   Nothing is decided here that the exact reader has an opinion on: a datum with anything out of the ordinary is ODD, and
   ends the work, so that the caller can have it read and go on behind it. */
#include "avro.h"
#include "keys.h"
#include "names.h"

#include <math.h>
#include <stdlib.h>

enum Type { A_NULL, A_BOOLEAN, A_LONG, A_FLOAT, A_DOUBLE, A_BYTES, A_STRING, A_ENUM, A_FIXED, A_UNION, A_RECORD, A_ARRAY, A_MAP };

/* How a value is shown: as JSON has it, or in a string as the text of a column. A DATE is days since 1970; a TIME of day and
   a STAMP, since 1970, are numbers of some microseconds. */
enum Show { PLAIN, AS_TEXT, DATE, TIME, STAMP, DECIMAL };

enum { MOST_FIELDS = 1 << 16, MOST_DEPTH = 32, MOST_KEYS = 64 };

typedef struct Node {
    uint8_t type;
    uint8_t show;
    int64_t size; /* of a FIXED; the microseconds that a TIME or a STAMP counts; the scale of a DECIMAL */
    size_t least; /* how many bytes a datum has at least */
    Names texts;  /* of a record its names, each as a JSON string with a colon behind it; of an ENUM its symbols as JSON */
    int count;
    struct Node *children; /* of BYTES that are a datum of their own, what that is */
} Node;

typedef struct {
    PyObject_HEAD
    Node root;
    Bytes out;
} Writer;

static Verdict copied(Bytes *out, const char *text, size_t length) {
    return bytes_append(out, text, length) < 0 ? NO_MEMORY : TAKEN;
}

static inline int is_plain(unsigned char c) {
    return c >= 0x20 && c != '"' && c != '\\';
}

static Verdict string(Bytes *out, const char *text, size_t length) {
    static const char hex[] = "0123456789abcdef";
    if (!avro_utf8(text, length))
        return ODD;
    if (length > SIZE_MAX / 8 || bytes_reserve(out, 6 * length + 2) < 0)
        return NO_MEMORY;
    char *to = out->data + out->size;
    *to++ = '"';
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)text[i];
        if (is_plain(c)) {
            *to++ = (char)c;
            continue;
        }
        *to++ = '\\';
        switch (c) {
        case '"':
        case '\\':
            *to++ = (char)c;
            break;
        case '\b':
            *to++ = 'b';
            break;
        case '\f':
            *to++ = 'f';
            break;
        case '\n':
            *to++ = 'n';
            break;
        case '\r':
            *to++ = 'r';
            break;
        case '\t':
            *to++ = 't';
            break;
        default:
            memcpy(to, "u00", 3);
            to[3] = hex[c >> 4];
            to[4] = hex[c & 15];
            to += 5;
        }
    }
    *to++ = '"';
    out->size = (size_t)(to - out->data);
    return TAKEN;
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

/* A text without characters that JSON escapes; it is none if it has no length. */
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
    switch ((enum Show)node->show) {
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

/* A number of 32 bits as Arrow writes it: a whole one has no point. */
static Verdict single_text(Bytes *out, float value) {
    char text[AVRO_TEXT];
    size_t length = float_text(text, value);
    if (length > 2 && memcmp(text + length - 2, ".0", 2) == 0)
        length -= 2;
    return quoted(out, text, length);
}

static Verdict double_as_text(Bytes *out, double value) {
    char text[AVRO_TEXT];
    return quoted(out, text, double_text(text, value));
}

static Verdict decimal(Bytes *out, const char *start, size_t length, int64_t scale) {
    char text[AVRO_TEXT];
    return quoted(out, text, decimal_text(text, start, length, (int)scale));
}

static Verdict walk(Bytes *out, const Node *node, const char **place, const char *end);

static Verdict array(Bytes *out, const Node *node, const char **place, const char *end) {
    const char *at = *place;
    int64_t count, done = 0;
    if (copied(out, "[", 1) != TAKEN)
        return NO_MEMORY;
    for (;;) {
        at = avro_long(at, end, &count);
        if (at == NULL || count < 0 || (uint64_t)count > (size_t)(end - at) / node->least)
            return ODD;
        if (count == 0)
            break;
        for (; count; count--, done++) {
            if (done && copied(out, ",", 1) != TAKEN)
                return NO_MEMORY;
            Verdict verdict = walk(out, &node->children[0], &at, end);
            if (verdict != TAKEN)
                return verdict;
        }
    }
    *place = at;
    return copied(out, "]", 1);
}

/* A map. A name that is there twice is left to the exact reader. */
static Verdict map(Bytes *out, const Node *node, const char **place, const char *end) {
    const char *at = *place, *names[MOST_KEYS];
    size_t lengths[MOST_KEYS];
    int64_t count;
    int known = 0;
    if (copied(out, "{", 1) != TAKEN)
        return NO_MEMORY;
    for (;;) {
        at = avro_long(at, end, &count);
        if (at == NULL || count < 0 || count > MOST_KEYS - known)
            return ODD;
        if (count == 0)
            break;
        for (; count; count--, known++) {
            at = avro_bytes(at, end, &names[known], &lengths[known]);
            if (at == NULL)
                return ODD;
            for (int i = 0; i < known; i++)
                if (lengths[i] == lengths[known] && memcmp(names[i], names[known], lengths[i]) == 0)
                    return ODD;
            if (known && copied(out, ",", 1) != TAKEN)
                return NO_MEMORY;
            Verdict verdict = string(out, names[known], lengths[known]);
            if (verdict == TAKEN)
                verdict = copied(out, ":", 1);
            if (verdict == TAKEN)
                verdict = walk(out, &node->children[0], &at, end);
            if (verdict != TAKEN)
                return verdict;
        }
    }
    *place = at;
    return copied(out, "}", 1);
}

static Verdict record(Bytes *out, const Node *node, const char **place, const char *end) {
    for (int i = 0; i < node->count; i++) {
        const Name *name = &node->texts.all[i];
        if (copied(out, i ? "," : "{", 1) != TAKEN || copied(out, name->text, name->length) != TAKEN)
            return NO_MEMORY;
        Verdict verdict = walk(out, &node->children[i], place, end);
        if (verdict != TAKEN)
            return verdict;
    }
    return node->count ? copied(out, "}", 1) : copied(out, "{}", 2);
}

/* A datum that bytes are, from the first to the last. */
static Verdict enclosed(Bytes *out, const Node *node, const char *start, size_t length) {
    const char *end = start + length;
    Verdict verdict = walk(out, node, &start, end);
    return verdict == TAKEN && start != end ? ODD : verdict;
}

/* One datum from its start to behind it. */
static Verdict walk(Bytes *out, const Node *node, const char **place, const char *end) {
    const char *at = *place, *start;
    char text[32];
    size_t length;
    int64_t value;
    double real;
    float single;
    switch ((enum Type)node->type) {
    case A_NULL:
        return copied(out, "null", 4);
    case A_BOOLEAN:
        if (at >= end || (*at & ~1))
            return ODD;
        *place = at + 1;
        return *at ? copied(out, "true", 4) : copied(out, "false", 5);
    case A_LONG:
        at = *place = avro_long(at, end, &value);
        return at == NULL ? ODD : whole_number(out, node, value);
    case A_FLOAT:
        if (end - at < 4)
            return ODD;
        memcpy(&single, at, 4);
        *place = at + 4;
        if (!isfinite(single))
            return number(out, (double)single);
        if (node->show == AS_TEXT)
            return single_text(out, single);
        length = float_text(text, single);
        return length ? copied(out, text, length) : ODD;
    case A_DOUBLE:
        if (end - at < 8)
            return ODD;
        memcpy(&real, at, 8);
        *place = at + 8;
        return node->show == AS_TEXT && isfinite(real) ? double_as_text(out, real) : number(out, real);
    case A_BYTES:
        at = *place = avro_bytes(at, end, &start, &length);
        if (at == NULL)
            return ODD;
        if (node->count)
            return enclosed(out, &node->children[0], start, length);
        return node->show == DECIMAL ? decimal(out, start, length, node->size) : base64(out, start, length);
    case A_STRING:
        at = *place = avro_bytes(at, end, &start, &length);
        return at == NULL ? ODD : string(out, start, length);
    case A_ENUM:
        at = *place = avro_long(at, end, &value);
        if (at == NULL || value < 0 || value >= node->texts.count)
            return ODD;
        return copied(out, node->texts.all[value].text, node->texts.all[value].length);
    case A_FIXED:
        if (end - at < node->size)
            return ODD;
        *place = at + node->size;
        return base64(out, at, (size_t)node->size);
    case A_UNION:
        at = *place = avro_long(at, end, &value);
        if (at == NULL || value < 0 || value >= node->count)
            return ODD;
        return walk(out, &node->children[value], place, end);
    case A_RECORD:
        return record(out, node, place, end);
    case A_ARRAY:
        return array(out, node, place, end);
    case A_MAP:
        return map(out, node, place, end);
    }
    return ODD;
}

/* The Python object */

static void node_free(Node *node) {
    for (int i = 0; i < node->count; i++)
        node_free(&node->children[i]);
    free(node->children);
    names_free(&node->texts);
}

static int refuse(const char *reason) {
    PyErr_SetString(PyExc_ValueError, reason);
    return -1;
}

static size_t least_of(const Node *node) {
    size_t least = 0;
    switch ((enum Type)node->type) {
    case A_NULL:
        return 0;
    case A_FLOAT:
        return 4;
    case A_DOUBLE:
        return 8;
    case A_FIXED:
        return (size_t)node->size;
    case A_ARRAY:
        return node->children[0].least;
    case A_RECORD:
        for (int i = 0; i < node->count; i++)
            if (least < INT32_MAX)
                least += node->children[i].least;
        return least;
    default:
        return 1;
    }
}

/* Whether a value of a type can be shown so. */
static int fits(const Node *node) {
    switch ((enum Show)node->show) {
    case PLAIN:
        return 1;
    case AS_TEXT:
        return node->type == A_FLOAT || node->type == A_DOUBLE;
    case DATE:
        return node->type == A_LONG;
    case TIME:
    case STAMP:
        return node->type == A_LONG && node->size > 0;
    case DECIMAL:
        return node->type == A_BYTES && node->size <= AVRO_SCALE;
    }
    return 0;
}

/* A program as Python gives it: (type, how it is shown, size or None, texts, children). */
static int read_node(Node *node, PyObject *tuple, int depth) {
    int type, show;
    PyObject *size, *texts, *children;
    if (depth > MOST_DEPTH)
        return refuse("the program is nested too deeply");
    if (!PyTuple_Check(tuple))
        return refuse("a program is a tuple");
    if (!PyArg_ParseTuple(tuple, "iiOO!O!", &type, &show, &size, &PyTuple_Type, &texts, &PyTuple_Type, &children))
        return -1;
    if (type < A_NULL || type > A_MAP || show < PLAIN || show > DECIMAL)
        return refuse("an unknown type, or way to show");
    node->type = (uint8_t)type;
    node->show = (uint8_t)show;
    if (size != Py_None) {
        node->size = PyLong_AsLongLong(size);
        if (node->size == -1 && PyErr_Occurred())
            return -1;
        if (node->size < 0 || node->size > INT32_MAX)
            return refuse("a size is out of range");
    }
    if (!fits(node))
        return refuse("a value cannot be shown so");
    Py_ssize_t count = PyTuple_GET_SIZE(children);
    int wanted = type == A_ARRAY || type == A_MAP ? 1 : type == A_UNION || type == A_RECORD ? -1 : 0;
    if (type == A_BYTES && show == PLAIN && count == 1)
        wanted = 1;
    if (count > MOST_FIELDS || (wanted >= 0 && count != wanted) || (type == A_RECORD && PyTuple_GET_SIZE(texts) != count))
        return refuse("a wrong number of fields");
    if (names_read(&node->texts, texts) < 0)
        return -1;
    node->children = calloc((size_t)count + 1, sizeof(Node));
    if (node->children == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t i = 0; i < count; i++)
        if (read_node(&node->children[node->count++], PyTuple_GET_ITEM(children, i), depth + 1) < 0)
            return -1;
    if (type == A_ARRAY && node->children[0].least == 0)
        return refuse("the items of an array have bytes");
    node->least = least_of(node);
    return 0;
}

static PyObject *writer_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
    static char *names[] = {"program", NULL};
    PyObject *program;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O", names, &program))
        return NULL;
    Writer *self = (Writer *)type->tp_alloc(type, 0);
    if (self != NULL && read_node(&self->root, program, 0) < 0)
        Py_CLEAR(self);
    return (PyObject *)self;
}

static void writer_dealloc(PyObject *self) {
    node_free(&((Writer *)self)->root);
    bytes_free(&((Writer *)self)->out);
    Py_TYPE(self)->tp_free(self);
}

static PyObject *writer_write(PyObject *object, PyObject *args) {
    Writer *self = (Writer *)object;
    Py_buffer data, mark, before, behind;
    Py_ssize_t place, most, done = 0;
    if (!PyArg_ParseTuple(args, "y*nny*y*y*", &data, &place, &most, &mark, &before, &behind))
        return NULL;
    PyObject *result = NULL;
    Bytes ends = {0}, *out = &self->out;
    if (place < 0 || place > data.len) {
        PyErr_SetString(PyExc_ValueError, "the place is not in the data");
        goto done;
    }
    const char *start = data.buf, *at = start + place, *end = start + data.len;
    Verdict verdict = TAKEN;
    while (verdict == TAKEN && at < end && (most < 0 || done < most)) {
        const char *next = at;
        size_t written = out->size;
        if (end - at < mark.len || memcmp(at, mark.buf, (size_t)mark.len) != 0)
            break;
        next += mark.len;
        verdict = copied(out, before.buf, (size_t)before.len);
        if (verdict == TAKEN)
            verdict = walk(out, &self->root, &next, end);
        if (verdict == TAKEN)
            verdict = copied(out, behind.buf, (size_t)behind.len);
        if (verdict == TAKEN && next == at) /* a datum without bytes could be there without end */
            verdict = ODD;
        if (verdict != TAKEN) {
            out->size = written;
            break;
        }
        at = next;
        int64_t sizes[2] = {at - start, (int64_t)out->size};
        if (bytes_append(&ends, sizes, sizeof sizes) < 0)
            verdict = NO_MEMORY;
        done++;
    }
    if (verdict == NO_MEMORY) {
        out->size = 0;
        PyErr_NoMemory();
        goto done;
    }
    PyObject *text = PyBytes_FromStringAndSize(out->data, (Py_ssize_t)out->size), *taken = bytes_take(&ends);
    out->size = 0;
    if (text != NULL && taken != NULL)
        result = Py_BuildValue("nnOO", done, (Py_ssize_t)(at - start), text, taken);
    Py_XDECREF(text);
    Py_XDECREF(taken);
done:
    bytes_free(&ends);
    PyBuffer_Release(&data);
    PyBuffer_Release(&mark);
    PyBuffer_Release(&before);
    PyBuffer_Release(&behind);
    return result;
}

static PyMethodDef writer_methods[] = {
    {"write", writer_write, METH_VARARGS, "write(data, place, most, mark, before, behind) -> (done, place, text, ends)"},
    {NULL, NULL, 0, NULL},
};

PyTypeObject AvroToJsonType = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "ggfmt.kernels._native.AvroToJson",
    .tp_doc = "Writes data in Avro as JSON; see avro_json.c.",
    .tp_basicsize = sizeof(Writer),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_new = writer_new,
    .tp_dealloc = writer_dealloc,
    .tp_methods = writer_methods,
};
