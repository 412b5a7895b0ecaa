/* Rows of CSV: where they are in a file, and the JSON of them that the JSON scanner takes.

   The writer of JSON leaves every decision on errors to the exact reader (formats/csv/rows.py): for a row with anything out
   of the ordinary it writes what is no JSON. */
#include "escape.h"
#include "json.h"
#include "keys.h"

enum { STATES = 4, IN_NEW = 1, IN_OLD = 2, LAST_FIELDS = 3, MAX_COLUMNS = 1 << 18 };
enum { OP, CURSOR, COUNTS };
enum { NO_QUOTE = -1 };
enum { QUOTES_TWICE, IN_QUOTES, LETTERS }; /* how escapes are written; LETTERS: anywhere, and letters stand for control characters */

typedef struct {
    char delimiter;
    int quote; /* NO_QUOTE: fields have none */
    int escapes;
} Dialect;

static int read_dialect(Dialect *dialect, int delimiter, const char *quote, Py_ssize_t length) {
    const int mark = length == 1 ? (unsigned char)*quote : NO_QUOTE;
    if (delimiter < 1 || delimiter > 127 || length > 1 || mark > 127 || delimiter == mark || mark == 0)
        return refuse("a delimiter or quote that is no ASCII character");
    dialect->delimiter = (char)delimiter;
    dialect->quote = mark;
    return 0;
}

static int is_quote(const Dialect *d, const char *at, const char *end) {
    return at < end && *at == d->quote && d->quote != NO_QUOTE;
}

/* From the start of a field without quotes, or from behind a closing quote, to its delimiter, its line end or the end. */
static const char *field_end(const Dialect *d, const char *at, const char *end, char line_end) {
    if (line_end == d->delimiter && d->escapes != LETTERS) {
        const char *stop = memchr(at, d->delimiter, (size_t)(end - at));
        return stop == NULL ? end : stop;
    }
    for (; at < end && *at != d->delimiter && *at != line_end; at++)
        if (*at == '\\' && d->escapes == LETTERS && at + 1 < end)
            at++;
    return at;
}

/* From behind an opening quote to the closing one; NULL if there is none. */
static const char *closing(const Dialect *d, const char *at, const char *end) {
    if (d->escapes) {
        for (; at < end; at++)
            if (*at == '\\' || (d->escapes == LETTERS && *at == d->quote && at + 1 < end && at[1] == d->quote))
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
        if (is_quote(d, at, end) && (at = closing(d, at + 1, end)) == NULL)
            return NULL;
        at = field_end(d, at, end, '\n');
        if (at == end || *at == '\n')
            return at;
    }
}

/* Starts and ends of the rows from a place on, and where the next one starts. If `more` follows the data, they end before
   a row that may go on in it; and before one of more than `most` bytes. */
PyObject *kernel_csv_rows(PyObject *Py_UNUSED(module), PyObject *args) {
    Dialect dialect;
    const char *data, *quote;
    Py_ssize_t size, place, most, length;
    int more, delimiter;
    if (!PyArg_ParseTuple(args, "y#npnCs#i", &data, &size, &place, &more, &most, &delimiter, &quote, &length,
                          &dialect.escapes) ||
        read_dialect(&dialect, delimiter, quote, length) < 0)
        return NULL;
    if (place < 0 || place > size || most < 0)
        return refused("the place is not in the data");
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
    return Py_BuildValue("Nn", bytes_take(&spans), place);
}

/* The JSON of rows */

typedef struct {
    Slice text;
    int is_quoted;
    int is_escaped; /* the text has escapes */
} Field;

/* The verdict on the row in hand is TAKEN until something out of the ordinary is met; what is written from then on is lost. */
typedef struct {
    Memory memory;
    Dialect dialect;
    Slice null;
    Keys names; /* of columns, as members start: `"ID":`; or of members of the row itself, as `,"op":` */
    int columns;
    int is_change; /* not a row of a snapshot */
    Slice head;
    const char *end; /* of the data */
    Field *fields;
    int width;
    Bytes text; /* of a field without its escapes */
    Bytes out;
    Verdict verdict;
} Rows;

static void put(Rows *rows, const char *text, size_t length) {
    if (bytes_append(&rows->out, text, length) < 0)
        rows->verdict = NO_MEMORY;
}

#define PUT(rows, text) put(rows, text, sizeof(text) - 1)

static void find_odd(Rows *rows) {
    if (rows->verdict == TAKEN)
        rows->verdict = ODD;
}

/* Takes a row apart. 0 if it has another number of fields, or one that goes on behind its closing quote. */
static int take_apart(Rows *rows, const char *at, const char *end) {
    const Dialect *d = &rows->dialect;
    for (int i = 0; i < rows->width; i++) {
        Field *field = &rows->fields[i];
        if (i && (at == end || *at++ != d->delimiter))
            return 0;
        *field = (Field){{at, 0}, is_quote(d, at, end), 0};
        const char *stop = field->is_quoted ? closing(d, ++field->text.start, end) : field_end(d, at, end, d->delimiter);
        if (stop == NULL)
            return 0;
        at = stop + field->is_quoted;
        field->text.length = (size_t)(stop - field->text.start);
        field->is_escaped = ((field->is_quoted && d->escapes != IN_QUOTES) && memchr(field->text.start, d->quote, field->text.length)) ||
                            (d->escapes >= (field->is_quoted ? IN_QUOTES : LETTERS) && memchr(field->text.start, '\\', field->text.length));
    }
    return at == end;
}

/* The letters after a backslash that PostgreSQL and MySQL write for characters, and these characters. */
static const char ESCAPED[] = "bfnrtv0Z", MEANT[] = "\b\f\n\r\t\v\0\x1a";

/* The text of a field. It is in `rows->text` if the field has escapes. */
static Slice text_of(Rows *rows, const Field *field) {
    const Dialect *d = &rows->dialect;
    rows->text.size = 0;
    if (!field->is_escaped)
        return field->text;
    if (bytes_reserve(&rows->text, field->text.length) < 0) {
        rows->verdict = NO_MEMORY;
        return (Slice){field->text.start, 0};
    }
    char *to = rows->text.data;
    for (const char *at = field->text.start, *end = at + field->text.length; at < end; at++) {
        if (field->is_quoted && d->escapes != IN_QUOTES && *at == d->quote) {
            *to++ = *++at; /* the second one of two */
        } else if (d->escapes == LETTERS && *at == '\\' && at + 1 < end) {
            const char *letter = strchr(ESCAPED, *++at);
            *to++ = letter == NULL || *at == '\0' ? *at : MEANT[letter - ESCAPED];
        } else {
            if (d->escapes == IN_QUOTES && *at == '\\' && at + 1 < end && (at[1] == '\\' || at[1] == d->quote))
                at++;
            *to++ = *at;
        }
    }
    return (Slice){rows->text.data, (size_t)(to - rows->text.data)};
}

/* NULL without quotes: the word for it, or nothing, which is a text only among escapes of letters. */
static int is_null(const Rows *rows, const Field *field) {
    const int is_word = slice_is(&field->text, rows->null.start, rows->null.length);
    return !field->is_quoted && ((field->text.length == 0 && rows->dialect.escapes != LETTERS) || is_word);
}

static void put_text(Rows *rows, Slice text) {
    size_t readable = text.start == rows->text.data ? text.length : (size_t)(rows->end - text.start);
    PUT(rows, "\"");
    if (escape(&rows->out, JSON, text.start, text.length, readable) < 0)
        rows->verdict = NO_MEMORY;
    PUT(rows, "\"");
}

static void put_value(Rows *rows, const Field *field) {
    if (is_null(rows, field))
        PUT(rows, "null");
    else
        put_text(rows, text_of(rows, field));
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
static void put_object(Rows *rows, const char *member, const Field *field) {
    if (is_null(rows, field))
        return;
    const Slice text = text_of(rows, field);
    const char *end = text.start + text.length;
    if (json_space(text.start, end) == end)
        return;
    if (has_blank_in_name(text.start, end))
        find_odd(rows);
    put(rows, member, strlen(member));
    put_text(rows, text);
}

/* The images in which a column has a value, as the last field of the column says. */
static int state_of(Rows *rows, int column) {
    const Slice *text = &rows->fields[3 * column + 2].text;
    if (text->length == 1 && *text->start >= '0' && *text->start < '0' + STATES)
        return *text->start - '0';
    find_odd(rows);
    return 0;
}

/* Whether a field is a member of the row itself, and no column. */
static int is_member(const Rows *rows, int field) {
    return *rows->names.all[field].text == ',';
}

/* Writes a member that is an image, of the columns that have a value there; in a snapshot, of all. One without columns is
   written only if operations of this type have the image. */
static void put_image(Rows *rows, const char *member, int image, int is_there) {
    const int step = rows->is_change ? 3 : 1;
    const size_t before = rows->out.size;
    int count = 0;
    put(rows, member, strlen(member));
    for (int i = 0; i < rows->columns; i++) {
        if (rows->is_change ? !(state_of(rows, i) & image) : is_member(rows, i))
            continue;
        put(rows, count++ ? "," : "{", 1);
        put(rows, rows->names.all[i].text, rows->names.all[i].length);
        put_value(rows, &rows->fields[step * i + (image == IN_OLD)]);
    }
    if (count)
        PUT(rows, "}");
    else if (is_there)
        PUT(rows, "{}");
    else
        rows->out.size = before;
}

static Verdict put_row(Rows *rows, const char *at, const char *end) {
    rows->verdict = TAKEN;
    if (at == end || !is_utf8(at, end) || !take_apart(rows, at, end))
        return ODD;
    put(rows, rows->head.start, rows->head.length);
    int is_delete = 0;
    if (rows->is_change) {
        const Field *last = &rows->fields[3 * rows->columns];
        is_delete = slice_is(&last[OP].text, "D", 1);
        PUT(rows, ",\"states\":\"");
        for (int i = 0; i < rows->columns; i++) {
            const char digit = (char)('0' + state_of(rows, i));
            put(rows, &digit, 1);
        }
        PUT(rows, "\",\"opType\":");
        put_value(rows, &last[OP]);
        put_object(rows, ",\"cursor\":", &last[CURSOR]);
        put_object(rows, ",\"operationcount\":", &last[COUNTS]);
        put_image(rows, ",\"before\":", IN_OLD, is_delete);
    } else {
        for (int i = 0; i < rows->columns; i++) {
            if (!is_member(rows, i))
                continue;
            put(rows, rows->names.all[i].text, rows->names.all[i].length);
            put_value(rows, &rows->fields[i]);
        }
    }
    put_image(rows, ",\"after\":", IN_NEW, !is_delete);
    PUT(rows, "}");
    return rows->verdict;
}

/* Writes all rows, and where the JSON of each ends. */
static int put_rows(Rows *rows, const char *data, Py_ssize_t size, const int64_t *spans, Py_ssize_t count, Bytes *ends) {
    for (Py_ssize_t i = 0; i < count; i++) {
        int64_t start = spans[2 * i], end = spans[2 * i + 1];
        size_t written = rows->out.size;
        if (start < 0 || end < start || end > size)
            return refuse("a row is not in the data");
        if (put_row(rows, data + start, data + end) == ODD) {
            rows->out.size = written;
            PUT(rows, "?");
        }
        int64_t made = (int64_t)rows->out.size;
        if (rows->verdict == NO_MEMORY || bytes_append(ends, &made, sizeof made) < 0) {
            PyErr_NoMemory();
            return -1;
        }
    }
    return 0;
}

static int read_names(Rows *rows, PyObject *names) {
    Py_ssize_t count = PyTuple_Size(names);
    if (count < 1 || count > MAX_COLUMNS)
        return refuse("no columns, or too many");
    rows->columns = (int)count;
    rows->width = rows->is_change ? 3 * rows->columns + LAST_FIELDS : rows->columns;
    rows->fields = memory_make(&rows->memory, (size_t)rows->width, sizeof(Field));
    return rows->fields == NULL ? -1 : keys_read(&rows->names, &rows->memory, names);
}

/* csv_to_json(data, spans, delimiter, quote, escapes, null, names, changes, head): the JSON of rows, and the int64 ends
   of it. `head` starts each object, and `names` start its members. */
PyObject *kernel_csv_to_json(PyObject *Py_UNUSED(module), PyObject *args) {
    Rows rows = {0};
    Py_buffer spans;
    PyObject *names, *result = NULL;
    const char *data, *quote;
    Py_ssize_t size, head, null, length;
    int delimiter;
    if (!PyArg_ParseTuple(args, "y#y*Cs#iy#O!py#", &data, &size, &spans, &delimiter, &quote, &length, &rows.dialect.escapes,
                          &rows.null.start, &null, &PyTuple_Type, &names, &rows.is_change, &rows.head.start, &head))
        return NULL;
    Bytes ends = {0};
    rows.null.length = (size_t)null;
    rows.head.length = (size_t)head;
    rows.end = data + size;
    if (read_dialect(&rows.dialect, delimiter, quote, length) == 0 && read_names(&rows, names) == 0 &&
        put_rows(&rows, data, size, spans.buf, spans.len / (Py_ssize_t)(2 * sizeof(int64_t)), &ends) == 0)
        result = Py_BuildValue("y#N", rows.out.data == NULL ? "" : rows.out.data, (Py_ssize_t)rows.out.size, bytes_take(&ends));
    memory_free(&rows.memory);
    bytes_free(&rows.text);
    bytes_free(&rows.out);
    bytes_free(&ends);
    PyBuffer_Release(&spans);
    return result;
}
