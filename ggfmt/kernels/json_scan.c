/* Records of changes in JSON, taken into columns in one pass over their bytes.

   A record is a JSON object whose members are known: a tree of names tells for each what it is. Some members make up the
   record's identity, which decides on its table and on the names of the columns: the caller binds identities to tables.
   Where the identity comes behind the images, they are passed over and looked at again at the end of the record.

   Nothing is decided here that the exact reader has an opinion on: a record with anything out of the ordinary is ODD,
   leaves no trace in the columns, and ends the scan, so that the caller can have it read and go on behind it. */
#include "json_scan.h"

#include <stdlib.h>

static PyObject *scanner_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
    static char *names[] = {"members", "ops", "rules", "row_only", "key_updates", "row_token", NULL};
    PyObject *members, *ops, *rules, *row_token;
    int row_only, key_updates;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O!O!O!ppO", names, &PyTuple_Type, &members, &PyDict_Type, &ops,
                                     &PyDict_Type, &rules, &row_only, &key_updates, &row_token))
        return NULL;
    Scanner *s = (Scanner *)type->tp_alloc(type, 0);
    if (s == NULL)
        return NULL;
    s->row_only = row_only;
    s->key_updates = key_updates;
    s->last = -1;
    if (scan_read_members(s, &s->root, members, 0) < 0 || scan_read_ops(s, ops) < 0 || scan_read_rules(s, rules) < 0 ||
        scan_copy_text(row_token, &s->row_token) < 0) {
        Py_DECREF(s);
        return NULL;
    }
    return (PyObject *)s;
}

static void scanner_dealloc(PyObject *self) {
    Scanner *s = (Scanner *)self;
    for (int i = 0; i < s->table_count; i++)
        scan_table_free(&s->tables[i]);
    for (int i = 0; i < s->op_count; i++) {
        free(s->ops[i].from);
        free(s->ops[i].token.data);
        free(s->ops[i].token_text.data);
    }
    for (int i = 0; i < s->key_count; i++) {
        free(s->keys[i].data);
        free(s->keys[i].parts);
        free(s->keys[i].states);
    }
    free(s->keys);
    free(s->row_token.data);
    free(s->ops);
    free(s->tables);
    free(s->index);
    scan_node_free(&s->root);
    bytes_free(&s->identity);
    bytes_free(&s->names);
    bytes_free(&s->texts);
    Py_TYPE(self)->tp_free(self);
}

static PyObject *scanner_bind(PyObject *self, PyObject *args) {
    Scanner *s = (Scanner *)self;
    PyObject *identity, *names, *keys, *takes, *states;
    if (!PyArg_ParseTuple(args, "O!O!O!OO", &PyBytes_Type, &identity, &PyTuple_Type, &names, &PyTuple_Type, &keys, &takes,
                          &states))
        return NULL;
    int key = scan_key_number(s, identity);
    if (key < 0)
        return NULL;
    if (s->keys[key].table >= 0) {
        PyErr_SetString(PyExc_ValueError, "the identity is bound already");
        return NULL;
    }
    int number = scan_free_table(s);
    if (number < 0)
        return NULL;
    if (scan_make_columns(s, &s->tables[number], names, keys, takes) < 0 ||
        scan_set_states(s, key, states, &s->tables[number]) < 0) {
        scan_table_free(&s->tables[number]);
        return NULL;
    }
    s->tables[number].bound = 1;
    s->tables[number].first_key = -1;
    scan_bind_key(s, key, number);
    return PyLong_FromLong(number);
}

static PyObject *scanner_bind_too(PyObject *self, PyObject *args) {
    Scanner *s = (Scanner *)self;
    PyObject *identity, *number, *states;
    if (!PyArg_ParseTuple(args, "O!O!O", &PyBytes_Type, &identity, &PyLong_Type, &number, &states))
        return NULL;
    const Table *table = scan_table_numbered(s, number);
    int key = table == NULL ? -1 : scan_key_number(s, identity);
    if (key < 0)
        return NULL;
    if (s->keys[key].table >= 0) {
        PyErr_SetString(PyExc_ValueError, "the identity is bound already");
        return NULL;
    }
    if (scan_set_states(s, key, states, table) < 0)
        return NULL;
    scan_bind_key(s, key, (int)(table - s->tables));
    Py_RETURN_NONE;
}

static PyObject *scanner_unbind(PyObject *self, PyObject *number) {
    Scanner *s = (Scanner *)self;
    Table *table = scan_table_numbered(s, number);
    if (table == NULL)
        return NULL;
    if (table->rows.count) {
        PyErr_SetString(PyExc_ValueError, "the table has rows that nobody took");
        return NULL;
    }
    scan_unbind(s, table);
    Py_RETURN_NONE;
}

static PyObject *scanner_rows(PyObject *self, PyObject *number) {
    Table *table = scan_table_numbered((Scanner *)self, number);
    return table == NULL ? NULL : PyLong_FromLongLong(table->rows.count);
}

static PyObject *scanner_largest(PyObject *self, PyObject *Py_UNUSED(none)) {
    const Scanner *s = (Scanner *)self;
    int64_t rows = 0;
    for (int i = 0; i < s->table_count; i++)
        if (s->tables[i].rows.count > rows)
            rows = s->tables[i].rows.count;
    return PyLong_FromLongLong(rows);
}

static PyObject *scanner_take(PyObject *self, PyObject *number) {
    Scanner *s = (Scanner *)self;
    Table *table = scan_table_numbered(s, number);
    if (table == NULL)
        return NULL;
    int keys_alone = s->row_only && s->key_updates;
    return rows_take(&table->rows, keys_alone ? table->is_key : NULL);
}

/* What a scan found: how many records were taken, where the odd record is that ended it, and its identity, as far as it
   is whole and no table is bound to it. */
static PyObject *found(Scanner *s, Py_ssize_t taken, Py_ssize_t start, Py_ssize_t end, Verdict verdict) {
    int unbound = verdict == ODD && s->table == NULL && (s->whole || s->parts == s->identities);
    if (unbound)
        verdict = scan_find_table(s);
    if (verdict == NO_MEMORY || (unbound && verdict == ODD && scan_write_identity(s) < 0))
        return PyErr_NoMemory();
    if (unbound && verdict == ODD && s->identity.size)
        return Py_BuildValue("nnny#", taken, start, end, s->identity.data, (Py_ssize_t)s->identity.size);
    return Py_BuildValue("nnnO", taken, start, end, Py_None);
}

/* Where a record ends that is odd: with its value, and where it is none with its line. */
static const char *end_of_odd(const char *start, const char *end) {
    const char *stop = json_value(start, end);
    if (stop == NULL)
        stop = memchr(start, '\n', (size_t)(end - start));
    return stop == NULL ? end : stop;
}

static PyObject *scanner_scan(PyObject *self, PyObject *args) {
    Scanner *s = (Scanner *)self;
    const char *data;
    Py_ssize_t size, place, taken = 0;
    long long ordinal;
    if (!PyArg_ParseTuple(args, "y#nL", &data, &size, &place, &ordinal))
        return NULL;
    if (place < 0 || place > size) {
        PyErr_SetString(PyExc_ValueError, "the place is not in the data");
        return NULL;
    }
    const char *end = data + size;
    for (const char *at = json_space(data + place, end); at < end; at = json_space(at, end)) {
        const char *start = at;
        Verdict verdict = scan_record(s, &at, end, ordinal + taken);
        if (verdict != TAKEN)
            return found(s, taken, start - data, end_of_odd(start, end) - data, verdict);
        taken++;
    }
    return found(s, taken, size, size, TAKEN);
}

static PyObject *scanner_scan_spans(PyObject *self, PyObject *args) {
    Scanner *s = (Scanner *)self;
    const char *data;
    Py_buffer spans;
    Py_ssize_t size, place;
    long long ordinal;
    if (!PyArg_ParseTuple(args, "y#y*nL", &data, &size, &spans, &place, &ordinal))
        return NULL;
    Py_ssize_t count = spans.len / (2 * (Py_ssize_t)sizeof(int64_t)), first = place;
    const int64_t *ends = spans.buf;
    PyObject *result = NULL;
    for (; place >= 0 && place < count; place++) {
        int64_t start = ends[2 * place], stop = ends[2 * place + 1];
        if (start < 0 || stop < start || stop > size) {
            PyErr_SetString(PyExc_ValueError, "a span is not in the data");
            break;
        }
        const char *at = json_space(data + start, data + stop);
        Verdict verdict = scan_record(s, &at, data + stop, ordinal + place - first);
        if (verdict == TAKEN && json_space(at, data + stop) != data + stop) {
            rows_cut(&s->table->rows, s->row);
            verdict = ODD;
        }
        if (verdict != TAKEN) {
            result = found(s, place - first, (Py_ssize_t)start, (Py_ssize_t)stop, verdict);
            break;
        }
    }
    if (result == NULL && !PyErr_Occurred())
        result = found(s, place < first ? 0 : place - first, size, size, TAKEN);
    PyBuffer_Release(&spans);
    return result;
}

static PyMethodDef scanner_methods[] = {
    {"bind", scanner_bind, METH_VARARGS, "bind(identity, column_names, key_places, takes) -> the number of a table"},
    {"bind_too", scanner_bind_too, METH_VARARGS, "bind_too(identity, number): its records are of that table too"},
    {"unbind", scanner_unbind, METH_O, "unbind(number): records of its identity are odd from now on"},
    {"rows", scanner_rows, METH_O, "rows(number) -> how many rows a table has"},
    {"largest", scanner_largest, METH_NOARGS, "largest() -> how many rows the table with the most has"},
    {"take", scanner_take, METH_O, "take(number) -> the columns of a table, which is empty afterwards"},
    {"scan", scanner_scan, METH_VARARGS, "scan(data, place, ordinal) -> (taken, start, end, identity)"},
    {"scan_spans", scanner_scan_spans, METH_VARARGS, "scan_spans(data, spans, place, ordinal) -> as scan"},
    {NULL, NULL, 0, NULL},
};

PyTypeObject JsonScannerType = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "ggfmt.kernels._native.JsonScanner",
    .tp_doc = "Takes records of changes in JSON into columns; see json_scan.c.",
    .tp_basicsize = sizeof(Scanner),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_new = scanner_new,
    .tp_dealloc = scanner_dealloc,
    .tp_methods = scanner_methods,
};
