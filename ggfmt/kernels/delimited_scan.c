/* Scanner of lines of delimited text.

   The caller binds the names of tables, as lines have them, to descriptions of their fields. A line of a bound table is
   taken if it has as many fields and a known operation type. In this format no line bears on another: an odd line does not
   end the scan, which notes its ordinal, start and end instead. The scan ends where a name is met that is not known yet. */
#include "json.h"
#include "scanner.h"

#include <stdlib.h>

enum { MAX_HEAD = 256, MAX_FIELDS = 1 << 20 };

/* What a field is: not wanted, a value in one of two images, or a value in the only image. */
enum Part { NOTHING, BEFORE, AFTER, VALUE };

typedef struct {
    uint8_t part;
    int32_t column;
} Field;

typedef struct {
    Table base;
    Field *fields;
    int width; /* the number of fields */
} DelimitedTable;

typedef struct {
    const char *start;
    const char *end;
} Span;

typedef struct {
    Scanner base;
    OwnText between; /* the delimiter between fields */
    OwnText behind;  /* the delimiter behind lines */
    OwnText null;
    OwnText missing;
    int quoted; /* values may be in quotes, with the quotes within doubled */
    int head;   /* the number of fields of metadata */
    int op;     /* the place of the operation type among them */
    int *name;  /* the places of the parts of the table's name */
    int name_parts;
    int *slot; /* the places of the slots */
    int slots;
    OpWords ops;
    Bytes name_text; /* a name in several parts */
    Span *field;     /* of the line's metadata */
    const char *end; /* of the data */
} DelimitedScanner;

/* Fields */

/* The next place of a mark; `end` if there is none. */
static inline const char *find(const OwnText *mark, const char *at, const char *end) {
    if (mark->length == 1) {
        const char *found = memchr(at, mark->data[0], (size_t)(end - at));
        return found == NULL ? end : found;
    }
    while ((size_t)(end - at) >= mark->length) {
        at = memchr(at, mark->data[0], (size_t)(end - at) - mark->length + 1);
        if (at == NULL)
            return end;
        if (memcmp(at, mark->data, mark->length) == 0)
            return at;
        at++;
    }
    return end;
}

static inline int is(const OwnText *mark, const Span *span) {
    return own_text_is(mark, span->start, (size_t)(span->end - span->start));
}

/* Puts a value in quotes, without the quotes, and with doubled ones within made single. */
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

static Verdict put_field(DelimitedScanner *s, Column *column, int64_t row, const Span *span) {
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

/* Finds the metadata of a line. Returns where its last field ends, NULL if the line has fewer fields. */
static const char *metadata(DelimitedScanner *s, const char *at, const char *end) {
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

/* The name of the line's table, with a full stop in front of each part, unless all parts before it are empty. */
static Verdict table_name(DelimitedScanner *s, Span *name) {
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

/* Takes the values of a line, from where its metadata end. */
static Verdict values(DelimitedScanner *s, DelimitedTable *table, char op, const char *at, const char *end) {
    const int exists[] = {[NOTHING] = 0,
                          [BEFORE] = op == 'U' || op == 'D',
                          [AFTER] = op == 'U' || op == 'I',
                          [VALUE] = op != 'T'};
    int64_t row = table->base.rows.count;
    for (int i = 0; i < table->width; i++) {
        if (at == end)
            return ODD;
        at += s->between.length;
        Span span = {at, find(&s->between, at, end)};
        const Field *field = &table->fields[i];
        if (exists[field->part]) {
            Column *columns = field->part == BEFORE ? table->base.rows.before : table->base.rows.after;
            Verdict verdict = put_field(s, &columns[field->column], row, &span);
            if (verdict != TAKEN)
                return verdict;
        }
        at = span.end;
    }
    return at == end ? TAKEN : ODD;
}

/* Takes a line, without the delimiter behind it. */
static Verdict line(DelimitedScanner *s, const char *at, const char *end, int64_t ordinal) {
    Scanner *base = &s->base;
    Span name;
    if (!is_utf8(at, end) || (at = metadata(s, at, end)) == NULL)
        return ODD;
    Verdict verdict = table_name(s, &name);
    if (verdict == TAKEN)
        verdict = scanner_find(base, name.start, (size_t)(name.end - name.start));
    if (verdict != TAKEN)
        return verdict;
    DelimitedTable *table = (DelimitedTable *)base->table;
    const Span *word = &s->field[s->op];
    char op = op_letter(&s->ops, word->start, (size_t)(word->end - word->start));
    if (!op)
        return ODD;
    verdict = values(s, table, op, at, end);
    for (int i = 0; verdict == TAKEN && i < s->slots; i++) {
        const Span *span = &s->field[s->slot[i]];
        verdict = column_put(&table->base.rows.slot[i], base->row, span->start, (size_t)(span->end - span->start),
                             (size_t)(s->end - span->start), TEXT);
    }
    return verdict == TAKEN ? rows_end(&table->base.rows, base->row, op, 0, ordinal) : verdict;
}

/* Takes a line and the delimiter behind it. Notes an odd line, unless it is odd because its table is unknown. */
static Verdict record(Scanner *base, const char **place, const char *end, int64_t ordinal) {
    DelimitedScanner *s = (DelimitedScanner *)base;
    const char *at = *place, *stop = find(&s->behind, at, end);
    s->end = end;
    Verdict verdict = line(s, at, stop, ordinal);
    if (verdict == ODD && !base->is_unbound) {
        int64_t noted[3] = {ordinal, at - base->data, stop - base->data};
        if (base->table != NULL)
            rows_cut(&base->table->rows, base->row);
        verdict = bytes_append(&base->notes, noted, sizeof noted) < 0 ? NO_MEMORY : TAKEN;
    }
    *place = stop == end ? stop : stop + s->behind.length;
    return verdict;
}

/* The scanner */

static int read_places(const DelimitedScanner *s, PyObject *tuple, int **places, int *count) {
    *places = calloc((size_t)PyTuple_Size(tuple) + 1, sizeof(int));
    if (*places == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t i = 0; i < PyTuple_Size(tuple); i++) {
        long place = PyLong_AsLong(PyTuple_GetItem(tuple, i));
        if (place < 0 || place >= s->head || i >= MAX_HEAD)
            return PyErr_Occurred() ? -1 : refuse("a place is none of the metadata");
        (*places)[(*count)++] = (int)place;
    }
    return 0;
}

static int make(Scanner *base, PyObject *args, PyObject *keywords) {
    static char *names[] = {"between", "behind", "null", "missing", "quoted", "head", "op", "name", "slots", "kinds", NULL};
    DelimitedScanner *s = (DelimitedScanner *)base;
    PyObject *between, *behind, *null, *missing, *name, *slots, *kinds;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "SSSSpiiO!O!O!", names, &between, &behind, &null, &missing, &s->quoted,
                                     &s->head, &s->op, &PyTuple_Type, &name, &PyTuple_Type, &slots, &PyDict_Type, &kinds))
        return -1;
    if (!PyBytes_Size(between) || !PyBytes_Size(behind) || s->head < 1 || s->head > MAX_HEAD || s->op < 0 ||
        s->op >= s->head)
        return refuse("an empty delimiter, or no operation type");
    s->field = calloc((size_t)s->head, sizeof(Span));
    if (s->field == NULL)
        PyErr_NoMemory();
    if (s->field == NULL || own_text_read(&s->between, between) < 0 || own_text_read(&s->behind, behind) < 0 ||
        own_text_read(&s->null, null) < 0 || own_text_read(&s->missing, missing) < 0 ||
        read_places(s, name, &s->name, &s->name_parts) < 0 || read_places(s, slots, &s->slot, &s->slots) < 0)
        return -1;
    return op_words_read(&s->ops, kinds);
}

static void free_scanner(Scanner *base) {
    DelimitedScanner *s = (DelimitedScanner *)base;
    free(s->between.data);
    free(s->behind.data);
    free(s->null.data);
    free(s->missing.data);
    free(s->name);
    free(s->slot);
    free(s->field);
    op_words_free(&s->ops);
    bytes_free(&s->name_text);
}

/* Makes a table from (part, column) of each field, the number of columns, and whether lines have both images. */
static int make_table(Scanner *base, Table *base_table, int Py_UNUSED(key), PyObject *description) {
    DelimitedTable *table = (DelimitedTable *)base_table;
    PyObject *fields;
    int columns, both;
    if (!PyArg_ParseTuple(description, "O!ip", &PyTuple_Type, &fields, &columns, &both))
        return -1;
    Py_ssize_t count = PyTuple_Size(fields);
    if (count > MAX_FIELDS || columns < 0 || columns > MAX_FIELDS)
        return refuse("too many fields");
    table->fields = calloc((size_t)count + 1, sizeof(Field));
    if (table->fields == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        int part, column;
        if (!PyArg_ParseTuple(PyTuple_GetItem(fields, i), "ii", &part, &column))
            return -1;
        if (part < NOTHING || part > VALUE || column < 0 || column >= columns || (part == BEFORE && !both))
            return refuse("a field of no column");
        table->fields[table->width++] = (Field){(uint8_t)part, column};
    }
    return rows_make(&table->base.rows, both ? columns : 0, columns, ((DelimitedScanner *)base)->slots);
}

static void free_table(Table *table) {
    free(((DelimitedTable *)table)->fields);
}

static PyObject *scanner_refuse(PyObject *self, PyObject *name) {
    Scanner *s = (Scanner *)self;
    int key = scanner_key(s, name);
    if (key < 0)
        return NULL;
    s->bindings[key].table = REFUSED;
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"refuse", scanner_refuse, METH_O, "refuse(name): lines of this name are odd"},
    {NULL, NULL, 0, NULL},
};

ScannerKind delimited_scanner = {
    SCANNER_TYPE("DelimitedScanner", sizeof(DelimitedScanner), methods,
                 "Takes lines of delimited text into columns; see delimited_scan.c."),
    .table_size = sizeof(DelimitedTable),
    .make = make,
    .free = free_scanner,
    .make_table = make_table,
    .free_table = free_table,
    .record = record,
};
