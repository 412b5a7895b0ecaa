/* What Python tells of the records of a dialect: their members, types of operations, and rules. */
#include "json_scan.h"

#include <stdlib.h>

void scan_node_free(Node *node) {
    for (int i = 0; i < node->children_count; i++)
        scan_node_free(&node->children[i]);
    free(node->children);
    free(node->name);
    free(node->same.data);
    free(node->token.data);
    free(node->unless.data);
}

/* As `copy_bytes`, or nothing from None. */
int scan_copy_text(PyObject *from, Text *to) {
    return from == Py_None ? 0 : copy_bytes(from, &to->data, &to->length);
}

/* What a member is as a token: (name, rank, the text that is none), or None. */
static int read_token(PyObject *token, Node *node) {
    PyObject *name, *unless;
    if (token == Py_None)
        return 0;
    if (!PyArg_ParseTuple(token, "OiO", &name, &node->rank, &unless))
        return -1;
    return scan_copy_text(name, &node->token) < 0 || scan_copy_text(unless, &node->unless) < 0 ? -1 : 0;
}

/* Members as Python gives them: (name, action, required, argument, token) in a tuple. */
int scan_read_members(Scanner *s, Node *node, PyObject *members, int depth) {
    if (!PyTuple_Check(members) || PyTuple_GET_SIZE(members) > MOST_MEMBERS || depth > MOST_DEPTH) {
        PyErr_SetString(PyExc_ValueError, "too many members, or no tuple of them");
        return -1;
    }
    node->children = calloc((size_t)PyTuple_GET_SIZE(members) + 1, sizeof(Node));
    if (node->children == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(members); i++) {
        PyObject *name, *argument, *token, *members_within;
        int action, required;
        Node *child = &node->children[node->children_count++];
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(members, i), "O!ipOO", &PyBytes_Type, &name, &action, &required, &argument,
                              &token))
            return -1;
        if (copy_bytes(name, &child->name, &child->length) < 0 || read_token(token, child) < 0)
            return -1;
        child->place = -1;
        child->next = (int)i + 1 < PyTuple_GET_SIZE(members) ? (int)i + 1 : 0;
        child->action = (enum Action)action;
        child->required = required;
        switch (child->action) {
        case ENTER:
            if (!PyArg_ParseTuple(argument, "Opp", &members_within, &child->takes, &child->in_text) ||
                scan_read_members(s, child, members_within, depth + 1) < 0)
                return -1;
            break;
        case IDENTITY:
        case NAMES:
            child->place = s->identities++;
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
            if (copy_bytes(argument, &child->same.data, &child->same.length) < 0)
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
            PyErr_SetString(PyExc_ValueError, "an unknown action");
            return -1;
        }
        if (s->slots > MOST_SLOTS || s->identities > MOST_SLOTS) {
            PyErr_SetString(PyExc_ValueError, "too many slots");
            return -1;
        }
    }
    return 0;
}

/* By the texts of operations their letters, and tokens: (letter, name, text, rank), the name None for no token. */
int scan_read_ops(Scanner *s, PyObject *ops) {
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
            copy_bytes(text, &op->from, &op->length) < 0 || scan_copy_text(name, &op->token) < 0 ||
            scan_copy_text(token_text, &op->token_text) < 0)
            return -1;
        op->letter = (char)letter;
    }
    return 0;
}

int scan_read_rules(Scanner *s, PyObject *rules) {
    PyObject *letter, *rule;
    Py_ssize_t place = 0;
    while (PyDict_Next(rules, &place, &letter, &rule)) {
        int before, after;
        if (!PyBytes_Check(letter) || PyBytes_GET_SIZE(letter) != 1 || !PyArg_ParseTuple(rule, "ii", &before, &after)) {
            if (!PyErr_Occurred())
                PyErr_SetString(PyExc_ValueError, "an operation type is one letter");
            return -1;
        }
        s->rules[PyBytes_AS_STRING(letter)[0] & 127][0] = (signed char)before;
        s->rules[PyBytes_AS_STRING(letter)[0] & 127][1] = (signed char)after;
    }
    return 0;
}
