/* The grammar of a dialect, as Python gives it: members of records and types of operations. */
#include "json_scan.h"

/* Reads what token a member makes: (name, rank, the text that makes none), or None. */
static int read_token(Memory *memory, PyObject *token, Node *node) {
    PyObject *name, *unless;
    if (token == Py_None)
        return 0;
    if (!PyArg_ParseTuple(token, "OiO", &name, &node->rank, &unless))
        return -1;
    return optional_text_read(memory, name, &node->token) < 0 ? -1 : optional_text_read(memory, unless, &node->unless);
}

/* Reads what a member has besides its name and its token, by its action. */
static int read_argument(JsonScanner *s, Node *node, PyObject *argument, int depth) {
    PyObject *members;
    switch (node->action) {
    case ENTER:
        if (!PyArg_ParseTuple(argument, "Oip", &members, &node->takes, &node->in_text))
            return -1;
        if (node->takes == COLUMNS)
            s->root.takes = NOTHING;
        return json_read_members(s, node, members, depth + 1);
    case IDENTITY:
    case NAMES:
        node->place = s->identity_parts++;
        return 0;
    case BEFORE_CELLS:
    case AFTER_CELLS:
        s->cells = 1;
        node->place = s->identity_parts++;
        return 0;
    case SLOT:
        node->place = s->slots++;
        /* fall through */
    case SKIP:
    case TOKENS:
        node->takes = (int)PyLong_AsLong(argument);
        return PyErr_Occurred() ? -1 : 0;
    case NOTE:
        node->place = s->slots++;
        return 0;
    case LIST:
        node->place = s->slots++;
        /* fall through */
    case SAME:
        return text_read(&s->base.memory, argument, &node->same);
    case BEFORE:
    case AFTER:
    case ROW:
    case OLD:
        s->listed |= argument == Py_True;
        return 0;
    case OP:
        return 0;
    }
    return refuse("an unknown action");
}

/* Reads members from a tuple of (name, action, required, argument, token). */
int json_read_members(JsonScanner *s, Node *node, PyObject *members, int depth) {
    Memory *memory = &s->base.memory;
    if (!PyTuple_Check(members) || PyTuple_Size(members) > MAX_MEMBERS || depth > MAX_DEPTH)
        return refuse("too many members, or no tuple of them");
    const int count = (int)PyTuple_Size(members);
    node->children = memory_make(memory, (size_t)count, sizeof(Node));
    if (node->children == NULL)
        return -1;
    node->children_count = count;
    for (int i = 0; i < count; i++) {
        PyObject *name, *argument, *token;
        int action;
        Node *child = &node->children[i];
        if (!PyArg_ParseTuple(PyTuple_GetItem(members, i), "O!ipOO", &PyBytes_Type, &name, &action, &child->required,
                              &argument, &token))
            return -1;
        child->place = -1;
        child->next = i + 1 < count ? i + 1 : 0;
        child->action = (enum Action)action;
        if (text_read(memory, name, &child->name) < 0 || read_token(memory, token, child) < 0 ||
            read_argument(s, child, argument, depth) < 0)
            return -1;
        if (s->slots > MAX_SLOTS || s->identity_parts > MAX_SLOTS)
            return refuse("too many slots");
    }
    return 0;
}

/* Reads types of operations: for each text its letter, and the name, text and rank of its token. A name is None for no token;
   a letter of 0 is that of records that are only counted. */
int json_read_ops(JsonScanner *s, PyObject *ops) {
    Memory *memory = &s->base.memory;
    PyObject *text, *meaning, *name, *token_text;
    Py_ssize_t place = 0;
    s->ops = memory_make(memory, (size_t)PyDict_Size(ops), sizeof(OpName));
    if (s->ops == NULL)
        return -1;
    while (PyDict_Next(ops, &place, &text, &meaning)) {
        OpName *op = &s->ops[s->op_count++];
        int letter;
        if (!PyArg_ParseTuple(meaning, "cOOi", &letter, &name, &token_text, &op->rank) ||
            text_read(memory, text, &op->from) < 0 || optional_text_read(memory, name, &op->token) < 0 ||
            optional_text_read(memory, token_text, &op->token_text) < 0)
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
        if (!PyArg_ParseTuple(PyTuple_GetItem(columns, i), "Oi", &prefix, &action) ||
            text_read(&s->base.memory, prefix, &of->prefix) < 0)
            return -1;
        if (action != BEFORE && action != AFTER && action != ROW)
            return refuse("columns are of an image");
        of->action = (enum Action)action;
    }
    return 0;
}
