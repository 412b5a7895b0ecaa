#include "avro_program.h"

enum { MAX_DEPTH = 32 };

static size_t least_of(const Node *node) {
    size_t least = 0;
    switch ((enum AvroType)node->type) {
    case A_NULL:
        return 0;
    case A_FLOAT:
        return 4;
    case A_DOUBLE:
        return 8;
    case A_FIXED:
        return (size_t)node->size;
    case A_ARRAY:
        return node->children[0].least;
    case A_RECORD:
        for (int i = 0; i < node->count; i++)
            if (least < INT32_MAX)
                least += node->children[i].least;
        return least;
    default:
        return 1;
    }
}

/* Whether a value of the node's type can be shown so. */
static int can_show(const Node *node) {
    switch ((enum AvroShow)node->show) {
    case PLAIN:
        return 1;
    case AS_TEXT:
        return node->type == A_FLOAT || node->type == A_DOUBLE;
    case DATE:
        return node->type == A_LONG;
    case TIME:
    case STAMP:
        return node->type == A_LONG && node->size > 0;
    case DECIMAL:
        return node->type == A_BYTES && node->size <= AVRO_SCALE;
    }
    return 0;
}

/* Whether the node may have so many children. */
static int can_have(const Node *node, Py_ssize_t count) {
    switch ((enum AvroType)node->type) {
    case A_UNION:
        return count <= AVRO_MAX_FIELDS;
    case A_RECORD:
        return count <= AVRO_MAX_FIELDS && node->texts.count == count;
    case A_ARRAY:
    case A_MAP:
        return count == 1;
    case A_BYTES:
        return count == 0 || (count == 1 && node->show == PLAIN);
    default:
        return count == 0;
    }
}

/* A node from (type, how it is shown, size or None, texts, children[, action, place]). */
static int read_node(Node *node, Memory *memory, PyObject *tuple, NodeCheck *check, const void *limits, int depth) {
    int type, show, action = 0;
    PyObject *size, *texts, *children;
    if (depth > MAX_DEPTH)
        return refuse("the program is nested too deeply");
    if (!PyTuple_Check(tuple))
        return refuse("a program is a tuple");
    if (!PyArg_ParseTuple(tuple, "iiOO!O!|ii", &type, &show, &size, &PyTuple_Type, &texts, &PyTuple_Type, &children, &action,
                          &node->place))
        return -1;
    if (type < A_NULL || type > A_MAP || show < PLAIN || show > DECIMAL || action < 0 || action > UINT8_MAX)
        return refuse("an unknown type, action or way to show");
    node->type = (uint8_t)type;
    node->show = (uint8_t)show;
    node->action = (uint8_t)action;
    node->acts = action != 0;
    if (size != Py_None) {
        node->size = PyLong_AsLongLong(size);
        if (node->size == -1 && PyErr_Occurred())
            return -1;
        if (node->size < 0 || node->size > INT32_MAX)
            return refuse("a size is out of range");
    }
    if (!can_show(node))
        return refuse("a value cannot be shown so");
    Py_ssize_t count = PyTuple_Size(children);
    if (keys_read(&node->texts, memory, texts) < 0)
        return -1;
    if (!can_have(node, count))
        return refuse("a wrong number of fields");
    node->children = memory_make(memory, (size_t)count, sizeof(Node));
    if (node->children == NULL)
        return -1;
    for (Py_ssize_t i = 0; i < count; i++) {
        Node *child = &node->children[node->count++];
        if (read_node(child, memory, PyTuple_GetItem(children, i), check, limits, depth + 1) < 0)
            return -1;
        node->acts |= child->acts;
    }
    if (type == A_ARRAY && node->children[0].least == 0)
        return refuse("the items of an array have bytes");
    node->least = least_of(node);
    return check == NULL ? 0 : check(node, limits);
}

int node_read(Node *node, Memory *memory, PyObject *tuple, NodeCheck *check, const void *limits) {
    return read_node(node, memory, tuple, check, limits, 0);
}
