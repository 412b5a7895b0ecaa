/* Lines of delimited text, taken into columns in one pass over their bytes.

   The caller binds the names of tables, as lines have them, to what their fields are. A line of a bound table that has as
   many fields as that, and a known operation type, is taken. Each other line is ODD, leaves no trace in the columns and
   is noted, so that the caller can have it read: in this format no line bears on another. */
#include "json.h"
#include "keys.h"
#include "rows.h"

#include <stdlib.h>

enum { MOST_HEAD = 256, MOST_FIELDS = 1 << 20 };

/* What a field is: nothing that is wanted, or a value in one of the images, or in the one image that there is. */
enum Part { NOTHING, BEFORE, AFTER, VALUE };

typedef struct {
    uint8_t part;
    int32_t column;
} Field;

/* How far the binding of a table's name has come: REFUSED says that its lines are odd. */
enum Binding { UNKNOWN, REFUSED, BOUND };

typedef struct {
    enum Binding binding;
    Field *fields;
    int width; /* how many there are */
    Rows rows;
} Table;

typedef struct {
    char *text;
    size_t length;
} Mark;

typedef struct {
    const char *start;
    const char *end;
} Span;

typedef struct {
    PyObject_HEAD
    Mark between; /* fields */
    Mark behind;  /* lines */
    Mark null;
    Mark missing;
    int quoted; /* values may be in quotes, with those within doubled */
    int head;   /* how many fields of metadata there are */
    int op;     /* the place of the operation type among them */
    int *name;  /* the places of the parts of the table's name */
    int name_parts;
    int *slot; /* the places of what else is wanted of them */
    int slots;
    Keys kinds; /* the words for operation types, of which `letters` says what they stand for */
    Bytes letters;
    Keys keys; /* names of tables */
    Table *tables;
    int last;
    Bytes name_text; /* of a name in several parts */
    Bytes odd;       /* int64: ordinal, start and end of each odd line */
    Span *field;     /* of the line's metadata */
    const char *end; /* of the data */
} Scanner;

/* Fields */

/* The next place of a mark, or `end` if there is none before. */
static inline const char *find(const Mark *mark, const char *at, const char *end) {
    if (mark->length == 1) {
        const char *found = memchr(at, mark->text[0], (size_t)(end - at));
        return found == NULL ? end : found;
    }
    while ((size_t)(end - at) >= mark->length) {
        at = memchr(at, mark->text[0], (size_t)(end - at) - mark->length + 1);
        if (at == NULL)
            return end;
        if (memcmp(at, mark->text, mark->length) == 0)
            return at;
        at++;
    }
    return end;
}

static inline int is(const Mark *mark, const Span *span) {
    size_t length = (size_t)(span->end - span->start);
    return mark->length == length && memcmp(mark->text, span->start, length) == 0;
}

/* A value in quotes without them, and with those within made single. */
static Verdict put_quoted(Column *column, int64_t row, const Span *span) {
    Verdict verdict = column_ready(column, row, (size_t)(span->end - span->start));
    if (verdict != TAKEN)
        return verdict;
    char *to = column->data.data + column->data.size;
    const char *end = span->end - 1;
    for (const char *at = span->start + 1; at < end; at++) {
        *to++ = *at;
        if (*at == '"' && at + 1 < end && at[1] == '"')
            at++;
    }
    column->data.size = (size_t)(to - column->data.data);
    column_end(column, row, TEXT);
    return TAKEN;
}

static Verdict put_field(Scanner *s, Column *column, int64_t row, const Span *span) {
    if (is(&s->missing, span))
        return TAKEN;
    if (is(&s->null, span))
        return column_put(column, row, span->start, 0, 0, IS_NULL);
    size_t length = (size_t)(span->end - span->start);
    if (s->quoted && length > 1 && *span->start == '"' && span->end[-1] == '"')
        return put_quoted(column, row, span);
    return column_put(column, row, span->start, length, (size_t)(s->end - span->start), TEXT);
}

/* Lines */

/* The metadata of a line; NULL if it has fewer fields. Else where its last field ends. */
static const char *metadata(Scanner *s, const char *at, const char *end) {
    for (int i = 0; i < s->head; i++) {
        if (i) {
            if (at == end)
                return NULL;
            at += s->between.length;
        }
        s->field[i].start = at;
        at = s->field[i].end = find(&s->between, at, end);
    }
    return at;
}

/* The name of the line's table, with a full stop between parts, and none behind what is empty up to there. */
static Verdict table_name(Scanner *s, Span *name) {
    static const char nothing[1];
    *name = (Span){nothing, nothing};
    if (s->name_parts)
        *name = s->field[s->name[0]];
    if (s->name_parts < 2)
        return TAKEN;
    s->name_text.size = 0;
    for (int i = 0; i < s->name_parts; i++) {
        const Span *part = &s->field[s->name[i]];
        if ((s->name_text.size && bytes_append(&s->name_text, ".", 1) < 0) ||
            bytes_append(&s->name_text, part->start, (size_t)(part->end - part->start)) < 0)
            return NO_MEMORY;
    }
    if (bytes_reserve(&s->name_text, 1) < 0)
        return NO_MEMORY;
    *name = (Span){s->name_text.data, s->name_text.data + s->name_text.size};
    return TAKEN;
}

static Table *table_named(Scanner *s, const Span *name) {
    size_t length = (size_t)(name->end - name->start);
    if (s->last < 0 || !key_is(&s->keys, s->last, name->start, length))
        s->last = keys_find(&s->keys, name->start, length);
    return s->last < 0 ? NULL : &s->tables[s->last];
}

/* The values of a line from where its metadata end. */
static Verdict values(Scanner *s, Table *table, char op, const char *at, const char *end) {
    const int exists[] = {[NOTHING] = 0,
                          [BEFORE] = op == 'U' || op == 'D',
                          [AFTER] = op == 'U' || op == 'I',
                          [VALUE] = op != 'T'};
    int64_t row = table->rows.count;
    for (int i = 0; i < table->width; i++) {
        if (at == end)
            return ODD;
        at += s->between.length;
        Span span = {at, find(&s->between, at, end)};
        const Field *field = &table->fields[i];
        if (exists[field->part]) {
            Column *columns = field->part == BEFORE ? table->rows.before : table->rows.after;
            Verdict verdict = put_field(s, &columns[field->column], row, &span);
            if (verdict != TAKEN)
                return verdict;
        }
        at = span.end;
    }
    return at == end ? TAKEN : ODD;
}

/* A line, of which `name` and `found` tell the table as far as it has come. */
static Verdict line(Scanner *s, const char *at, const char *end, int64_t ordinal, Span *name, Table **found) {
    *found = NULL;
    *name = (Span){0};
    at = metadata(s, at, end);
    if (at == NULL)
        return ODD;
    Verdict verdict = table_name(s, name);
    if (verdict != TAKEN)
        return verdict;
    Table *table = *found = table_named(s, name);
    if (table == NULL || table->binding != BOUND)
        return ODD;
    const Span *word = &s->field[s->op];
    int kind = keys_find(&s->kinds, word->start, (size_t)(word->end - word->start));
    if (kind < 0)
        return ODD;
    char op = s->letters.data[kind];
    int64_t row = table->rows.count;
    verdict = values(s, table, op, at, end);
    for (int i = 0; verdict == TAKEN && i < s->slots; i++) {
        const Span *span = &s->field[s->slot[i]];
        verdict = column_put(&table->rows.slot[i], row, span->start, (size_t)(span->end - span->start),
                             (size_t)(s->end - span->start), TEXT);
    }
    if (verdict == TAKEN)
        verdict = rows_end(&table->rows, table->rows.count, op, 0, ordinal);
    if (verdict != TAKEN)
        rows_cut(&table->rows, row);
    return verdict;
}

/* The Python object */

static int read_mark(Mark *mark, const char *text, Py_ssize_t length) {
    mark->text = malloc((size_t)length + 1);
    if (mark->text == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    memcpy(mark->text, text, (size_t)length);
    mark->length = (size_t)length;
    return 0;
}

static int read_places(const Scanner *s, PyObject *tuple, int **places, int *count) {
    *places = calloc((size_t)PyTuple_GET_SIZE(tuple) + 1, sizeof(int));
    if (*places == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); i++) {
        long place = PyLong_AsLong(PyTuple_GET_ITEM(tuple, i));
        if (place < 0 || place >= s->head || i >= MOST_HEAD) {
            if (!PyErr_Occurred())
                PyErr_SetString(PyExc_ValueError, "a place is none of the metadata");
            return -1;
        }
        (*places)[(*count)++] = (int)place;
    }
    return 0;
}

static PyObject *scanner_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
    static char *names[] = {"between", "behind", "null", "missing", "quoted", "head", "op", "name", "slots", "kinds", NULL};
    const char *between, *behind, *null, *missing;
    Py_ssize_t between_length, behind_length, null_length, missing_length;
    PyObject *name, *slots, *kinds;
    int quoted, head, op;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "y#y#y#y#piiO!O!O!", names, &between, &between_length, &behind,
                                     &behind_length, &null, &null_length, &missing, &missing_length, &quoted, &head, &op,
                                     &PyTuple_Type, &name, &PyTuple_Type, &slots, &PyDict_Type, &kinds))
        return NULL;
    if (!between_length || !behind_length || head < 1 || head > MOST_HEAD || op < 0 || op >= head) {
        PyErr_SetString(PyExc_ValueError, "an empty delimiter, or no operation type");
        return NULL;
    }
    Scanner *s = (Scanner *)type->tp_alloc(type, 0);
    if (s == NULL)
        return NULL;
    s->quoted = quoted;
    s->head = head;
    s->op = op;
    s->last = -1;
    s->field = calloc((size_t)head, sizeof(Span));
    if (s->field == NULL)
        PyErr_NoMemory();
    if (s->field == NULL || read_mark(&s->between, between, between_length) < 0 ||
        read_mark(&s->behind, behind, behind_length) < 0 || read_mark(&s->null, null, null_length) < 0 ||
        read_mark(&s->missing, missing, missing_length) < 0 || read_places(s, name, &s->name, &s->name_parts) < 0 ||
        read_places(s, slots, &s->slot, &s->slots) < 0 || keys_read_letters(&s->kinds, &s->letters, kinds) < 0) {
        Py_DECREF(s);
        return NULL;
    }
    return (PyObject *)s;
}

static void scanner_dealloc(PyObject *self) {
    Scanner *s = (Scanner *)self;
    for (int i = 0; i < s->keys.count; i++) {
        rows_free(&s->tables[i].rows);
        free(s->tables[i].fields);
    }
    free(s->tables);
    free(s->between.text);
    free(s->behind.text);
    free(s->null.text);
    free(s->missing.text);
    free(s->name);
    free(s->slot);
    free(s->field);
    keys_free(&s->keys);
    keys_free(&s->kinds);
    bytes_free(&s->letters);
    bytes_free(&s->name_text);
    bytes_free(&s->odd);
    Py_TYPE(self)->tp_free(self);
}

/* The number of a name that nothing was said of; -1, with an exception, on failure. */
static int new_table(Scanner *s, PyObject *name) {
    int known = s->keys.count;
    Table *tables = room_for_one(s->tables, (size_t)known, sizeof(Table));
    if (tables == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    s->tables = tables;
    int number = keys_add(&s->keys, PyBytes_AS_STRING(name), (size_t)PyBytes_GET_SIZE(name));
    if (number < 0) {
        PyErr_NoMemory();
        return -1;
    }
    if (number == known)
        tables[number] = (Table){0};
    if (tables[number].binding != UNKNOWN) {
        PyErr_SetString(PyExc_ValueError, "the name is bound already");
        return -1;
    }
    return number;
}

/* The fields of a table from (part, column) in a tuple. */
static int read_fields(Table *table, PyObject *fields, int columns, int both) {
    Py_ssize_t count = PyTuple_GET_SIZE(fields);
    if (count > MOST_FIELDS || columns < 0 || columns > MOST_FIELDS) {
        PyErr_SetString(PyExc_ValueError, "too many fields");
        return -1;
    }
    table->fields = calloc((size_t)count + 1, sizeof(Field));
    if (table->fields == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        int part, column;
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(fields, i), "ii", &part, &column))
            return -1;
        if (part < NOTHING || part > VALUE || column < 0 || column >= columns || (part == BEFORE && !both)) {
            PyErr_SetString(PyExc_ValueError, "a field of no column");
            return -1;
        }
        table->fields[table->width++] = (Field){(uint8_t)part, column};
    }
    return 0;
}

static PyObject *scanner_bind(PyObject *self, PyObject *args) {
    Scanner *s = (Scanner *)self;
    PyObject *name, *fields;
    int columns, both;
    if (!PyArg_ParseTuple(args, "O!O!ip", &PyBytes_Type, &name, &PyTuple_Type, &fields, &columns, &both))
        return NULL;
    int number = new_table(s, name);
    if (number < 0)
        return NULL;
    Table *table = &s->tables[number];
    if (read_fields(table, fields, columns, both) < 0 ||
        rows_make(&table->rows, both ? columns : 0, columns, s->slots) < 0) {
        free(table->fields);
        *table = (Table){0};
        return NULL;
    }
    table->binding = BOUND;
    return PyLong_FromLong(number);
}

static PyObject *scanner_refuse(PyObject *self, PyObject *name) {
    Scanner *s = (Scanner *)self;
    if (!PyBytes_Check(name)) {
        PyErr_SetString(PyExc_TypeError, "a name is bytes");
        return NULL;
    }
    int number = new_table(s, name);
    if (number < 0)
        return NULL;
    s->tables[number].binding = REFUSED;
    Py_RETURN_NONE;
}

static Table *table_numbered(Scanner *s, PyObject *number) {
    long place = PyLong_AsLong(number);
    if (place < 0 || place >= s->keys.count || s->tables[place].binding != BOUND) {
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_ValueError, "no table is bound to this number");
        return NULL;
    }
    return &s->tables[place];
}

static PyObject *scanner_rows(PyObject *self, PyObject *number) {
    Table *table = table_numbered((Scanner *)self, number);
    return table == NULL ? NULL : PyLong_FromLongLong(table->rows.count);
}

static PyObject *scanner_take(PyObject *self, PyObject *number) {
    Table *table = table_numbered((Scanner *)self, number);
    return table == NULL ? NULL : rows_take(&table->rows, NULL);
}

/* The lines from a place on. The scan ends before its time where the name of a table is met that nothing was said of. */
static PyObject *scanner_scan(PyObject *self, PyObject *args) {
    Scanner *s = (Scanner *)self;
    const char *data;
    Py_ssize_t size, place;
    long long ordinal;
    if (!PyArg_ParseTuple(args, "y#nL", &data, &size, &place, &ordinal))
        return NULL;
    if (place < 0 || place > size) {
        PyErr_SetString(PyExc_ValueError, "the place is not in the data");
        return NULL;
    }
    s->end = data + size;
    s->odd.size = 0;
    Span name = {0};
    Table *table = NULL;
    int unknown = 0;
    const char *at = data + place;
    while (at < s->end && !unknown) {
        const char *stop = find(&s->behind, at, s->end);
        Verdict verdict = is_utf8(at, stop) ? TAKEN : ODD;
        if (verdict == TAKEN) {
            verdict = line(s, at, stop, ordinal, &name, &table);
            unknown = verdict == ODD && table == NULL && name.start != NULL;
        }
        if (unknown)
            break;
        int64_t noted[3] = {ordinal, at - data, stop - data};
        if (verdict == NO_MEMORY || (verdict == ODD && bytes_append(&s->odd, noted, sizeof noted) < 0))
            return PyErr_NoMemory();
        ordinal++;
        at = stop == s->end ? stop : stop + s->behind.length;
    }
    PyObject *odd = bytes_take(&s->odd);
    if (odd == NULL)
        return NULL;
    if (unknown)
        return Py_BuildValue("(nLNy#)", at - data, ordinal, odd, name.start, (Py_ssize_t)(name.end - name.start));
    return Py_BuildValue("(nLNO)", at - data, ordinal, odd, Py_None);
}

static PyMethodDef scanner_methods[] = {
    {"bind", scanner_bind, METH_VARARGS, "bind(name, fields, columns, both_images) -> the number of the table"},
    {"refuse", scanner_refuse, METH_O, "refuse(name): lines of this name are odd"},
    {"rows", scanner_rows, METH_O, "rows(number) -> how many rows a table has"},
    {"take", scanner_take, METH_O, "take(number) -> the columns of a table, which is empty afterwards"},
    {"scan", scanner_scan, METH_VARARGS, "scan(data, place, ordinal) -> (place, ordinal, odd lines, unknown name)"},
    {NULL, NULL, 0, NULL},
};

PyTypeObject DelimitedScannerType = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "ggfmt.kernels._native.DelimitedScanner",
    .tp_doc = "Takes lines of delimited text into columns; see delimited_scan.c.",
    .tp_basicsize = sizeof(Scanner),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_new = scanner_new,
    .tp_dealloc = scanner_dealloc,
    .tp_methods = scanner_methods,
};
