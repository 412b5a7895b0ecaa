/* Rows of Arcion's CSV: where they are in a file, and the JSON of them that the JSON scanner takes.

   The writer of JSON leaves every decision on errors to the exact reader (formats/arcion/csv_read.py): for a row with
   anything out of the ordinary it writes what is no JSON. */
#include "escape.h"
#include "json.h"

#include <stdlib.h>

enum { STATES = 4, IN_NEW = 1, IN_OLD = 2, LAST_FIELDS = 3, MAX_COLUMNS = 1 << 18 };
enum { OP, CURSOR, COUNTS };

typedef struct {
    char delimiter;
    char quote;
    int backslash; /* a backslash escapes in quoted fields; else a quote is doubled */
} Dialect;

static int read_dialect(Dialect *dialect, int delimiter, int quote) {
    if (delimiter < 1 || delimiter > 127 || quote < 1 || quote > 127 || delimiter == quote) {
        PyErr_SetString(PyExc_ValueError, "a delimiter or quote that is no ASCII character");
        return -1;
    }
    dialect->delimiter = (char)delimiter;
    dialect->quote = (char)quote;
    return 0;
}

/* From behind an opening quote to the closing one; NULL if there is none. */
static const char *closing(const Dialect *d, const char *at, const char *end) {
    if (d->backslash) {
        for (; at < end; at++)
            if (*at == '\\')
                at++;
            else if (*at == d->quote)
                return at;
        return NULL;
    }
    while ((at = memchr(at, d->quote, (size_t)(end - at))) != NULL) {
        if (at + 1 == end || at[1] != d->quote)
            return at;
        at += 2;
    }
    return NULL;
}

/* Where rows are */

/* From the start of a row to its line end, which may be `end`; NULL if a quote is not closed. */
static const char *row_end(const Dialect *d, const char *at, const char *end) {
    for (;; at++) {
        if (at < end && *at == d->quote && (at = closing(d, at + 1, end)) == NULL)
            return NULL;
        while (at < end && *at != d->delimiter && *at != '\n')
            at++;
        if (at == end || *at == '\n')
            return at;
    }
}

/* Starts and ends of the rows from a place on, and where the next one starts. If `more` follows the data, they end before
   a row that may go on in it; and before one of more than `most` bytes. */
PyObject *kernel_csv_rows(PyObject *module, PyObject *args) {
    (void)module;
    Dialect dialect;
    const char *data;
    Py_ssize_t size, place, most;
    int more, delimiter, quote;
    if (!PyArg_ParseTuple(args, "y#npnCCp", &data, &size, &place, &more, &most, &delimiter, &quote, &dialect.backslash) ||
        read_dialect(&dialect, delimiter, quote) < 0)
        return NULL;
    if (place < 0 || place > size || most < 0) {
        PyErr_SetString(PyExc_ValueError, "the place is not in the data");
        return NULL;
    }
    Bytes spans = {0};
    while (place < size) {
        int is_rest = size - place <= most;
        const char *start = data + place, *stop = is_rest ? data + size : start + most + 1;
        const char *end = row_end(&dialect, start, stop);
        if (end == NULL || (end == stop && (!is_rest || more))) {
            if (is_rest && more)
                break;
            end = memchr(start, '\n', (size_t)(stop - start)); /* a quote that nothing closes */
            if (end == NULL && !is_rest)
                break;
            end = end == NULL ? stop : end;
        }
        int64_t span[2] = {place, end - data};
        place = end - data + (end - data < size);
        if (span[1] < size && span[1] > span[0] && end[-1] == '\r')
            span[1]--;
        if (bytes_append(&spans, span, sizeof span) < 0) {
            bytes_free(&spans);
            return PyErr_NoMemory();
        }
    }
    PyObject *taken = bytes_take(&spans);
    bytes_free(&spans);
    return taken == NULL ? NULL : Py_BuildValue("Nn", taken, place);
}

/* The JSON of rows */

typedef struct {
    const char *start;
    const char *end;
    int is_quoted;
    int is_escaped; /* a quoted field with escapes */
} Field;

typedef struct {
    Dialect dialect;
    const char *null;
    Py_ssize_t null_length;
    Slice *names; /* of columns, as members start: `"ID":` */
    int columns;
    int is_change; /* not a row of a snapshot */
    Slice head;
    const char *end; /* of the data */
    Field *fields;
    int width;
    Bytes text; /* of a field without its escapes */
    Bytes out;
} Rows;

static Verdict put(Bytes *out, const char *text, size_t length) {
    return bytes_append(out, text, length) < 0 ? NO_MEMORY : TAKEN;
}

#define PUT(out, text) put(out, text, sizeof(text) - 1)

/* Takes a row apart. ODD if it has another number of fields, or one that goes on behind its closing quote. */
static Verdict take_apart(Rows *rows, const char *at, const char *end) {
    const Dialect *d = &rows->dialect;
    for (int i = 0; i < rows->width; i++) {
        Field *field = &rows->fields[i];
        *field = (Field){at, at, at < end && *at == d->quote, 0};
        if (field->is_quoted) {
            field->start = at + 1;
            field->end = closing(d, at + 1, end);
            if (field->end == NULL)
                return ODD;
            size_t length = (size_t)(field->end - field->start);
            field->is_escaped = memchr(field->start, d->backslash ? '\\' : d->quote, length) != NULL;
            at = field->end + 1;
        } else {
            const char *next = memchr(at, d->delimiter, (size_t)(end - at));
            at = field->end = next == NULL ? end : next;
        }
        if (i + 1 == rows->width)
            return at == end ? TAKEN : ODD;
        if (at == end || *at != d->delimiter)
            return ODD;
        at++;
    }
    return ODD;
}

/* The text of a field. It is in `rows->text` if the field has escapes. */
static Verdict text_of(Rows *rows, const Field *field, Slice *text) {
    *text = (Slice){field->start, (size_t)(field->end - field->start)};
    if (!field->is_escaped)
        return TAKEN;
    const Dialect *d = &rows->dialect;
    rows->text.size = 0;
    if (bytes_reserve(&rows->text, text->length) < 0)
        return NO_MEMORY;
    char *to = rows->text.data;
    for (const char *at = field->start; at < field->end; at++) {
        if (!d->backslash && *at == d->quote)
            at++; /* the second one of two */
        else if (d->backslash && *at == '\\' && at + 1 < field->end && (at[1] == '\\' || at[1] == d->quote))
            at++;
        *to++ = *at;
    }
    *text = (Slice){rows->text.data, (size_t)(to - rows->text.data)};
    return TAKEN;
}

static int is_null(const Rows *rows, const Field *field) {
    return !field->is_quoted && field->end - field->start == rows->null_length &&
           memcmp(field->start, rows->null, (size_t)rows->null_length) == 0;
}

static Verdict put_text(Rows *rows, const Slice *text) {
    size_t readable = text->length;
    if (text->start != rows->text.data)
        readable = (size_t)(rows->end - text->start);
    if (PUT(&rows->out, "\"") != TAKEN || escape(&rows->out, JSON, text->start, text->length, readable) < 0)
        return NO_MEMORY;
    return PUT(&rows->out, "\"");
}

static Verdict put_value(Rows *rows, const Field *field) {
    Slice text;
    if (is_null(rows, field))
        return PUT(&rows->out, "null");
    Verdict verdict = text_of(rows, field, &text);
    return verdict == TAKEN ? put_text(rows, &text) : verdict;
}

/* Whether the name of a member has a blank in it, which the exact reader may take out. */
static int has_blank_in_name(const char *at, const char *end) {
    while ((at = memchr(at, '"', (size_t)(end - at))) != NULL) {
        int escaped;
        const char *close = json_string(at + 1, end, &escaped);
        if (close == NULL)
            return 0;
        const char *next = json_space(close + 1, end);
        if (next < end && *next == ':' && memchr(at, ' ', (size_t)(close - at)) != NULL)
            return 1;
        at = close + 1;
    }
    return 0;
}

/* Writes a member that is a JSON object in a text, if the field has one. */
static Verdict put_object(Rows *rows, const char *member, size_t length, const Field *field) {
    Slice text;
    if (is_null(rows, field))
        return TAKEN;
    Verdict verdict = text_of(rows, field, &text);
    if (verdict != TAKEN)
        return verdict;
    const char *end = text.start + text.length;
    if (json_space(text.start, end) == end)
        return TAKEN;
    if (has_blank_in_name(text.start, end))
        return ODD;
    return put(&rows->out, member, length) == TAKEN ? put_text(rows, &text) : NO_MEMORY;
}

/* The number of a field that says in which images a column has a value; -1 for another text. */
static int state_of(const Field *field) {
    if (field->end - field->start != 1 || *field->start < '0' || *field->start >= '0' + STATES)
        return -1;
    return *field->start - '0';
}

/* Writes the columns of an image that have a value there, and returns how many; in a snapshot, all. */
static Verdict put_image(Rows *rows, int image, int *count) {
    int step = rows->is_change ? 3 : 1;
    *count = 0;
    for (int i = 0; i < rows->columns; i++) {
        const Field *field = &rows->fields[step * i];
        if (rows->is_change && !(state_of(field + 2) & image))
            continue;
        Verdict verdict = put(&rows->out, *count ? "," : "{", 1);
        if (verdict == TAKEN)
            verdict = put(&rows->out, rows->names[i].start, rows->names[i].length);
        if (verdict == TAKEN)
            verdict = put_value(rows, image == IN_OLD ? field + 1 : field);
        if (verdict != TAKEN)
            return verdict;
        ++*count;
    }
    return *count ? PUT(&rows->out, "}") : TAKEN;
}

/* Writes a member that is an image. One without columns is written only if operations of this type have the image. */
static Verdict put_image_member(Rows *rows, const char *member, size_t length, int image, int is_there) {
    int count;
    size_t before = rows->out.size;
    Verdict verdict = put(&rows->out, member, length);
    if (verdict == TAKEN)
        verdict = put_image(rows, image, &count);
    if (verdict == TAKEN && !count) {
        if (is_there)
            return PUT(&rows->out, "{}");
        rows->out.size = before;
    }
    return verdict;
}

#define MEMBER(text) text, sizeof(text) - 1

/* Writes what a change has besides its images: states, type, cursor and counts. */
static Verdict put_change(Rows *rows) {
    const Field *last = &rows->fields[3 * rows->columns];
    if (PUT(&rows->out, ",\"states\":\"") != TAKEN || bytes_reserve(&rows->out, (size_t)rows->columns) < 0)
        return NO_MEMORY;
    for (int i = 0; i < rows->columns; i++) {
        if (state_of(&rows->fields[3 * i + 2]) < 0)
            return ODD;
        rows->out.data[rows->out.size++] = *rows->fields[3 * i + 2].start;
    }
    if (PUT(&rows->out, "\",\"opType\":") != TAKEN)
        return NO_MEMORY;
    Verdict verdict = put_value(rows, &last[OP]);
    if (verdict == TAKEN)
        verdict = put_object(rows, MEMBER(",\"cursor\":"), &last[CURSOR]);
    return verdict == TAKEN ? put_object(rows, MEMBER(",\"operationcount\":"), &last[COUNTS]) : verdict;
}

static Verdict put_row(Rows *rows, const char *at, const char *end) {
    if (at == end || !is_utf8(at, end))
        return ODD;
    Verdict verdict = take_apart(rows, at, end);
    if (verdict == TAKEN)
        verdict = put(&rows->out, rows->head.start, rows->head.length);
    if (verdict != TAKEN)
        return verdict;
    int is_delete = 0;
    if (rows->is_change) {
        const Field *op = &rows->fields[3 * rows->columns];
        is_delete = op->end - op->start == 1 && *op->start == 'D';
        verdict = put_change(rows);
    } else {
        verdict = PUT(&rows->out, ",\"opType\":\"I\"");
    }
    if (verdict == TAKEN && rows->is_change)
        verdict = put_image_member(rows, MEMBER(",\"before\":"), IN_OLD, is_delete);
    if (verdict == TAKEN)
        verdict = put_image_member(rows, MEMBER(",\"after\":"), IN_NEW, !is_delete);
    return verdict == TAKEN ? PUT(&rows->out, "}") : verdict;
}

/* Writes all rows, and where the JSON of each ends. */
static int put_rows(Rows *rows, const char *data, Py_ssize_t size, const int64_t *spans, Py_ssize_t count, Bytes *ends) {
    for (Py_ssize_t i = 0; i < count; i++) {
        int64_t start = spans[2 * i], end = spans[2 * i + 1];
        size_t written = rows->out.size;
        if (start < 0 || end < start || end > size) {
            PyErr_SetString(PyExc_ValueError, "a row is not in the data");
            return -1;
        }
        Verdict verdict = put_row(rows, data + start, data + end);
        if (verdict == ODD) {
            rows->out.size = written;
            verdict = PUT(&rows->out, "?");
        }
        int64_t made = (int64_t)rows->out.size;
        if (verdict != TAKEN || bytes_append(ends, &made, sizeof made) < 0) {
            PyErr_NoMemory();
            return -1;
        }
    }
    return 0;
}

static int read_names(Rows *rows, PyObject *names) {
    Py_ssize_t count = PyTuple_Size(names);
    if (count < 1 || count > MAX_COLUMNS) {
        PyErr_SetString(PyExc_ValueError, "no columns, or too many");
        return -1;
    }
    rows->columns = (int)count;
    rows->width = rows->is_change ? 3 * rows->columns + LAST_FIELDS : rows->columns;
    rows->names = calloc((size_t)count, sizeof(Slice));
    rows->fields = calloc((size_t)rows->width, sizeof(Field));
    if (rows->names == NULL || rows->fields == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        char *text;
        Py_ssize_t length;
        if (PyBytes_AsStringAndSize(PyTuple_GetItem(names, i), &text, &length) < 0)
            return -1;
        rows->names[i] = (Slice){text, (size_t)length};
    }
    return 0;
}

/* csv_to_json(data, spans, delimiter, quote, backslash, null, names, changes, head): the JSON of rows, and the int64 ends
   of it. `head` starts each object, and `names` start its members. */
PyObject *kernel_csv_to_json(PyObject *module, PyObject *args) {
    (void)module;
    Rows rows = {0};
    Py_buffer spans;
    PyObject *names, *result = NULL;
    const char *data;
    Py_ssize_t size, head;
    int delimiter, quote;
    if (!PyArg_ParseTuple(args, "y#y*CCpy#O!py#", &data, &size, &spans, &delimiter, &quote, &rows.dialect.backslash,
                          &rows.null, &rows.null_length, &PyTuple_Type, &names, &rows.is_change, &rows.head.start, &head))
        return NULL;
    Bytes ends = {0};
    rows.head.length = (size_t)head;
    rows.end = data + size;
    if (read_dialect(&rows.dialect, delimiter, quote) == 0 && read_names(&rows, names) == 0 &&
        put_rows(&rows, data, size, spans.buf, spans.len / (Py_ssize_t)(2 * sizeof(int64_t)), &ends) == 0) {
        PyObject *text = PyBytes_FromStringAndSize(rows.out.data, (Py_ssize_t)rows.out.size);
        PyObject *made = text == NULL ? NULL : bytes_take(&ends);
        if (made != NULL)
            result = Py_BuildValue("NN", text, made);
        else
            Py_XDECREF(text);
    }
    free(rows.names);
    free(rows.fields);
    bytes_free(&rows.text);
    bytes_free(&rows.out);
    bytes_free(&ends);
    PyBuffer_Release(&spans);
    return result;
}
