#include "scanner.h"

#include <stdlib.h>

int scanner_idle(const Scanner *s) {
    if (s->is_busy)
        PyErr_SetString(PyExc_RuntimeError, "the scanner is in use by another thread");
    return !s->is_busy;
}

/* Tables and identities */

static Table *table_at(const Scanner *s, int number) {
    return (Table *)(void *)(s->tables + (size_t)number * s->kind->table_size);
}

int scanner_number(const Scanner *s, const Table *table) {
    return (int)((size_t)((const char *)table - s->tables) / s->kind->table_size);
}

static void empty_table(const Scanner *s, Table *table) {
    if (s->kind->free_table != NULL)
        s->kind->free_table(table);
    rows_free(&table->rows);
    memory_free(&table->memory);
    memset(table, 0, s->kind->table_size);
}

/* The number of a table of zeros; -1, with an exception, on failure. */
static int free_number(Scanner *s) {
    for (; s->first_free < s->table_count; s->first_free++)
        if (!table_at(s, s->first_free)->is_bound)
            return s->first_free;
    char *tables = room_for_one(s->tables, (size_t)s->table_count, s->kind->table_size);
    if (tables == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    s->tables = tables;
    memset(table_at(s, s->table_count), 0, s->kind->table_size);
    return s->table_count++;
}

int scanner_key(Scanner *s, PyObject *identity) {
    if (!scanner_idle(s))
        return -1;
    if (!PyBytes_Check(identity)) {
        PyErr_SetString(PyExc_TypeError, "an identity is bytes");
        return -1;
    }
    int known = s->keys.count;
    Binding *bindings = room_for_one(s->bindings, (size_t)known, sizeof(Binding));
    if (bindings == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    s->bindings = bindings;
    int key = keys_find(&s->keys, PyBytes_AsString(identity), (size_t)PyBytes_Size(identity));
    if (key < 0 && (key = keys_append(&s->keys, &s->memory, identity)) == known)
        bindings[key] = (Binding){UNBOUND, -1, NULL};
    return key >= 0 && bindings[key].table != UNBOUND ? refuse("the identity is bound already") : key;
}

void scanner_bind_key(Scanner *s, int key, int number) {
    Table *table = table_at(s, number);
    s->bindings[key].table = number;
    s->bindings[key].next = table->first_key;
    table->first_key = key;
}

Table *scanner_table(Scanner *s, PyObject *number) {
    long place = PyLong_AsLong(number);
    if (place >= 0 && place < s->table_count && table_at(s, (int)place)->is_bound)
        return table_at(s, (int)place);
    if (!PyErr_Occurred())
        refuse("no table is bound to this number");
    return NULL;
}

Table *scanner_last_table(const Scanner *s) {
    return s->last < 0 || s->bindings[s->last].table < 0 ? NULL : table_at(s, s->bindings[s->last].table);
}

Verdict scanner_find(Scanner *s, const char *identity, size_t length) {
    if (scanner_last_table(s) == NULL || !key_is(&s->keys, s->last, identity, length)) {
        int key = keys_find(&s->keys, identity, length), number = key < 0 ? UNBOUND : s->bindings[key].table;
        s->last = number < 0 ? -1 : key;
        if (number == REFUSED)
            return ODD;
        if (number == UNBOUND) {
            s->is_unbound = 1;
            if (identity == s->identity.data)
                return ODD;
            s->identity.size = 0;
            return bytes_append(&s->identity, identity, length) < 0 ? NO_MEMORY : ODD;
        }
    }
    scanner_use(s, scanner_last_table(s));
    return TAKEN;
}

/* Words and rules of operations */

int op_words_read(OpWords *ops, Memory *memory, PyObject *dict) {
    PyObject *word, *letter;
    Py_ssize_t place = 0;
    if (PyDict_Size(dict) > MAX_OP_WORDS)
        return refuse("too many operation types");
    while (PyDict_Next(dict, &place, &word, &letter)) {
        int number = keys_append(&ops->words, memory, word);
        if (number < 0 || !PyArg_Parse(letter, "c", &ops->letters[number]))
            return -1;
        ops->letters[number] &= 127;
    }
    return 0;
}

int image_rules_read(ImageRules *rules, PyObject *dict) {
    PyObject *letter, *rule;
    Py_ssize_t place = 0;
    while (PyDict_Next(dict, &place, &letter, &rule)) {
        int before, after;
        char read;
        if (!PyArg_Parse(letter, "c", &read) || !PyArg_ParseTuple(rule, "ii", &before, &after))
            return -1;
        rules->of[read & 127][0] = (signed char)before;
        rules->of[read & 127][1] = (signed char)after;
    }
    return 0;
}

/* The Python object */

PyObject *scanner_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
    Scanner *s = (Scanner *)PyType_GenericAlloc(type, 0);
    if (s == NULL)
        return NULL;
    ScannerKind *const *kind = scanner_kinds;
    while ((*kind)->type != type)
        kind++;
    s->kind = *kind;
    s->last = -1;
    if (s->kind->make(s, args, keywords) < 0)
        Py_CLEAR(s);
    return (PyObject *)s;
}

void scanner_dealloc(PyObject *self) {
    Scanner *s = (Scanner *)self;
    for (int i = 0; i < s->table_count; i++)
        empty_table(s, table_at(s, i));
    if (s->kind->free != NULL)
        s->kind->free(s);
    free(s->tables);
    free(s->bindings);
    memory_free(&s->memory);
    bytes_free(&s->identity);
    bytes_free(&s->text);
    bytes_free(&s->notes);
    free_object(self);
}

static PyObject *scanner_bind(PyObject *self, PyObject *args) {
    Scanner *s = (Scanner *)self;
    if (PyTuple_Size(args) == 0) {
        PyErr_SetString(PyExc_TypeError, "bind takes an identity");
        return NULL;
    }
    int key = scanner_key(s, PyTuple_GetItem(args, 0)), number = key < 0 ? -1 : free_number(s);
    PyObject *description = number < 0 ? NULL : PyTuple_GetSlice(args, 1, PyTuple_Size(args));
    if (description == NULL)
        return NULL;
    Table *table = table_at(s, number);
    int made = s->kind->make_table(s, table, key, description);
    Py_DECREF(description);
    if (made < 0) {
        empty_table(s, table);
        return NULL;
    }
    table->is_bound = 1;
    table->first_key = -1;
    scanner_bind_key(s, key, number);
    return PyLong_FromLong(number);
}

static PyObject *scanner_unbind(PyObject *self, PyObject *number) {
    Scanner *s = (Scanner *)self;
    Table *table = scanner_idle(s) ? scanner_table(s, number) : NULL;
    if (table == NULL || table->rows.count)
        return table == NULL ? NULL : refused("the table has rows that nobody took");
    for (int key = table->first_key; key >= 0; key = s->bindings[key].next)
        s->bindings[key].table = UNBOUND;
    empty_table(s, table);
    if (scanner_number(s, table) < s->first_free)
        s->first_free = scanner_number(s, table);
    Py_RETURN_NONE;
}

static PyObject *scanner_limit(PyObject *self, PyObject *args) {
    PyObject *number;
    long long rows;
    if (!PyArg_ParseTuple(args, "OL", &number, &rows))
        return NULL;
    Table *table = scanner_table((Scanner *)self, number);
    if (table == NULL)
        return NULL;
    table->max_rows = rows < 0 ? 0 : rows;
    Py_RETURN_NONE;
}

static PyObject *scanner_rows(PyObject *self, PyObject *number) {
    Table *table = scanner_table((Scanner *)self, number);
    return table == NULL ? NULL : PyLong_FromLongLong(table->rows.count);
}

static PyObject *scanner_largest(PyObject *self, PyObject *Py_UNUSED(none)) {
    const Scanner *s = (Scanner *)self;
    int64_t rows = 0;
    for (int i = 0; i < s->table_count; i++)
        if (table_at(s, i)->rows.count > rows)
            rows = table_at(s, i)->rows.count;
    return PyLong_FromLongLong(rows);
}

static PyObject *scanner_route(PyObject *self, PyObject *Py_UNUSED(none)) {
    ((Scanner *)self)->routes = 1;
    Py_RETURN_NONE;
}

static PyObject *scanner_take(PyObject *self, PyObject *number) {
    Table *table = scanner_idle((Scanner *)self) ? scanner_table((Scanner *)self, number) : NULL;
    return table == NULL ? NULL : rows_take(&table->rows, table->only_before);
}

/* The loop over records */

typedef struct {
    Py_ssize_t taken;
    int full; /* the table that has as many rows as its limit, -1 for none */
    Verdict verdict;
} Progress;

/* A note of a scan that routes has the place of a record in the bits below this one. Above them it has 0 for a record
   without a table, else one more than the number of its table. */
enum { TABLE_SHIFT = 40 };

static int note_table(Scanner *s, const char *start) {
    int64_t table = s->table == NULL ? 0 : scanner_number(s, s->table) + 1, note = (start - s->data) | table << TABLE_SHIFT;
    return bytes_append(&s->notes, &note, sizeof note);
}

static const char *skip(const Scanner *s, const char *at, const char *end) {
    return s->kind->skip == NULL ? at : s->kind->skip(at, end);
}

/* Takes a record and what may follow it. Of a record that is not taken nothing stays in the columns. */
static void take_record(Scanner *s, const char **place, const char *end, int64_t ordinal, Progress *progress) {
    const char *at = *place;
    s->table = NULL;
    s->is_unbound = 0;
    Verdict verdict = s->kind->record(s, &at, end, ordinal + progress->taken);
    if (verdict == TAKEN) {
        if (at == *place) /* a record without bytes could be there without end */
            verdict = ODD;
        at = skip(s, at, end);
        if (s->in_span && at != end)
            verdict = ODD;
    }
    if (verdict == TAKEN && s->routes && note_table(s, *place) < 0)
        verdict = NO_MEMORY;
    progress->verdict = verdict;
    if (verdict != TAKEN) {
        if (s->table != NULL)
            rows_cut(&s->table->rows, s->row);
        return;
    }
    *place = at;
    progress->taken++;
    if (s->table != NULL && s->table->max_rows && s->table->rows.count >= s->table->max_rows)
        progress->full = scanner_number(s, s->table);
}

/* Starts a scan of data with a context; -1, with an exception, on failure. */
static int begin(Scanner *s, const Py_buffer *data, int in_span, PyObject *context) {
    if (!scanner_idle(s))
        return -1;
    s->data = data->buf;
    s->in_span = in_span;
    s->notes.size = 0;
    return s->kind->begin == NULL ? 0 : s->kind->begin(s, context);
}

static PyObject *scan_result(Scanner *s, const Progress *progress, Py_ssize_t place) {
    if (progress->verdict == NO_MEMORY)
        return PyErr_NoMemory();
    PyObject *notes = bytes_take(&s->notes);
    if (notes == NULL)
        return NULL;
    const char *identity = s->identity.data == NULL ? "" : s->identity.data;
    if (progress->verdict == TAKEN || !s->is_unbound)
        identity = NULL; /* None for Python */
    return Py_BuildValue("nniNy#", progress->taken, place, progress->full, notes, identity, (Py_ssize_t)s->identity.size);
}

static PyObject *scanner_scan(PyObject *self, PyObject *args) {
    Scanner *s = (Scanner *)self;
    Py_buffer data;
    Py_ssize_t place, most;
    long long ordinal;
    PyObject *context = Py_None, *result = NULL;
    if (!PyArg_ParseTuple(args, "y*nnL|O", &data, &place, &most, &ordinal, &context))
        return NULL;
    if (place < 0 || place > data.len) {
        refuse("the place is not in the data");
    } else if (begin(s, &data, 0, context) == 0) {
        const char *end = s->data + data.len, *at = skip(s, s->data + place, end);
        Progress progress = {.full = -1, .verdict = TAKEN};
        s->is_busy = s->kind->without_python;
        PyThreadState *state = s->is_busy ? PyEval_SaveThread() : NULL; /* other threads may run meanwhile */
        while (at < end && (most < 0 || progress.taken < most) && progress.verdict == TAKEN && progress.full < 0)
            take_record(s, &at, end, ordinal, &progress);
        if (state != NULL)
            PyEval_RestoreThread(state);
        s->is_busy = 0;
        result = scan_result(s, &progress, (Py_ssize_t)(at - s->data));
    }
    PyBuffer_Release(&data);
    return result;
}

static PyObject *scanner_scan_spans(PyObject *self, PyObject *args) {
    Scanner *s = (Scanner *)self;
    Py_buffer data, spans;
    Py_ssize_t span;
    long long ordinal;
    PyObject *context = Py_None, *result = NULL;
    if (!PyArg_ParseTuple(args, "y*y*nL|O", &data, &spans, &span, &ordinal, &context))
        return NULL;
    Py_ssize_t count = spans.len / (2 * (Py_ssize_t)sizeof(int64_t)), place = data.len;
    Progress progress = {.full = -1, .verdict = TAKEN};
    int failed = span < 0 ? refuse("the first span is not in the data") : begin(s, &data, 1, context);
    for (; !failed && span < count && progress.verdict == TAKEN && progress.full < 0; span++) {
        int64_t border[2];
        memcpy(border, (const char *)spans.buf + 2 * (size_t)span * sizeof(int64_t), sizeof border);
        if (border[0] < 0 || border[1] < border[0] || border[1] > data.len) {
            failed = refuse("a span is not in the data");
        } else {
            const char *end = s->data + border[1], *at = skip(s, s->data + border[0], end);
            take_record(s, &at, end, ordinal, &progress);
            place = progress.verdict == TAKEN ? data.len : (Py_ssize_t)border[0];
        }
    }
    if (!failed)
        result = scan_result(s, &progress, place);
    PyBuffer_Release(&data);
    PyBuffer_Release(&spans);
    return result;
}

static PyMethodDef scanner_methods[] = {
    {"bind", scanner_bind, METH_VARARGS, "bind(identity, ...) -> the number of a table, which has no rows"},
    {"unbind", scanner_unbind, METH_O, "unbind(number): records of the table are odd from now on"},
    {"limit", scanner_limit, METH_VARARGS, "limit(number, rows): a scan ends when the table has so many rows; 0: no limit"},
    {"rows", scanner_rows, METH_O, "rows(number) -> the number of rows of a table"},
    {"largest", scanner_largest, METH_NOARGS, "largest() -> the number of rows of the table with the most"},
    {"route", scanner_route, METH_NOARGS, "route(): scans only note the table of each record from now on"},
    {"take", scanner_take, METH_O, "take(number) -> the columns of a table, which is empty afterwards"},
    {"scan", scanner_scan, METH_VARARGS,
     "scan(data, place, most, ordinal[, context]) -> (taken, place, full table, notes, unbound identity)"},
    {"scan_spans", scanner_scan_spans, METH_VARARGS,
     "scan_spans(data, spans, first, ordinal[, context]) -> as scan, of records with a span of bytes each"},
    {NULL, NULL, 0, NULL},
};

PyMethodDef no_methods[] = {{NULL, NULL, 0, NULL}};

static PyType_Slot scanner_slots[] = {
    {Py_tp_doc, "Takes records of changes into columns; see scanner.h."},
    {Py_tp_dealloc, (void *)scanner_dealloc},
    {Py_tp_methods, scanner_methods},
    {0, NULL},
};

PyType_Spec scanner_spec = {
    .name = "ggfmt.kernels._native.Scanner",
    .basicsize = sizeof(Scanner),
    .flags = INTERNAL_TYPE | Py_TPFLAGS_BASETYPE,
    .slots = scanner_slots,
};
