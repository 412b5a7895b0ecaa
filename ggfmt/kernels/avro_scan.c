/* Records of changes in Avro, taken into columns in one pass over their bytes.

   The records of a table have a program: a tree of readers of fields, as its schema has them, some with an action on what
   they read. Where one stream has records of several tables, they start with the same fields, some of which name the
   table; the caller binds these names to programs.

   Nothing is decided here that the exact reader has an opinion on: a record with anything out of the ordinary is ODD,
   leaves no trace in the columns, and ends the scan, so that the caller can have it read and go on behind it. */
#include "avro.h"
#include "keys.h"
#include "rows.h"

#include <stdlib.h>

enum Type { A_NULL, A_BOOLEAN, A_LONG, A_FLOAT, A_DOUBLE, A_BYTES, A_STRING, A_ENUM, A_FIXED, A_UNION, A_RECORD, A_ARRAY, A_MAP };

/* What becomes of a value. Places of cells count through both images. FLAG: a boolean that tells that a cell is missing. */
enum Action { SKIP, CELL, SLOT, OP, FLAG, TOKEN, TOKENS, IMAGE, NAME };

/* How a value is shown, where there is more than one way. */
enum Show { PLAIN, MICROS, DECIMAL };

enum { MOST_FIELDS = 1 << 16, MOST_DEPTH = 32, MOST_TOKENS = 64, MOST_NAMES = 8, MOST_OPS = 64 };

/* How records are wrapped: each the bytes behind the name of its table and a number. */
enum Wrapper { BARE, WITH_NUMBER };

typedef struct Node {
    uint8_t type;
    uint8_t action;
    uint8_t show;
    int place;
    int64_t size;   /* of a FIXED; the scale of a DECIMAL; the number of symbols of an ENUM */
    size_t least;   /* how many bytes a value has at least */
    char *text;     /* the name of a TOKEN */
    size_t text_length;
    int count;
    struct Node *children;
} Node;

typedef struct {
    Node root;
    Rows rows;
    int64_t most; /* a scan ends where there are so many rows; 0 for no bound */
} Table;

typedef struct {
    const char *start;
    size_t length;
} Span;

typedef struct {
    char *text;
    size_t length;
    char letter;
} Op;

typedef struct {
    PyObject_HEAD
    Node head; /* what all records start with, up to the last part of the table's name */
    int names;
    int wrapper;
    int bare_truncates; /* a truncate has no columns, whatever its record has */
    char *delimiter;
    size_t delimiter_length;
    Op ops[MOST_OPS];
    int op_count;
    Keys keys; /* the names of the tables, with their numbers */
    Table *tables;
    int last;
    Bytes identity;
    /* the record in hand */
    Span name[MOST_NAMES];
    Bytes missing; /* int: the cells that flags tell are missing */
    Rows *rows;
    int64_t row;
    char op;
    int images;
} Scanner;

/* Values */

static Verdict put_text(Scanner *s, const Node *node, const char *text, size_t length, size_t readable) {
    Rows *rows = s->rows;
    switch (node->action) {
    case CELL:
        return column_put(&rows->before[node->place], s->row, text, length, readable, TEXT);
    case SLOT:
        return column_put(&rows->slot[node->place], s->row, text, length, readable, TEXT);
    case NAME:
        s->name[node->place] = (Span){text, length};
        return TAKEN;
    case OP:
        for (int i = 0; i < s->op_count; i++)
            if (s->ops[i].length == length && memcmp(s->ops[i].text, text, length) == 0) {
                s->op = s->ops[i].letter;
                return TAKEN;
            }
        return ODD;
    case TOKEN:
        if (length) {
            Verdict verdict = column_put(&rows->token_names, rows->token_names.rows, node->text, node->text_length,
                                         node->text_length, TEXT);
            if (verdict != TAKEN)
                return verdict;
            return column_put(&rows->token_texts, rows->token_texts.rows, text, length, readable, TEXT);
        }
        return TAKEN;
    default:
        return TAKEN;
    }
}

static Verdict put_null(Scanner *s, const Node *node) {
    switch (node->action) {
    case CELL:
        return column_put(&s->rows->before[node->place], s->row, "", 0, 0, IS_NULL);
    case SLOT:
        return column_put(&s->rows->slot[node->place], s->row, "", 0, 0, IS_NULL);
    case OP:
    case NAME:
        return ODD;
    default:
        return TAKEN;
    }
}

/* A text that was written here; it is none if it has no length. */
static Verdict put_made(Scanner *s, const Node *node, const char *text, size_t length) {
    return length == 0 ? ODD : put_text(s, node, text, length, AVRO_TEXT);
}

static Verdict put_bytes(Scanner *s, const Node *node, const char *start, size_t length) {
    char text[AVRO_TEXT];
    if (node->action == SKIP)
        return TAKEN;
    if (node->show == DECIMAL)
        return put_made(s, node, text, decimal_text(text, start, length, (int)node->size));
    return put_base64(node->action == CELL ? &s->rows->before[node->place] : &s->rows->slot[node->place], s->row, start, length);
}

/* Containers */

static Verdict walk(Scanner *s, const Node *node, const char **place, const char *end);

static Verdict array(Scanner *s, const Node *node, const char **place, const char *end) {
    const char *at = *place;
    for (;;) {
        int64_t count;
        at = avro_long(at, end, &count);
        if (at == NULL || count < 0 || (uint64_t)count > (size_t)(end - at) / node->least)
            return ODD;
        if (count == 0) {
            *place = at;
            return TAKEN;
        }
        for (; count; count--) {
            Verdict verdict = walk(s, &node->children[0], &at, end);
            if (verdict != TAKEN)
                return verdict;
        }
    }
}

/* A map; its texts are tokens if that is its action. A name that is there twice is left to the exact reader. */
static Verdict map(Scanner *s, const Node *node, const char **place, const char *end) {
    const char *at = *place;
    Span names[MOST_TOKENS];
    int known = 0;
    for (;;) {
        int64_t count;
        at = avro_long(at, end, &count);
        if (at == NULL || count < 0 || (uint64_t)count > (size_t)(end - at))
            return ODD;
        if (count == 0) {
            *place = at;
            return TAKEN;
        }
        for (; count; count--) {
            const char *text;
            size_t length;
            at = avro_bytes(at, end, &text, &length);
            if (at == NULL || !avro_utf8(text, length))
                return ODD;
            Verdict verdict;
            if (node->action != TOKENS) {
                verdict = walk(s, &node->children[0], &at, end);
            } else {
                Column *texts = &s->rows->token_texts, *column = &s->rows->token_names;
                for (int i = 0; i < known; i++)
                    if (names[i].length == length && memcmp(names[i].start, text, length) == 0)
                        return ODD;
                if (known == MOST_TOKENS)
                    return ODD;
                names[known++] = (Span){text, length};
                verdict = column_put(column, column->rows, text, length, (size_t)(end - text), TEXT);
                if (verdict != TAKEN)
                    return verdict;
                at = avro_bytes(at, end, &text, &length);
                if (at == NULL || !avro_utf8(text, length))
                    return ODD;
                verdict = column_put(texts, texts->rows, text, length, (size_t)(end - text), TEXT);
            }
            if (verdict != TAKEN)
                return verdict;
        }
    }
}

/* One value from its start to behind it. */
static Verdict walk(Scanner *s, const Node *node, const char **place, const char *end) {
    const char *at = *place, *start;
    char text[AVRO_TEXT];
    size_t length;
    int64_t number;
    double real;
    float single;
    switch ((enum Type)node->type) {
    case A_STRING:
        at = *place = avro_bytes(at, end, &start, &length);
        if (at == NULL || !avro_utf8(start, length))
            return ODD;
        return put_text(s, node, start, length, (size_t)(end - start));
    case A_UNION:
        at = *place = avro_long(at, end, &number);
        if (at == NULL || number < 0 || number >= node->count)
            return ODD;
        return walk(s, &node->children[number], place, end);
    case A_NULL:
        return put_null(s, node);
    case A_RECORD:
        if (node->action == IMAGE)
            s->images |= node->place;
        for (int i = 0; i < node->count; i++) {
            Verdict verdict = walk(s, &node->children[i], place, end);
            if (verdict != TAKEN)
                return verdict;
        }
        return TAKEN;
    case A_BOOLEAN:
        if (at >= end || (*at & ~1))
            return ODD;
        *place = at + 1;
        if (node->action == FLAG)
            return *at && bytes_append(&s->missing, &node->place, sizeof node->place) < 0 ? NO_MEMORY : TAKEN;
        return *at ? put_text(s, node, "true", 4, 4) : put_text(s, node, "false", 5, 5);
    case A_LONG:
        at = *place = avro_long(at, end, &number);
        if (at == NULL)
            return ODD;
        if (node->action == SKIP)
            return TAKEN;
        return put_made(s, node, text, node->show == MICROS ? micros_text(text, number) : integer_text(text, number));
    case A_DOUBLE:
        if (end - at < 8)
            return ODD;
        memcpy(&real, at, 8);
        *place = at + 8;
        return node->action == SKIP ? TAKEN : put_made(s, node, text, double_text(text, real));
    case A_FLOAT:
        if (end - at < 4)
            return ODD;
        memcpy(&single, at, 4);
        *place = at + 4;
        return node->action == SKIP ? TAKEN : put_made(s, node, text, double_text(text, (double)single));
    case A_BYTES:
        at = *place = avro_bytes(at, end, &start, &length);
        return at == NULL ? ODD : put_bytes(s, node, start, length);
    case A_FIXED:
        if (end - at < node->size)
            return ODD;
        *place = at + node->size;
        return TAKEN;
    case A_ENUM:
        at = *place = avro_long(at, end, &number);
        return at == NULL || number < 0 || number >= node->size ? ODD : TAKEN;
    case A_ARRAY:
        return array(s, node, place, end);
    case A_MAP:
        return map(s, node, place, end);
    }
    return ODD;
}

/* Tables */

/* A table's identity: the parts of its name, each behind its length. */
static int same_identity(const Scanner *s, const Key *table) {
    const char *key = table->text;
    size_t left = table->length;
    for (int i = 0; i < s->names; i++) {
        size_t length = s->name[i].length, known;
        if (left < sizeof known)
            return 0;
        memcpy(&known, key, sizeof known);
        if (known != length || left - sizeof known < length || memcmp(key + sizeof known, s->name[i].start, length) != 0)
            return 0;
        key += sizeof known + length;
        left -= sizeof known + length;
    }
    return left == 0;
}

static Verdict write_identity(Scanner *s) {
    s->identity.size = 0;
    for (int i = 0; i < s->names; i++)
        if (bytes_append(&s->identity, &s->name[i].length, sizeof s->name[i].length) < 0 ||
            bytes_append(&s->identity, s->name[i].start, s->name[i].length) < 0)
            return NO_MEMORY;
    return TAKEN;
}

/* The table of the record that starts at a place and its first byte behind a wrapper, which ends at `end`. */
static Verdict find_table(Scanner *s, const char **place, const char **end, Table **table) {
    *table = NULL;
    if (s->wrapper == BARE) {
        const char *at = *place;
        Verdict verdict = walk(s, &s->head, &at, *end);
        if (verdict != TAKEN)
            return verdict;
    } else {
        int64_t number;
        size_t length;
        const char *at = avro_bytes(*place, *end, &s->name[0].start, &s->name[0].length);
        if (at == NULL || !avro_utf8(s->name[0].start, s->name[0].length))
            return ODD;
        at = avro_long(at, *end, &number);
        if (at == NULL || (at = avro_bytes(at, *end, place, &length)) == NULL)
            return ODD;
        *end = at;
    }
    if (s->last < s->keys.count && same_identity(s, &s->keys.all[s->last])) {
        *table = &s->tables[s->last];
        return TAKEN;
    }
    if (write_identity(s) != TAKEN)
        return NO_MEMORY;
    int found = keys_find(&s->keys, s->identity.data, s->identity.size);
    if (found < 0)
        return TAKEN;
    s->last = found;
    *table = &s->tables[found];
    return TAKEN;
}

/* Records */

static Verdict fields(Scanner *s, const Table *table, const char *at, const char *stop, const char **after, const char *end) {
    Verdict verdict = walk(s, &table->root, &at, stop);
    if (verdict != TAKEN)
        return verdict;
    if (!s->op)
        return ODD;
    if (s->wrapper != BARE) {
        if (at != stop)
            return ODD;
    }
    if (s->delimiter_length) {
        if ((size_t)(end - at) < s->delimiter_length || memcmp(at, s->delimiter, s->delimiter_length) != 0)
            return ODD;
        at += s->delimiter_length;
    }
    *after = at;
    return TAKEN;
}

/* One record from its start to behind it and its delimiter. `unbound` becomes 1 if its table is not known here. */
static Verdict record(Scanner *s, const char **place, const char *end, int64_t ordinal, Table **of, int *unbound) {
    const char *at = *place, *stop = end;
    s->op = 0;
    s->images = 0;
    s->missing.size = 0;
    s->rows = NULL;
    Verdict verdict = find_table(s, &at, &stop, of);
    if (verdict != TAKEN)
        return verdict;
    if (*of == NULL) {
        *unbound = 1;
        return ODD;
    }
    Rows *rows = s->rows = &(*of)->rows;
    s->row = rows->count;
    verdict = fields(s, *of, at, stop, place, end);
    if (verdict == TAKEN) {
        if (s->bare_truncates && s->op == 'T')
            for (int i = 0; i < rows->old_columns + rows->new_columns; i++)
                column_cut(&rows->before[i], s->row);
        for (size_t i = 0; i < s->missing.size / sizeof(int); i++)
            column_cut(&rows->before[((int *)s->missing.data)[i]], s->row);
        verdict = rows_end(rows, s->row, s->op, s->images, ordinal);
    }
    if (verdict != TAKEN)
        rows_cut(rows, s->row);
    return verdict;
}

/* The Python object */

static void node_free(Node *node) {
    for (int i = 0; i < node->count; i++)
        node_free(&node->children[i]);
    free(node->children);
    free(node->text);
}

static int refuse(const char *reason) {
    PyErr_SetString(PyExc_ValueError, reason);
    return -1;
}

/* Whether an action goes with a type: what is put must be what walk and put_text can put. In a head, which has names, the
   table is not known yet. */
static int fits(const Node *node, int cells, int slots, int names) {
    int text = node->type == A_STRING;
    int single = node->type < A_ENUM;
    if (cells < 0 && node->action != SKIP && node->action != NAME)
        return 0;
    switch ((enum Action)node->action) {
    case SKIP:
        return 1;
    case CELL:
        return single && node->place >= 0 && node->place < cells;
    case SLOT:
        return single && node->place >= 0 && node->place < slots;
    case OP:
    case TOKEN:
        return text || node->type == A_NULL;
    case NAME:
        return text && node->place >= 0 && node->place < names;
    case FLAG:
        return node->type == A_BOOLEAN && node->place >= 0 && node->place < cells;
    case TOKENS:
        return node->type == A_MAP && node->children[0].type == A_STRING;
    case IMAGE:
        return node->type == A_RECORD && (node->place == 1 || node->place == 2);
    }
    return 0;
}

static size_t least_of(const Node *node) {
    size_t least = 0;
    switch ((enum Type)node->type) {
    case A_NULL:
        return 0;
    case A_FLOAT:
        return 4;
    case A_DOUBLE:
        return 8;
    case A_FIXED:
        return (size_t)node->size;
    case A_RECORD:
        for (int i = 0; i < node->count; i++)
            if (least < INT32_MAX)
                least += node->children[i].least;
        return least;
    default:
        return 1;
    }
}

/* A program as Python gives it: (type, action, place, show, argument, children). `repeated`: the value may be there more
   than once in a record, so that nothing can become of it. */
static int read_node(Node *node, PyObject *tuple, int cells, int slots, int names, int depth, int repeated) {
    int type, action, show;
    PyObject *argument, *children;
    if (depth > MOST_DEPTH)
        return refuse("the program is nested too deeply");
    if (!PyTuple_Check(tuple))
        return refuse("a program is a tuple");
    if (!PyArg_ParseTuple(tuple, "iiiiOO!", &type, &action, &node->place, &show, &argument, &PyTuple_Type, &children))
        return -1;
    if (type < A_NULL || type > A_MAP || action < SKIP || action > NAME || show < PLAIN || show > DECIMAL)
        return refuse("an unknown type, action or way to show");
    node->type = (uint8_t)type;
    node->action = (uint8_t)action;
    node->show = (uint8_t)show;
    Py_ssize_t count = PyTuple_GET_SIZE(children);
    int wanted = type == A_ARRAY || type == A_MAP ? 1 : type == A_UNION || type == A_RECORD ? -1 : 0;
    if (count > MOST_FIELDS || (wanted >= 0 && count != wanted))
        return refuse("a wrong number of fields");
    if (PyBytes_Check(argument)) {
        if (copy_bytes(argument, &node->text, &node->text_length) < 0)
            return -1;
    } else if (argument != Py_None) {
        node->size = PyLong_AsLongLong(argument);
        if (node->size == -1 && PyErr_Occurred())
            return -1;
        if (node->size < 0 || node->size > INT32_MAX)
            return refuse("a size is out of range");
    }
    if ((show == DECIMAL && (type != A_BYTES || node->size > AVRO_SCALE)) || (show == MICROS && type != A_LONG))
        return refuse("a value cannot be shown so");
    if (action == TOKEN && node->text == NULL)
        return refuse("a token has a name");
    node->children = calloc((size_t)count + 1, sizeof(Node));
    if (node->children == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    repeated = repeated || type == A_ARRAY || type == A_MAP;
    for (Py_ssize_t i = 0; i < count; i++) {
        Node *child = &node->children[node->count++];
        if (read_node(child, PyTuple_GET_ITEM(children, i), cells, slots, names, depth + 1, repeated) < 0)
            return -1;
        if (repeated && child->action != SKIP)
            return refuse("what can be repeated is passed over");
    }
    if (!fits(node, cells, slots, names))
        return refuse("an action does not go with its type or place");
    if (type == A_ARRAY && node->children[0].least == 0)
        return refuse("the items of an array have bytes");
    node->least = type == A_ARRAY ? node->children[0].least : least_of(node);
    return 0;
}

static int read_ops(Scanner *s, PyObject *ops) {
    PyObject *text, *letter;
    Py_ssize_t place = 0;
    if (PyDict_Size(ops) > MOST_OPS)
        return refuse("too many operation types");
    while (PyDict_Next(ops, &place, &text, &letter)) {
        Op *op = &s->ops[s->op_count];
        if (!PyBytes_Check(letter) || PyBytes_GET_SIZE(letter) != 1)
            return refuse("an operation type is one letter");
        if (copy_bytes(text, &op->text, &op->length) < 0)
            return -1;
        op->letter = PyBytes_AS_STRING(letter)[0];
        s->op_count++;
    }
    return 0;
}

static PyObject *scanner_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
    static char *words[] = {"head", "names", "wrapped", "ops", "bare_truncates", "delimiter", NULL};
    PyObject *head, *ops, *delimiter;
    int names, wrapped, bare_truncates;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "OipO!pO!", words, &head, &names, &wrapped, &PyDict_Type, &ops,
                                     &bare_truncates, &PyBytes_Type, &delimiter))
        return NULL;
    if (names < 0 || names > MOST_NAMES || (wrapped && names != 1)) {
        PyErr_SetString(PyExc_ValueError, "a wrong number of parts of a name");
        return NULL;
    }
    Scanner *s = (Scanner *)type->tp_alloc(type, 0);
    if (s == NULL)
        return NULL;
    s->names = names;
    s->wrapper = wrapped ? WITH_NUMBER : BARE;
    s->bare_truncates = bare_truncates;
    if (read_node(&s->head, head, -1, 0, names, 0, 0) < 0 || read_ops(s, ops) < 0 ||
        copy_bytes(delimiter, &s->delimiter, &s->delimiter_length) < 0) {
        Py_DECREF(s);
        return NULL;
    }
    return (PyObject *)s;
}

static void table_free(Table *table) {
    rows_free(&table->rows);
    node_free(&table->root);
}

static void scanner_dealloc(PyObject *self) {
    Scanner *s = (Scanner *)self;
    for (int i = 0; i < s->keys.count; i++)
        table_free(&s->tables[i]);
    keys_free(&s->keys);
    for (int i = 0; i < s->op_count; i++)
        free(s->ops[i].text);
    free(s->tables);
    free(s->delimiter);
    node_free(&s->head);
    bytes_free(&s->identity);
    bytes_free(&s->missing);
    Py_TYPE(self)->tp_free(self);
}

static PyObject *scanner_bind(PyObject *self, PyObject *args) {
    Scanner *s = (Scanner *)self;
    PyObject *identity, *program;
    int columns, slots;
    if (!PyArg_ParseTuple(args, "O!Oii", &PyBytes_Type, &identity, &program, &columns, &slots))
        return NULL;
    if (columns < 0 || columns > MOST_FIELDS || slots < 0 || slots > MOST_FIELDS) {
        PyErr_SetString(PyExc_ValueError, "too many columns or slots");
        return NULL;
    }
    const char *name = PyBytes_AS_STRING(identity);
    size_t length = (size_t)PyBytes_GET_SIZE(identity);
    if (keys_find(&s->keys, name, length) >= 0) {
        PyErr_SetString(PyExc_ValueError, "the name is bound already");
        return NULL;
    }
    Table *tables = room_for_one(s->tables, (size_t)s->keys.count, sizeof(Table));
    if (tables == NULL)
        return PyErr_NoMemory();
    s->tables = tables;
    Table table = {0};
    if (read_node(&table.root, program, 2 * columns, slots, 0, 0, 0) < 0 || rows_make(&table.rows, columns, columns, slots) < 0) {
        table_free(&table);
        return NULL;
    }
    tables[s->keys.count] = table;
    int number = keys_add(&s->keys, name, length);
    if (number < 0) {
        table_free(&table);
        return NULL;
    }
    return PyLong_FromLong(number);
}

static Table *table_numbered(Scanner *s, PyObject *number) {
    long place = PyLong_AsLong(number);
    if (place < 0 || place >= s->keys.count) {
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_ValueError, "no table has this number");
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

static PyObject *scanner_limit(PyObject *self, PyObject *args) {
    PyObject *number;
    long long most;
    if (!PyArg_ParseTuple(args, "OL", &number, &most))
        return NULL;
    Table *table = table_numbered((Scanner *)self, number);
    if (table == NULL)
        return NULL;
    table->most = most < 0 ? 0 : most;
    Py_RETURN_NONE;
}

static PyObject *scanner_scan(PyObject *self, PyObject *args) {
    Scanner *s = (Scanner *)self;
    Py_buffer data;
    Py_ssize_t place, most, taken = 0;
    long long ordinal;
    if (!PyArg_ParseTuple(args, "y*nnL", &data, &place, &most, &ordinal))
        return NULL;
    PyObject *result = NULL;
    Bytes ends = {0};
    int unbound = 0, full = -1;
    Verdict verdict = TAKEN;
    if (place < 0 || place > data.len) {
        PyErr_SetString(PyExc_ValueError, "the place is not in the data");
        goto done;
    }
    const char *start = data.buf, *at = start + place, *end = start + data.len;
    while (at < end && (most < 0 || taken < most)) {
        Table *table;
        const char *next = at;
        verdict = record(s, &next, end, ordinal + taken, &table, &unbound);
        if (verdict != TAKEN)
            break;
        if (next == at) { /* a record without bytes has no operation type, so that there is none */
            PyErr_SetString(PyExc_SystemError, "a record without bytes was taken");
            goto done;
        }
        at = next;
        taken++;
        int64_t stop = at - start;
        if (most < 0 && bytes_append(&ends, &stop, sizeof stop) < 0) {
            verdict = NO_MEMORY;
            break;
        }
        if (table->most && table->rows.count >= table->most) {
            full = (int)(table - s->tables);
            break;
        }
    }
    if (verdict == NO_MEMORY) {
        PyErr_NoMemory();
        goto done;
    }
    PyObject *stops = bytes_take(&ends);
    if (stops == NULL)
        goto done;
    if (unbound && write_identity(s) != TAKEN) {
        Py_DECREF(stops);
        PyErr_NoMemory();
        goto done;
    }
    if (unbound)
        result = Py_BuildValue("nniNy#", taken, (Py_ssize_t)(at - start), full, stops, s->identity.data,
                               (Py_ssize_t)s->identity.size);
    else
        result = Py_BuildValue("nniNO", taken, (Py_ssize_t)(at - start), full, stops, Py_None);
done:
    bytes_free(&ends);
    PyBuffer_Release(&data);
    return result;
}

static PyMethodDef scanner_methods[] = {
    {"bind", scanner_bind, METH_VARARGS, "bind(identity, program, columns, slots) -> the number of a table"},
    {"limit", scanner_limit, METH_VARARGS, "limit(number, rows): a scan ends where the table has so many rows, 0: it goes on"},
    {"rows", scanner_rows, METH_O, "rows(number) -> how many rows a table has"},
    {"take", scanner_take, METH_O, "take(number) -> the columns of a table, which is empty afterwards"},
    {"scan", scanner_scan, METH_VARARGS, "scan(data, place, most, ordinal) -> (taken, place, full, ends, identity)"},
    {NULL, NULL, 0, NULL},
};

PyTypeObject AvroScannerType = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "ggfmt.kernels._native.AvroScanner",
    .tp_doc = "Takes records of changes in Avro into columns; see avro_scan.c.",
    .tp_basicsize = sizeof(Scanner),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_new = scanner_new,
    .tp_dealloc = scanner_dealloc,
    .tp_methods = scanner_methods,
};
