/* Scanner of lines of delimited text.

   The caller binds the names of tables, as lines have them, to descriptions of their fields. A line of a bound table is
   taken if it has as many fields and a known operation type. In this format no line bears on another: an odd line does not
   end the scan, which notes its ordinal, start and end instead. The scan ends where a name is met that is not known yet. */
#include "json.h"
#include "scanner.h"
#include "search.h"

enum { MAX_HEAD = 256, MAX_FIELDS = 1 << 20 };

/* What a field is: not wanted, a value in one of two images, or a value in the only image. */
enum Part { NOTHING, BEFORE, AFTER, VALUE };

typedef struct {
    uint8_t part;
    int32_t column;
    Slice text; /* what the field must be; without a start: anything */
} Field;

typedef struct {
    Table base;
    Field *fields;
    int width; /* the number of fields */
} DelimitedTable;

typedef struct {
    Scanner base;
    Slice between; /* the delimiter between fields */
    Slice behind;  /* the delimiter behind lines */
    Slice null;
    Slice missing;
    int quoted; /* values may be in quotes, with the quotes within doubled */
    int head;   /* the number of fields of metadata */
    int op;     /* the place of the operation type among them */
    int *name;  /* the places of the parts of the table's name */
    int name_parts;
    int *slot; /* the places of the slots */
    int slots;
    OpWords ops;
    Slice *label;    /* what every other field of the metadata must be, from the first on; NULL for anything */
    Slice *field;    /* of the line's metadata */
    const char *end; /* of the data */
} DelimitedScanner;

/* Fields */

/* The field from a place to the next delimiter, or to the end. */
static inline Slice field_at(const Slice *delimiter, const char *at, const char *end) {
    const char *found = search(at, end, delimiter->start, delimiter->length);
    return (Slice){at, (size_t)((found == NULL ? end : found) - at)};
}

/* Puts a value in quotes, without the quotes, and with doubled ones within made single. */
static Verdict put_quoted(Column *column, int64_t row, const Slice *field) {
    Verdict verdict = column_ready(column, row, field->length);
    if (verdict != TAKEN)
        return verdict;
    char *to = column->data.data + column->data.size;
    const char *end = field->start + field->length - 1;
    for (const char *at = field->start + 1; at < end; at += *at == '"' && at + 1 < end && at[1] == '"' ? 2 : 1)
        *to++ = *at;
    column->data.size = (size_t)(to - column->data.data);
    column_end(column, row, TEXT);
    return TAKEN;
}

static Verdict put_field(DelimitedScanner *s, Column *column, int64_t row, const Slice *field) {
    if (slice_is(field, s->missing.start, s->missing.length))
        return TAKEN;
    if (slice_is(field, s->null.start, s->null.length))
        return column_put(column, row, field->start, 0, 0, IS_NULL);
    int starts = s->quoted && field->length && *field->start == '"';
    int ends = s->quoted && field->length && field->start[field->length - 1] == '"';
    if (starts || ends) /* one quote alone is a part of a value that contains the delimiter */
        return starts && ends && field->length > 1 ? put_quoted(column, row, field) : ODD;
    return column_put(column, row, field->start, field->length, (size_t)(s->end - field->start), TEXT);
}

/* Lines */

/* The name of the line's table, with a full stop in front of each part, unless all parts before it are empty. */
static Verdict table_name(DelimitedScanner *s, Slice *name) {
    Bytes *text = &s->base.text;
    *name = s->name_parts ? s->field[s->name[0]] : (Slice){"", 0};
    if (s->name_parts < 2)
        return TAKEN;
    text->size = 0;
    for (int i = 0; i < s->name_parts; i++) {
        const Slice *part = &s->field[s->name[i]];
        if ((text->size && bytes_append(text, ".", 1) < 0) || bytes_append(text, part->start, part->length) < 0)
            return NO_MEMORY;
    }
    *name = (Slice){text->data == NULL ? "" : text->data, text->size};
    return TAKEN;
}

/* Takes the values of a line, from where its metadata end. */
static Verdict values(DelimitedScanner *s, DelimitedTable *table, char op, const char *at, const char *end) {
    const int exists[] = {[NOTHING] = 0,
                          [BEFORE] = op == 'U' || op == 'D',
                          [AFTER] = op == 'U' || op == 'I',
                          [VALUE] = op != 'T'};
    for (int i = 0; i < table->width; i++) {
        if (at == end)
            return ODD;
        const Slice text = field_at(&s->between, at + s->between.length, end);
        const Field *field = &table->fields[i];
        if (field->text.start != NULL && !slice_is(&text, field->text.start, field->text.length))
            return ODD;
        if (exists[field->part]) {
            Column *columns = field->part == BEFORE ? table->base.rows.before : table->base.rows.after;
            Verdict verdict = put_field(s, &columns[field->column], s->base.row, &text);
            if (verdict != TAKEN)
                return verdict;
        }
        at = text.start + text.length;
    }
    return at == end ? TAKEN : ODD;
}

/* Takes a line, without the delimiter behind it. */
static Verdict line(DelimitedScanner *s, const char *at, const char *end, int64_t ordinal) {
    Scanner *base = &s->base;
    Slice name;
    if (!is_utf8(at, end))
        return ODD;
    for (int i = 0; i < s->head; i++) {
        if (i && at == end)
            return ODD;
        s->field[i] = field_at(&s->between, at + (i ? s->between.length : 0), end);
        at = s->field[i].start + s->field[i].length;
        if (s->label && i % 2 == 0 && !slice_is(&s->field[i], s->label[i / 2].start, s->label[i / 2].length))
            return ODD;
    }
    Verdict verdict = table_name(s, &name);
    if (verdict == TAKEN)
        verdict = scanner_find(base, name.start, name.length);
    if (verdict != TAKEN)
        return verdict;
    DelimitedTable *table = (DelimitedTable *)base->table;
    Rows *rows = &table->base.rows;
    char op = op_letter(&s->ops, s->field[s->op].start, s->field[s->op].length);
    verdict = op ? values(s, table, op, at, end) : ODD;
    for (int i = 0; verdict == TAKEN && i < s->slots; i++) {
        const Slice *text = &s->field[s->slot[i]];
        verdict = column_put(&rows->slot[i], base->row, text->start, text->length, (size_t)(s->end - text->start), TEXT);
    }
    return verdict == TAKEN ? rows_end(rows, base->row, op, 0, ordinal) : verdict;
}

/* Takes a line and the delimiter behind it. Notes an odd line, unless it is odd because its table is unknown. */
static Verdict record(Scanner *base, const char **place, const char *end, int64_t ordinal) {
    DelimitedScanner *s = (DelimitedScanner *)base;
    const Slice text = field_at(&s->behind, *place, end);
    const char *at = text.start, *stop = at + text.length;
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

static int read_places(DelimitedScanner *s, PyObject *tuple, int **places, int *count) {
    *places = memory_make(&s->base.memory, (size_t)PyTuple_Size(tuple), sizeof(int));
    if (*places == NULL)
        return -1;
    for (Py_ssize_t i = 0; i < PyTuple_Size(tuple); i++) {
        long place = PyLong_AsLong(PyTuple_GetItem(tuple, i));
        if (place < 0 || place >= s->head || i >= MAX_HEAD)
            return PyErr_Occurred() ? -1 : refuse("a place is none of the metadata");
        (*places)[(*count)++] = (int)place;
    }
    return 0;
}

static int make(Scanner *base, PyObject *args, PyObject *keywords) {
    static char *names[] = {"between", "behind", "null", "missing", "quoted", "head", "op", "name", "slots",
                            "kinds",   "labels", NULL};
    DelimitedScanner *s = (DelimitedScanner *)base;
    PyObject *between, *behind, *null, *missing, *name, *slots, *kinds, *labels = NULL;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "SSSSpiiO!O!O!|O!", names, &between, &behind, &null, &missing, &s->quoted,
                                     &s->head, &s->op, &PyTuple_Type, &name, &PyTuple_Type, &slots, &PyDict_Type, &kinds,
                                     &PyTuple_Type, &labels))
        return -1;
    Py_ssize_t count = labels == NULL ? 0 : PyTuple_Size(labels);
    if (count && count * 2 != s->head)
        return refuse("labels of other fields");
    if (!PyBytes_Size(between) || !PyBytes_Size(behind) || s->head < 1 || s->head > MAX_HEAD || s->op < 0 ||
        s->op >= s->head)
        return refuse("an empty delimiter, or no operation type");
    Memory *memory = &base->memory;
    s->field = memory_make(memory, (size_t)s->head, sizeof(Slice));
    if (s->field == NULL || text_read(memory, between, &s->between) < 0 || text_read(memory, behind, &s->behind) < 0 ||
        text_read(memory, null, &s->null) < 0 || text_read(memory, missing, &s->missing) < 0 ||
        read_places(s, name, &s->name, &s->name_parts) < 0 || read_places(s, slots, &s->slot, &s->slots) < 0 ||
        (count && (s->label = memory_make(memory, (size_t)count, sizeof(Slice))) == NULL))
        return -1;
    for (Py_ssize_t i = 0; i < count; i++)
        if (text_read(memory, PyTuple_GetItem(labels, i), &s->label[i]) < 0)
            return -1;
    return op_words_read(&s->ops, memory, kinds);
}

/* Makes a table from (part, column) or (part, column, text) of each field, the number of columns, and whether lines have both images. */
static int make_table(Scanner *base, Table *base_table, int Py_UNUSED(key), PyObject *description) {
    DelimitedTable *table = (DelimitedTable *)base_table;
    PyObject *fields;
    int columns, both;
    if (!PyArg_ParseTuple(description, "O!ip", &PyTuple_Type, &fields, &columns, &both))
        return -1;
    Py_ssize_t count = PyTuple_Size(fields);
    if (count > MAX_FIELDS || columns < 0 || columns > MAX_FIELDS)
        return refuse("too many fields");
    table->fields = memory_make(&table->base.memory, (size_t)count, sizeof(Field));
    if (table->fields == NULL)
        return -1;
    for (Py_ssize_t i = 0; i < count; i++) {
        int part, column;
        PyObject *text = NULL;
        if (!PyArg_ParseTuple(PyTuple_GetItem(fields, i), "ii|S", &part, &column, &text))
            return -1;
        if (part < NOTHING || part > VALUE || column < 0 || column >= columns || (part == BEFORE && !both))
            return refuse("a field of no column");
        table->fields[i] = (Field){(uint8_t)part, column, {0}};
        if (text != NULL && text_read(&table->base.memory, text, &table->fields[i].text) < 0)
            return -1;
        table->width++;
    }
    return rows_make(&table->base.rows, &table->base.memory, both ? columns : 0, columns, ((DelimitedScanner *)base)->slots);
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
    .make_table = make_table,
    .record = record,
};
