/* Scanner of records of changes in Avro.

   The records of a table have a program: a tree of nodes, as the schema has its fields, some with an action on their value.
   Where one stream has records of several tables, all of them start with the same fields, some of which name the table; or
   a wrapper names it. A scan notes the end of each record that it takes. */
#include "avro_program.h"
#include "scanner.h"

/* What becomes of a value. Places of cells count through both images. FLAG: a boolean; a cell is missing if it is true.
   TOKEN_TEXT: the text of a token whose name was put already; programs of Python do not have it. */
enum Action { SKIP, CELL, SLOT, OP, FLAG, TOKEN, TOKENS, IMAGE, NAME, TOKEN_TEXT };

enum { MAX_NAMES = 8 };

typedef struct {
    Table base;
    Node root;
} AvroTable;

typedef struct {
    Scanner base;
    Node head;          /* what all records start with, up to the last part of the table's name */
    int names;          /* the number of these parts */
    int wrapped;        /* a record is the bytes behind the name of its table and a number */
    int bare_truncates; /* a truncate has no columns, whatever its record has */
    Slice delimiter;  /* behind each record */
    OpWords ops;
    /* the record in hand */
    Slice name[MAX_NAMES];
    Bytes missing; /* int: the cells that are missing, by their flags */
    Rows *rows;
    char op;
    int images;
} AvroScanner;

typedef AvroScanner Sink;

/* What the walk does with values */

static Verdict on_string(Sink *s, const Node *node, const char *text, size_t length, size_t readable) {
    Rows *rows = s->rows;
    switch ((enum Action)node->action) {
    case CELL:
        return column_put(&rows->before[node->place], s->base.row, text, length, readable, TEXT);
    case SLOT:
        return column_put(&rows->slot[node->place], s->base.row, text, length, readable, TEXT);
    case NAME:
        s->name[node->place] = (Slice){text, length};
        return TAKEN;
    case OP:
        s->op = op_letter(&s->ops, text, length);
        return s->op ? TAKEN : ODD;
    case TOKEN:
        return length ? rows_token(rows, key_text(&node->texts, 0), text, length, readable) : TAKEN;
    case TOKEN_TEXT:
        return column_put(&rows->token_texts, rows->token_texts.rows, text, length, readable, TEXT);
    default:
        return TAKEN;
    }
}

static Verdict on_null(Sink *s, const Node *node) {
    switch ((enum Action)node->action) {
    case CELL:
        return column_put(&s->rows->before[node->place], s->base.row, "", 0, 0, IS_NULL);
    case SLOT:
        return column_put(&s->rows->slot[node->place], s->base.row, "", 0, 0, IS_NULL);
    case OP:
    case NAME:
        return ODD;
    default:
        return TAKEN;
    }
}

/* Puts a text that was made of a value; ODD if it has no length, for then none could be made. */
static Verdict put_made(Sink *s, const Node *node, const char *text, size_t length) {
    return length == 0 ? ODD : on_string(s, node, text, length, AVRO_TEXT);
}

static Verdict on_boolean(Sink *s, const Node *node, int value) {
    if (node->action == FLAG)
        return value && bytes_append(&s->missing, &node->place, sizeof node->place) < 0 ? NO_MEMORY : TAKEN;
    return value ? on_string(s, node, "true", 4, 4) : on_string(s, node, "false", 5, 5);
}

static Verdict on_long(Sink *s, const Node *node, int64_t value) {
    char text[AVRO_TEXT];
    if (node->action == SKIP)
        return TAKEN;
    return put_made(s, node, text, node->show == STAMP ? micros_text(text, value) : integer_text(text, value));
}

static Verdict on_double(Sink *s, const Node *node, double value) {
    char text[AVRO_TEXT];
    return node->action == SKIP ? TAKEN : put_made(s, node, text, double_text(text, value));
}

static Verdict on_float(Sink *s, const Node *node, float value) {
    return on_double(s, node, (double)value);
}

static Verdict on_bytes(Sink *s, const Node *node, const char *start, size_t length) {
    char text[AVRO_TEXT];
    if (node->action == SKIP)
        return TAKEN;
    if (node->show == DECIMAL)
        return put_made(s, node, text, decimal_text(text, start, length, (int)node->size));
    Column *columns = node->action == CELL ? s->rows->before : s->rows->slot;
    return put_base64(&columns[node->place], s->base.row, start, length);
}

static inline Verdict on_enum(Sink *Py_UNUSED(s), const Node *Py_UNUSED(node), int Py_UNUSED(symbol)) {
    return TAKEN;
}

static inline Verdict on_item(Sink *Py_UNUSED(s), const Node *Py_UNUSED(node), int64_t Py_UNUSED(item)) {
    return TAKEN;
}

static inline Verdict on_key(Sink *s, const Node *node, int64_t item, const char *name, size_t length, size_t readable) {
    (void)item;
    Column *names = &s->rows->token_names;
    return node->action == TOKENS ? column_put(names, names->rows, name, length, readable, TEXT) : TAKEN;
}

static inline Verdict on_close(Sink *s, const Node *node, int64_t Py_UNUSED(items)) {
    if (node->action == IMAGE)
        s->images |= node->place;
    return TAKEN;
}

static inline int has_unique_names(const Node *node) {
    return node->action == TOKENS;
}

#include "avro_walk.h"

/* Finds the table of the record that starts at a place. Its identity has the parts of a name, each behind its length. Of a
   wrapped record, `place` and `end` become those of its bytes. */
static Verdict find_table(AvroScanner *s, const char **place, const char **end) {
    Scanner *base = &s->base;
    const char *at = *place;
    if (!s->wrapped) {
        Verdict verdict = walk(s, &s->head, &at, *end);
        if (verdict != TAKEN)
            return verdict;
    } else {
        int64_t number;
        size_t length;
        at = avro_text(at, *end, &s->name[0]);
        if (at == NULL || (at = avro_long(at, *end, &number)) == NULL || (at = avro_bytes(at, *end, place, &length)) == NULL)
            return ODD;
        *end = at;
    }
    base->identity.size = 0;
    for (int i = 0; i < s->names; i++)
        if (bytes_append(&base->identity, &s->name[i].length, sizeof s->name[i].length) < 0 ||
            bytes_append(&base->identity, s->name[i].start, s->name[i].length) < 0)
            return NO_MEMORY;
    Verdict verdict = scanner_find(base, base->identity.data, base->identity.size);
    base->is_unbound &= s->names > 0;
    return verdict;
}

/* A record from its start to behind it and its delimiter. */
static Verdict record(Scanner *base, const char **place, const char *end, int64_t ordinal) {
    AvroScanner *s = (AvroScanner *)base;
    const char *at = *place, *stop = end;
    s->op = 0;
    s->images = 0;
    s->missing.size = 0;
    Verdict verdict = find_table(s, &at, &stop);
    if (verdict != TAKEN)
        return verdict;
    Rows *rows = s->rows = &base->table->rows;
    verdict = walk(s, &((AvroTable *)base->table)->root, &at, stop);
    if (verdict != TAKEN)
        return verdict;
    if ((!s->op && !base->routes) || (s->wrapped && at != stop))
        return ODD;
    if ((size_t)(end - at) < s->delimiter.length || memcmp(at, s->delimiter.start, s->delimiter.length) != 0)
        return ODD;
    at += s->delimiter.length;
    if (base->routes) {
        *place = at;
        return TAKEN;
    }
    if (s->bare_truncates && s->op == 'T')
        for (int i = 0; i < rows->old_columns + rows->new_columns; i++)
            column_cut(&rows->before[i], s->base.row);
    for (size_t i = 0; i < s->missing.size / sizeof(int); i++)
        column_cut(&rows->before[((int *)s->missing.data)[i]], s->base.row);
    int64_t border = at - base->data;
    *place = at;
    if (bytes_append(&base->notes, &border, sizeof border) < 0)
        return NO_MEMORY;
    return rows_end(rows, s->base.row, s->op, s->images, ordinal);
}

/* The scanner */

/* The places that a program may use. In a head, where the table is not known yet, `cells` is -1 and `names` counts. */
typedef struct {
    int cells;
    int slots;
    int names;
} Limits;

/* Whether the action of a node goes with its type and place: whether what is put can be put. */
static int fits(const Node *node, const Limits *limits) {
    const int is_single = node->type < A_ENUM, place = node->place;
    if (limits->cells < 0 && node->action != SKIP && node->action != NAME)
        return 0;
    switch ((enum Action)node->action) {
    case SKIP:
        return 1;
    case CELL:
        return is_single && place >= 0 && place < limits->cells;
    case SLOT:
        return is_single && place >= 0 && place < limits->slots;
    case OP:
        return node->type == A_STRING || node->type == A_NULL;
    case TOKEN:
        return node->texts.count == 1 && (node->type == A_STRING || node->type == A_NULL);
    case NAME:
        return node->type == A_STRING && place >= 0 && place < limits->names;
    case FLAG:
        return node->type == A_BOOLEAN && place >= 0 && place < limits->cells;
    case TOKENS:
        return node->type == A_MAP && node->children[0].type == A_STRING;
    case IMAGE:
        return node->type == A_RECORD && (place == 1 || place == 2);
    case TOKEN_TEXT:
        return 0;
    }
    return 0;
}

static int check_node(Node *node, const void *limits) {
    if ((node->type == A_ARRAY || node->type == A_MAP) && node->children[0].acts)
        return refuse("what can be repeated has no action");
    if (node->show != PLAIN && node->show != DECIMAL && (node->show != STAMP || node->size != 1))
        return refuse("a value cannot be shown so");
    if (node->type == A_BYTES && node->count)
        return refuse("a datum in bytes is not walked");
    if (!fits(node, limits))
        return refuse("an action does not go with its type or place");
    if (node->action == TOKENS)
        node->children[0].action = TOKEN_TEXT;
    return 0;
}

static int make(Scanner *base, PyObject *args, PyObject *keywords) {
    static char *words[] = {"head", "names", "wrapped", "ops", "bare_truncates", "delimiter", NULL};
    AvroScanner *s = (AvroScanner *)base;
    PyObject *head, *ops, *delimiter;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "OipO!pS", words, &head, &s->names, &s->wrapped, &PyDict_Type, &ops,
                                     &s->bare_truncates, &delimiter))
        return -1;
    if (s->names < 0 || s->names > MAX_NAMES || (s->wrapped && s->names != 1))
        return refuse("a wrong number of parts of a name");
    const Limits limits = {-1, 0, s->names};
    if (node_read(&s->head, &base->memory, head, check_node, &limits) < 0 ||
        op_words_read(&s->ops, &base->memory, ops) < 0)
        return -1;
    return text_read(&base->memory, delimiter, &s->delimiter);
}

static void free_scanner(Scanner *base) {
    bytes_free(&((AvroScanner *)base)->missing);
}

/* A table from the program of its records, and the numbers of its columns and slots. */
static int make_table(Scanner *Py_UNUSED(base), Table *table, int Py_UNUSED(key), PyObject *description) {
    PyObject *program;
    int columns, slots;
    if (!PyArg_ParseTuple(description, "Oii", &program, &columns, &slots))
        return -1;
    if (columns < 0 || columns > AVRO_MAX_FIELDS || slots < 0 || slots > AVRO_MAX_FIELDS)
        return refuse("too many columns or slots");
    const Limits limits = {2 * columns, slots, 0};
    if (node_read(&((AvroTable *)table)->root, &table->memory, program, check_node, &limits) < 0)
        return -1;
    return rows_make(&table->rows, &table->memory, columns, columns, slots);
}

ScannerKind avro_scanner = {
    SCANNER_TYPE("AvroScanner", sizeof(AvroScanner), no_methods,
                 "Takes records of changes in Avro into columns; see avro_scan.c."),
    .table_size = sizeof(AvroTable),
    .make = make,
    .free = free_scanner,
    .make_table = make_table,
    .record = record,
};
