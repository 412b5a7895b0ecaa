/* Writer of the rows of binary logs as JSON, as formats/binlog/rows.py writes them.

   It leaves every decision on errors to the exact writer: if a row has anything out of the ordinary, the whole event is ODD. */
#include "avro.h"
#include "binlog_rows.h"
#include "escape.h"
#include "keys.h"

#include <math.h>

/* What a value is; the same numbers as in rows.py. */
enum Form { SIGNED, UNSIGNED, UTF8, ASCII_TEXT, BASE64, DECIMAL, DATE, DATETIME, TIMESTAMP, TIME, DOUBLE_NUMBER, FLOAT_NUMBER,
            YEAR, MEMBER, MEMBERS, BITS, EXACT, FORMS };

/* `size`: bytes of a number, of a fraction of a second or of the length before a text. `digits`: after the point. `before`: digits
   before the point of a decimal; the least bytes of BASE64. */
typedef struct Field {
    Slice name; /* as a JSON string, and a colon */
    int form;
    int size;
    int digits;
    int before;
    Keys symbols; /* texts, without quotes, as JSON has them */
} Field;

enum { MAX_FIELDS = 1 << 14, GROUP = 9 };

static const int bytes_of_digits[GROUP + 1] = {0, 1, 1, 2, 2, 3, 3, 4, 4, 4};
static const int64_t powers[] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000, 1000000000};

static uint64_t big(const unsigned char *at, int size) {
    uint64_t value = 0;
    for (int n = 0; n < size; n++)
        value = value << 8 | at[n];
    return value;
}

/* Puts a time in quotes, with its fraction; the text has room for that. */
static Verdict put_time(Bytes *out, char *text, size_t length, int64_t part, int digits) {
    text[0] = '"';
    if (digits) {
        if (part >= powers[digits])
            return ODD;
        text[length++] = '.';
        digits_text(text + length, digits, part);
        length += (size_t)digits;
    }
    text[length++] = '"';
    return put(out, text, length);
}

static Verdict put_decimal(Bytes *out, const Field *field, const unsigned char *at) {
    char text[2 * AVRO_TEXT];
    size_t length = 0;
    const unsigned char flip = at[0] & 0x80 ? 0 : 0xFF;
    int first = 1, written = 0;
    text[length++] = '"';
    if (flip)
        text[length++] = '-';
    for (int part = 0; part < 2; part++) {
        const int digits = part ? field->digits : field->before, odd = digits % GROUP;
        for (int left = digits; left > 0;) {
            const int width = part ? (left < GROUP ? left : GROUP) : (left == digits && odd ? odd : GROUP);
            const int size = bytes_of_digits[width];
            unsigned char group[4];
            for (int n = 0; n < size; n++)
                group[n] = (unsigned char)(at[n] ^ flip);
            if (first)
                group[0] ^= 0x80;
            first = 0;
            const int64_t value = (int64_t)big(group, size);
            if (value >= powers[width])
                return ODD;
            digits_text(text + length, width, value);
            if (!part && !written) { /* no zeros at the start */
                int zeros = 0;
                while (zeros < width && text[length + (size_t)zeros] == '0')
                    zeros++;
                memmove(text + length, text + length + zeros, (size_t)(width - zeros));
                length += (size_t)(width - zeros);
                written = zeros < width;
            } else {
                length += (size_t)width;
            }
            at += size;
            left -= width;
        }
        if (!part && !written)
            text[length++] = '0';
        if (!part && field->digits)
            text[length++] = '.';
    }
    text[length++] = '"';
    return put(out, text, length);
}

static Verdict put_datetime(Bytes *out, const Field *field, const unsigned char *at) {
    char text[40];
    const uint64_t bits = big(at, 5);
    if (bits < (uint64_t)1 << 39)
        return ODD;
    const int64_t packed = (int64_t)(bits - ((uint64_t)1 << 39)), months = packed >> 22;
    int64_t part = (int64_t)big(at + 5, field->size);
    if (months / 13 > 9999 || (packed >> 12 & 31) > 23 || (packed >> 6 & 63) > 59 || (packed & 63) > 59)
        return ODD;
    memcpy(text + 1, TIME_TEXT, 19);
    digits_text(text + 1, 4, months / 13);
    digits_text(text + 6, 2, months % 13);
    digits_text(text + 9, 2, packed >> 17 & 31);
    digits_text(text + 12, 2, packed >> 12 & 31);
    digits_text(text + 15, 2, packed >> 6 & 63);
    digits_text(text + 18, 2, packed & 63);
    return put_time(out, text, 20, field->digits & 1 ? part / 10 : part, field->digits);
}

static Verdict put_timestamp(Bytes *out, const Field *field, const unsigned char *at) {
    char text[40] = "\"" TIME_TEXT;
    const int64_t seconds = (int64_t)big(at, 4);
    int64_t part = (int64_t)big(at + 4, field->size);
    part = field->digits & 1 ? part / 10 : part;
    if ((seconds || part) && micros_text(text + 1, seconds * 1000000) == 0)
        return ODD;
    return put_time(out, text, 20, part, field->digits);
}

static Verdict put_clock(Bytes *out, const Field *field, const unsigned char *at) {
    char text[40];
    const int width = 3 + field->size, bits = 8 * field->size;
    int64_t packed = (int64_t)big(at, width) - ((int64_t)1 << (8 * width - 1));
    const int negative = packed < 0;
    packed = negative ? -packed : packed;
    int64_t part = packed & (((int64_t)1 << bits) - 1);
    const int64_t whole = packed >> bits, hours = whole >> 12;
    if (hours > 838 || (whole >> 6 & 63) > 59 || (whole & 63) > 59)
        return ODD;
    char *to = text + 1;
    if (negative)
        *to++ = '-';
    const int digits = hours > 99 ? 3 : 2;
    digits_text(to, digits, hours);
    to += digits;
    memcpy(to, ":00:00", 6);
    digits_text(to + 1, 2, whole >> 6 & 63);
    digits_text(to + 4, 2, whole & 63);
    return put_time(out, text, (size_t)(to + 6 - text), field->digits & 1 ? part / 10 : part, field->digits);
}

static Verdict put_float(Bytes *out, const Field *field, const unsigned char *at) {
    char text[AVRO_TEXT];
    size_t length;
    if (field->form == FLOAT_NUMBER) {
        float value;
        memcpy(&value, at, sizeof value);
        length = isfinite(value) ? float_text(text, value) : 0;
    } else {
        double value;
        memcpy(&value, at, sizeof value);
        const double size = fabs(value);
        length = value == 0 || (size >= 1e-3 && size < 1e15) ? double_text(text, value) : 0; /* JSON's exponents are others */
    }
    return length ? put(out, text, length) : ODD;
}

static Verdict put_text(Bytes *out, const Field *field, const unsigned char *at, size_t length, size_t readable) {
    if (field->form == BASE64) {
        if (length < (size_t)field->before)
            return ODD; /* zero bytes at the end are not in the log */
        if (length > SIZE_MAX / 8 || bytes_reserve(out, base64_size(length) + 2) < 0)
            return NO_MEMORY;
        out->data[out->size++] = '"';
        out->size += base64_text(out->data + out->size, (const char *)at, length);
        out->data[out->size++] = '"';
        return TAKEN;
    }
    if (field->form == ASCII_TEXT)
        for (size_t n = 0; n < length; n++)
            if (at[n] & 0x80)
                return ODD;
    if (put(out, "\"", 1) != TAKEN || escape(out, JSON, (const char *)at, length, readable) < 0)
        return NO_MEMORY;
    return put(out, "\"", 1);
}

static Verdict put_members(Bytes *out, const Field *field, uint64_t bits) {
    const Keys *symbols = &field->symbols;
    Verdict verdict = put(out, "\"", 1);
    if (field->form == MEMBER) {
        if (bits > (uint64_t)symbols->count)
            return ODD;
        if (bits && verdict == TAKEN)
            verdict = put(out, symbols->all[bits - 1].text, symbols->all[bits - 1].length);
    } else {
        if (symbols->count < 64 && bits >> symbols->count)
            return ODD;
        for (int n = 0, some = 0; n < symbols->count && verdict == TAKEN; n++)
            if (bits >> n & 1) {
                if (some++)
                    verdict = put(out, ",", 1);
                if (verdict == TAKEN)
                    verdict = put(out, symbols->all[n].text, symbols->all[n].length);
            }
    }
    return verdict == TAKEN ? put(out, "\"", 1) : verdict;
}

/* The bytes of a value, without a length before it. */
static int width_of(const Field *field) {
    switch ((enum Form)field->form) {
    case DECIMAL:
        return field->before / GROUP * 4 + bytes_of_digits[field->before % GROUP] + field->digits / GROUP * 4 +
               bytes_of_digits[field->digits % GROUP];
    case DATE:
        return 3;
    case DATETIME:
        return 5 + field->size;
    case TIMESTAMP:
        return 4 + field->size;
    case TIME:
        return 3 + field->size;
    case DOUBLE_NUMBER:
        return 8;
    case FLOAT_NUMBER:
        return 4;
    case YEAR:
        return 1;
    default:
        return field->size;
    }
}

static Verdict value(Bytes *out, const Field *field, const unsigned char **place, const unsigned char *end) {
    const unsigned char *at = *place;
    const int width = width_of(field);
    if (field->form == EXACT || end - at < width)
        return ODD;
    *place = at + width;
    switch ((enum Form)field->form) {
    case SIGNED: {
        const int shift = 64 - 8 * field->size;
        const int64_t number = (int64_t)(little(at, field->size) << shift) >> shift;
        return put_number(out, number < 0 ? -(uint64_t)number : (uint64_t)number, number < 0);
    }
    case UNSIGNED:
        return put_number(out, little(at, field->size), 0);
    case BITS:
        return put_number(out, big(at, field->size), 0);
    case YEAR:
        return put_number(out, at[0] ? 1900 + at[0] : 0, 0);
    case UTF8:
    case ASCII_TEXT:
    case BASE64: {
        const uint64_t length = little(at, field->size);
        if ((uint64_t)(end - *place) < length)
            return ODD;
        *place += length;
        return put_text(out, field, at + width, (size_t)length, (size_t)(end - at - width));
    }
    case DECIMAL:
        return put_decimal(out, field, at);
    case DATE: {
        char text[12] = "\"0000-00-00\"";
        const int64_t packed = (int64_t)little(at, 3);
        if (packed >> 9 > 9999)
            return ODD;
        digits_text(text + 1, 4, packed >> 9);
        digits_text(text + 6, 2, packed >> 5 & 15);
        digits_text(text + 9, 2, packed & 31);
        return put(out, text, 12);
    }
    case DATETIME:
        return put_datetime(out, field, at);
    case TIMESTAMP:
        return put_timestamp(out, field, at);
    case TIME:
        return put_clock(out, field, at);
    case DOUBLE_NUMBER:
    case FLOAT_NUMBER:
        return put_float(out, field, at);
    case MEMBER:
    case MEMBERS:
        return put_members(out, field, little(at, field->size));
    default:
        return ODD;
    }
}

static Verdict image(BinlogRows *self, Bytes *out, const unsigned char *shown, int columns, const unsigned char **place,
                     const unsigned char *end) {
    const unsigned char *nulls = *place;
    if (end - nulls < (columns + 7) / 8)
        return ODD;
    *place += (columns + 7) / 8;
    int number = 0;
    for (int n = 0; n < self->count; n++) {
        if (!(shown[n >> 3] >> (n & 7) & 1))
            continue;
        const Field *field = &self->fields[n];
        const int is_null = nulls[number >> 3] >> (number & 7) & 1;
        if (put(out, number++ ? "," : "{", 1) != TAKEN || put(out, field->name.start, field->name.length) != TAKEN)
            return NO_MEMORY;
        const Verdict verdict = is_null ? put(out, "null", 4) : value(out, field, place, end);
        if (verdict != TAKEN)
            return verdict;
    }
    return put(out, "}", 1);
}

Verdict binlog_rows_write(BinlogRows *self, const unsigned char *at, const unsigned char *end, const Slice *shown, int images,
                          Py_ssize_t *rows) {
    int columns[IMAGES] = {0, 0};
    for (int n = 0; n < images; n++) {
        self->out[n].size = 0;
        if (shown[n].length != (size_t)(self->count + 7) / 8)
            return ODD;
        for (int column = 0; column < self->count; column++)
            columns[n] += shown[n].start[column >> 3] >> (column & 7) & 1;
        if (columns[n] == 0)
            return ODD;
    }
    for (*rows = 0; at < end; ++*rows)
        for (int n = 0; n < images; n++) {
            if (*rows && put(&self->out[n], ",", 1) != TAKEN)
                return NO_MEMORY;
            const Verdict verdict = image(self, &self->out[n], (const unsigned char *)shown[n].start, columns[n], &at, end);
            if (verdict != TAKEN)
                return verdict;
        }
    return TAKEN;
}

static PyObject *rows_write(PyObject *object, PyObject *args) {
    BinlogRows *self = (BinlogRows *)object;
    Py_buffer data;
    Slice shown[IMAGES] = {{NULL, 0}, {NULL, 0}};
    Py_ssize_t place, stop, lengths[IMAGES] = {0, 0}, rows = 0;
    if (!PyArg_ParseTuple(args, "y*nny#|y#", &data, &place, &stop, &shown[0].start, &lengths[0], &shown[1].start, &lengths[1]))
        return NULL;
    const int images = shown[1].start == NULL ? 1 : 2;
    for (int n = 0; n < images; n++)
        shown[n].length = (size_t)lengths[n];
    const unsigned char *at = data.buf;
    Verdict verdict = ODD;
    if (place >= 0 && place <= stop && stop <= data.len)
        verdict = binlog_rows_write(self, at + place, at + stop, shown, images, &rows);
    PyBuffer_Release(&data);
    if (verdict == NO_MEMORY)
        return PyErr_NoMemory();
    if (verdict == ODD)
        return none();
    const Bytes *out = self->out;
    if (images == 1)
        return Py_BuildValue("n(y#)", rows, out[0].data == NULL ? "" : out[0].data, (Py_ssize_t)out[0].size);
    return Py_BuildValue("n(y#y#)", rows, out[0].data == NULL ? "" : out[0].data, (Py_ssize_t)out[0].size,
                         out[1].data == NULL ? "" : out[1].data, (Py_ssize_t)out[1].size);
}

/* Reads a column from (name, form, size, digits, before, symbols). */
static int field_read(BinlogRows *self, Field *field, PyObject *tuple) {
    PyObject *name, *symbols;
    if (!PyArg_ParseTuple(tuple, "SiiiiO!", &name, &field->form, &field->size, &field->digits, &field->before, &PyTuple_Type,
                          &symbols))
        return -1;
    if (field->form < 0 || field->form >= FORMS || field->size < 0 || field->size > 8 || field->digits < 0 ||
        field->before < 0 || (field->form == DECIMAL && (field->digits > 155 || field->before > 155)) ||
        (field->form >= DATETIME && field->form <= TIME && field->digits > 6) || (field->form <= UNSIGNED && field->size < 1))
        return refuse("a column has other numbers than the kernel takes");
    if (field->form == DECIMAL && field->before + field->digits == 0)
        return refuse("a decimal has no digits");
    return text_read(&self->memory, name, &field->name) < 0 ? -1 : keys_read(&field->symbols, &self->memory, symbols);
}

static PyObject *rows_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
    static char *names[] = {"columns", "head", NULL};
    PyObject *columns, *head;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O!S", names, &PyTuple_Type, &columns, &head))
        return NULL;
    const Py_ssize_t count = PyTuple_Size(columns);
    if (count < 1 || count > MAX_FIELDS)
        return refused("the kernel does not take so many columns");
    BinlogRows *self = (BinlogRows *)PyType_GenericAlloc(type, 0);
    if (self == NULL)
        return NULL;
    self->count = (int)count;
    if (text_read(&self->memory, head, &self->head) == 0)
        self->fields = memory_make(&self->memory, (size_t)count, sizeof(Field));
    for (Py_ssize_t n = 0; n < count; n++)
        if (self->fields == NULL || field_read(self, &self->fields[n], PyTuple_GetItem(columns, n)) < 0) {
            Py_DECREF(self);
            return NULL;
        }
    return (PyObject *)self;
}

static void rows_dealloc(PyObject *self) {
    memory_free(&((BinlogRows *)self)->memory);
    bytes_free(&((BinlogRows *)self)->out[0]);
    bytes_free(&((BinlogRows *)self)->out[1]);
    free_object(self);
}

BinlogRows *binlog_rows_of(PyObject *object) {
    PyTypeObject *type = Py_TYPE(object);
    const int is_heap_type = (PyType_GetFlags(type) & Py_TPFLAGS_HEAPTYPE) != 0; /* others have no slots to ask for */
    return is_heap_type && PyType_GetSlot(type, Py_tp_dealloc) == (void *)rows_dealloc ? (BinlogRows *)object : NULL;
}

static PyMethodDef rows_methods[] = {
    {"write", rows_write, METH_VARARGS, "write(data, place, end, shown, shown_after) -> (rows, texts), or None"},
    {NULL, NULL, 0, NULL},
};

PyType_Spec binlog_rows_spec = OBJECT_TYPE("BinlogRows", sizeof(BinlogRows), FIXED_TYPE,
                                           "Writes rows of binary logs as JSON; see binlog_rows.c.", rows_new, rows_dealloc,
                                           rows_methods);
