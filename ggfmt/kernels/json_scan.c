/* Scanner of records of changes in JSON.

   A record is a JSON object with known members: the grammar of a dialect gives an action for each. Some members are parts of
   the record's identity, which decides on its table and on the names of its columns. If the identity follows the images,
   the scanner first passes over the images and takes them at the end of the record. A scan notes the start of each record
   that it takes, and then the end of the odd record that ended it. A scan of spans notes nothing. */
#include "json_scan.h"

static int make(Scanner *base, PyObject *args, PyObject *keywords) {
    static char *names[] = {"members", "ops", "rules", "row_only", "key_updates", "row_token", "purpose", "columns", "overlay",
                             NULL};
    JsonScanner *s = (JsonScanner *)base;
    PyObject *members, *ops, *rules, *row_token, *columns = Py_None;
    int purpose = ROWS;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O!O!O!ppO|iOp", names, &PyTuple_Type, &members, &PyDict_Type, &ops,
                                     &PyDict_Type, &rules, &s->row_only, &s->key_updates, &row_token, &purpose, &columns,
                                     &s->overlay))
        return -1;
    if (purpose < ROWS || purpose > DEFINITIONS)
        return refuse("there is no such purpose");
    s->purpose = (enum Purpose)purpose;
    if ((columns != Py_None && json_read_columns(s, columns) < 0) || json_read_members(s, &s->root, members, 0) < 0 ||
        json_read_ops(s, ops) < 0 || image_rules_read(&s->rules, rules) < 0)
        return -1;
    return optional_text_read(&base->memory, row_token, &s->row_token);
}

static void free_scanner(Scanner *base) {
    JsonScanner *s = (JsonScanner *)base;
    bytes_free(&s->pairs);
    bytes_free(&s->names);
    bytes_free(&s->cell_names[0]);
    bytes_free(&s->cell_names[1]);
}

static PyObject *bind_alias(PyObject *self, PyObject *args) {
    Scanner *s = (Scanner *)self;
    PyObject *identity, *number, *states;
    if (!PyArg_ParseTuple(args, "O!O!O", &PyBytes_Type, &identity, &PyLong_Type, &number, &states))
        return NULL;
    Table *table = scanner_table(s, number);
    int key = table == NULL ? -1 : scanner_key(s, identity);
    if (key < 0 || json_read_identity((JsonScanner *)s, key, states, (JsonTable *)table) < 0)
        return NULL;
    scanner_bind_key(s, key, (int)PyLong_AsLong(number));
    Py_RETURN_NONE;
}

static PyObject *take_pairs(PyObject *self, PyObject *number) {
    Scanner *s = (Scanner *)self;
    Table *table = scanner_idle(s) ? scanner_table(s, number) : NULL;
    return table == NULL ? NULL : bytes_take(&((JsonTable *)table)->pairs);
}

static PyObject *take_counts(PyObject *self, PyObject *Py_UNUSED(none)) {
    JsonScanner *s = (JsonScanner *)self;
    PyObject *counts = scanner_idle(&s->base) ? PyList_New(s->op_count) : NULL;
    for (int i = 0; counts != NULL && i < s->op_count; i++) {
        PyObject *count = PyLong_FromLongLong(s->ops[i].count);
        if (count == NULL || PyList_SetItem(counts, i, count) < 0)
            Py_CLEAR(counts);
        s->ops[i].count = 0;
    }
    return counts;
}

static PyMethodDef methods[] = {
    {"bind_alias", bind_alias, METH_VARARGS, "bind_alias(identity, number, states): binds one more identity to a table"},
    {"take_pairs", take_pairs, METH_O,
     "take_pairs(number) -> the places of columns that came next to each other, in pairs of int32, since the last call"},
    {"take_counts", take_counts, METH_NOARGS,
     "take_counts() -> for each type of operation, the number of records that are only counted, since the last call"},
    {NULL, NULL, 0, NULL},
};

ScannerKind json_scanner = {
    SCANNER_TYPE("JsonScanner", sizeof(JsonScanner), methods,
                 "Takes records of changes in JSON into columns; see json_scan.c."),
    .table_size = sizeof(JsonTable),
    .make = make,
    .free = free_scanner,
    .make_table = json_make_table,
    .free_table = json_free_table,
    .skip = json_space,
    .record = json_record,
    .without_python = 1,
};
