/* The grammar of a dialect, as Python gives it: members of records and types of operations. */
#include "json_scan.h"

#include <stdlib.h>

void json_node_free(Node *node) {
    for (int i = 0; i < node->children_count; i++)
        json_node_free(&node->children[i]);
    free(node->children);
    free(node->name.data);
    free(node->same.data);
    free(node->token.data);
    free(node->unless.data);
}

/* Reads what token a member makes: (name, rank, the text that makes none), or None. */
static int read_token(PyObject *token, Node *node) {
    PyObject *name, *unless;
    if (token == Py_None)
        return 0;
    if (!PyArg_ParseTuple(token, "OiO", &name, &node->rank, &unless))
        return -1;
    return own_text_read_optional(&node->token, name) < 0 ? -1 : own_text_read_optional(&node->unless, unless);
}

/* Reads members from a tuple of (name, action, required, argument, token). */
int json_read_members(JsonScanner *s, Node *node, PyObject *members, int depth) {
    if (!PyTuple_Check(members) || PyTuple_Size(members) > MAX_MEMBERS || depth > MAX_DEPTH)
        return refuse("too many members, or no tuple of them");
    node->children = calloc((size_t)PyTuple_Size(members) + 1, sizeof(Node));
    if (node->children == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t i = 0; i < PyTuple_Size(members); i++) {
        PyObject *name, *argument, *token, *members_within;
        int action, required;
        Node *child = &node->children[node->children_count++];
        if (!PyArg_ParseTuple(PyTuple_GetItem(members, i), "O!ipOO", &PyBytes_Type, &name, &action, &required, &argument,
                              &token))
            return -1;
        if (own_text_read(&child->name, name) < 0 || read_token(token, child) < 0)
            return -1;
        child->place = -1;
        child->next = (int)i + 1 < PyTuple_Size(members) ? (int)i + 1 : 0;
        child->action = (enum Action)action;
        child->required = required;
        switch (child->action) {
        case ENTER:
            if (!PyArg_ParseTuple(argument, "Oip", &members_within, &child->takes, &child->in_text) ||
                json_read_members(s, child, members_within, depth + 1) < 0)
                return -1;
            if (child->takes == COLUMNS)
                s->root.takes = NOTHING;
            break;
        case IDENTITY:
        case NAMES:
            child->place = s->identity_parts++;
            break;
        case SLOT:
        case SKIP:
        case TOKENS:
            if (child->action == SLOT)
                child->place = s->slots++;
            child->takes = (int)PyLong_AsLong(argument);
            if (PyErr_Occurred())
                return -1;
            break;
        case NOTE:
            child->place = s->slots++;
            break;
        case SAME:
        case LIST:
            if (child->action == LIST)
                child->place = s->slots++;
            if (own_text_read(&child->same, argument) < 0)
                return -1;
            break;
        case BEFORE:
        case AFTER:
        case ROW:
        case OLD:
            s->listed |= argument == Py_True;
            break;
        case OP:
            break;
        default:
            return refuse("an unknown action");
        }
        if (s->slots > MAX_SLOTS || s->identity_parts > MAX_SLOTS)
            return refuse("too many slots");
    }
    return 0;
}

/* Reads types of operations: for each text its letter, and the name, text and rank of its token. A name is None for no token. */
int json_read_ops(JsonScanner *s, PyObject *ops) {
    PyObject *text, *meaning;
    Py_ssize_t place = 0;
    s->ops = calloc((size_t)PyDict_Size(ops) + 1, sizeof(OpName));
    if (s->ops == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    while (PyDict_Next(ops, &place, &text, &meaning)) {
        OpName *op = &s->ops[s->op_count++];
        PyObject *name, *token_text;
        int letter;
        if (!PyArg_ParseTuple(meaning, "cOOi", &letter, &name, &token_text, &op->rank) ||
            own_text_read(&op->from, text) < 0 || own_text_read_optional(&op->token, name) < 0 ||
            own_text_read_optional(&op->token_text, token_text) < 0)
            return -1;
        op->letter = (char)letter;
    }
    return 0;
}

/* Reads which undeclared members are columns: (start of their names, action). They are members of the record itself, unless
   an object in it has them. */
int json_read_columns(JsonScanner *s, PyObject *columns) {
    if (!PyTuple_Check(columns) || PyTuple_Size(columns) > MAX_COLUMN_MEMBERS)
        return refuse("too many kinds of columns, or no tuple of them");
    s->root.takes = COLUMNS;
    for (Py_ssize_t i = 0; i < PyTuple_Size(columns); i++) {
        PyObject *prefix;
        int action;
        ColumnMembers *of = &s->columns[s->columns_count++];
        if (!PyArg_ParseTuple(PyTuple_GetItem(columns, i), "O!i", &PyBytes_Type, &prefix, &action) ||
            own_text_read(&of->prefix, prefix) < 0)
            return -1;
        if (action != BEFORE && action != AFTER && action != ROW)
            return refuse("columns are of an image");
        of->action = (enum Action)action;
    }
    return 0;
}
