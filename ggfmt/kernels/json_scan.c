/* Records of changes in JSON, taken into columns in one pass over their bytes.

   A record is a JSON object whose members are known: a tree of names tells for each what it is. Some members make up the
   record's identity, which decides on its table and on the names of the columns: the caller binds identities to tables.
   Where the identity comes behind the images, they are passed over and looked at again at the end of the record.

   Nothing is decided here that the exact reader has an opinion on: a record with anything out of the ordinary is ODD,
   leaves no trace in the columns, and ends the scan, so that the caller can have it read and go on behind it. */
#include "json.h"
#include "keys.h"
#include "names.h"
#include "rows.h"

#include <stdlib.h>

/* What a member is. NOTE is a slot that holds no more than that the member is there. */
enum Action { SKIP, ENTER, IDENTITY, SLOT, NOTE, OP, TOKENS, BEFORE, AFTER, SAME };

/* Kinds of JSON values that a slot takes. */
enum { STRINGS = 1, NULLS = 2, INTEGERS = 4, NUMBERS = 8, BOOLEANS = 16, NESTED = 32 };

enum { MOST_MEMBERS = 64, MOST_SLOTS = 32, MOST_DEPTH = 8, MOST_TOKENS = 16 };

typedef struct {
    const char *start;
    const char *end;
    uint8_t kind; /* of Kind; MISSING where the record lacks the member */
    uint8_t escaped;
} Span;

typedef struct Node {
    char *name;
    size_t length;
    enum Action action;
    int required;
    int place;      /* of a slot, or of a part of the identity */
    int takes;      /* the kinds that a slot takes */
    char *same;     /* the bytes that the member must have */
    size_t same_length;
    int children_count;
    struct Node *children;
} Node;

typedef struct {
    char *key;        /* the identity */
    size_t key_length;
    uint64_t hash;
    int bound;
    Names names;
    uint8_t *is_key;
    char *takes;      /* the kinds of values of each column, which then come in order; NULL for any, in any order */
    uint32_t *stamps; /* of the image that a column was met in last */
    uint32_t stamp;
    Rows rows;
} Table;

typedef struct {
    char *from;
    size_t length;
    char letter;
} OpName;

typedef struct {
    PyObject_HEAD
    Node root;
    int slots;
    int identities;
    int row_only;
    int key_updates;
    OpName *ops;
    int op_count;
    signed char rules[128][2]; /* by letter, before and after: -1 not allowed, 1 required */
    Table *tables;
    int table_count;
    int32_t *index; /* of tables by hash, -1 for none */
    size_t index_size;
    int last;
    Bytes identity;
    /* the record in hand */
    Span slot[MOST_SLOTS];
    Span part[MOST_SLOTS];
    int parts;
    Span before;
    Span after;
    Span tokens;
    char op;
    int whole;   /* all of the record was seen, and so all parts of its identity */
    int64_t row; /* of the record's first operation */
    int old_count, new_count;
    int old_done, new_done;
    Table *table;
} Scanner;

/* Tables */

static int same_identity(const Scanner *s, const Table *table) {
    const char *key = table->key;
    size_t left = table->key_length;
    for (int i = 0; i < s->identities; i++) {
        size_t length = (size_t)(s->part[i].end - s->part[i].start);
        if (left < length + 1 || (length && memcmp(key, s->part[i].start, length) != 0) || key[length] != 0)
            return 0;
        key += length + 1;
        left -= length + 1;
    }
    return left == 0;
}

static int write_identity(Scanner *s) {
    s->identity.size = 0;
    for (int i = 0; i < s->identities; i++)
        if (bytes_append(&s->identity, s->part[i].start, (size_t)(s->part[i].end - s->part[i].start)) < 0 ||
            bytes_append(&s->identity, "", 1) < 0)
            return -1;
    return 0;
}

/* The table that the record's identity is bound to; NULL if to none. */
static Verdict find_table(Scanner *s) {
    if (s->table != NULL)
        return TAKEN;
    if (s->last >= 0 && s->tables[s->last].bound && same_identity(s, &s->tables[s->last])) {
        s->table = &s->tables[s->last];
    } else {
        if (write_identity(s) < 0)
            return NO_MEMORY;
        uint64_t hash = hash_of(s->identity.data, s->identity.size);
        if (s->index_size == 0)
            return ODD;
        for (size_t place = hash & (s->index_size - 1); s->index[place] >= 0; place = (place + 1) & (s->index_size - 1)) {
            Table *table = &s->tables[s->index[place]];
            if (table->hash == hash && table->key_length == s->identity.size &&
                memcmp(table->key, s->identity.data, s->identity.size) == 0) {
                if (!table->bound)
                    return ODD;
                s->last = s->index[place];
                s->table = table;
                break;
            }
        }
        if (s->table == NULL)
            return ODD;
    }
    s->row = s->table->rows.count;
    return TAKEN;
}

static void table_free(Table *table) {
    rows_free(&table->rows);
    names_free(&table->names);
    free(table->is_key);
    free(table->takes);
    free(table->stamps);
    free(table->key);
    *table = (Table){0};
}

/* Images */

static Verdict put_span(Column *column, int64_t row, const Span *span, const char *end) {
    if (!span->escaped)
        return column_put(column, row, span->start, (size_t)(span->end - span->start), (size_t)(end - span->start), span->kind);
    Verdict verdict = column_ready(column, row, (size_t)(span->end - span->start) + SLACK);
    if (verdict == TAKEN)
        verdict = json_unescape(&column->data, span->start, span->end);
    if (verdict == TAKEN)
        column_end(column, row, span->kind);
    return verdict;
}

/* A value from its start to behind it, as a span; NULL where it is none. */
static const char *spanned(const char *at, const char *end, Span *span, int *kinds) {
    int integer = 0, escaped = 0;
    if (at >= end)
        return NULL;
    span->start = at;
    span->escaped = 0;
    span->kind = LITERAL;
    switch (*at) {
    case '"':
        span->start = at + 1;
        span->end = json_string(at + 1, end, &escaped);
        span->escaped = (uint8_t)escaped;
        span->kind = TEXT;
        *kinds = STRINGS;
        return span->end == NULL ? NULL : span->end + 1;
    case 'n':
        *kinds = NULLS;
        span->kind = IS_NULL;
        at = json_value(at, end);
        span->end = span->start; /* a NULL has no text */
        return at;
    case 't':
    case 'f':
        *kinds = BOOLEANS;
        return span->end = json_value(at, end);
    case '{':
    case '[':
        *kinds = NESTED;
        return span->end = json_value(at, end);
    default:
        at = span->end = json_number(at, end, &integer);
        *kinds = integer ? INTEGERS | NUMBERS : NUMBERS;
        return at;
    }
}

/* Which columns of an image are kept: none, those of the key, or all. */
enum Keep { KEEP_NONE, KEEP_KEYS, KEEP_ALL };

/* One image from its brace to behind it. */
static Verdict image(Table *table, Column *columns, enum Keep keep, int64_t row, const char **place, const char *end) {
    const char *at = *place;
    int expected = 0, kinds;
    if (++table->stamp == 0) { /* all stamps were used */
        memset(table->stamps, 0, (size_t)table->names.count * sizeof(uint32_t));
        table->stamp = 1;
    }
    if (at >= end || *at != '{')
        return ODD;
    at = json_space(at + 1, end);
    for (;;) { /* an image without columns is odd: it may be one that should not be there */
        if (at >= end || *at != '"')
            return ODD;
        at++;
        int found = name_here(&table->names, expected, at, end);
        if (found < 0) {
            int escaped;
            const char *close = json_string(at, end, &escaped);
            if (close == NULL || escaped || (found = names_find(&table->names, at, (size_t)(close - at))) < 0)
                return ODD;
        }
        if (table->stamps[found] == table->stamp)
            return ODD;
        table->stamps[found] = table->stamp;
        at = json_space(at + table->names.all[found].length + 1, end);
        if (at >= end || *at != ':')
            return ODD;
        Span span;
        at = spanned(json_space(at + 1, end), end, &span, &kinds);
        if (at == NULL)
            return ODD;
        if (table->takes != NULL && (!(kinds & table->takes[found]) || found < expected))
            return ODD;
        if (keep == KEEP_ALL || (keep == KEEP_KEYS && table->is_key[found])) {
            Verdict verdict = put_span(&columns[found], row, &span, end);
            if (verdict != TAKEN)
                return verdict;
        } else if (span.escaped) {
            at = json_value(span.start - 1, end); /* its escapes are checked */
            if (at == NULL)
                return ODD;
        }
        expected = found + 1;
        at = json_space(at, end);
        if (at >= end)
            return ODD;
        if (*at == '}') {
            *place = at + 1;
            return TAKEN;
        }
        if (*at != ',')
            return ODD;
        at = json_space(at + 1, end);
    }
}

/* All images of a member, an object or a list of objects, from the start of the value to behind it. */
static Verdict images(Scanner *s, int old, const char **place, const char *end, int *count) {
    Table *table = s->table;
    Column *columns = old ? table->rows.before : table->rows.after;
    enum Keep keep = KEEP_ALL;
    if (s->row_only) {
        int chosen = old == (s->op == 'D');
        columns = chosen ? table->rows.after : table->rows.before;
        keep = chosen ? KEEP_ALL : old && s->key_updates ? KEEP_KEYS : KEEP_NONE;
    }
    *count = 0;
    if (*place < end && **place == '{') {
        *count = 1;
        return image(table, columns, keep, s->row, place, end);
    }
    if (*place >= end || **place != '[')
        return ODD;
    const char *at = json_space(*place + 1, end);
    for (;;) {
        Verdict verdict = image(table, columns, keep, s->row + *count, &at, end);
        if (verdict != TAKEN)
            return verdict;
        ++*count;
        at = json_space(at, end);
        if (at >= end || (*at != ',' && *at != ']'))
            return ODD;
        if (*at == ']') {
            *place = at + 1;
            return TAKEN;
        }
        at = json_space(at + 1, end);
    }
}

/* Members */

static const Node *child_named(const Node *node, int expected, const char *at, size_t length) {
    for (int i = 0; i < node->children_count; i++) {
        int place = expected + i < node->children_count ? expected + i : expected + i - node->children_count;
        const Node *child = &node->children[place];
        if (child->length == length && memcmp(child->name, at, length) == 0)
            return child;
    }
    return NULL;
}

static Verdict object(Scanner *s, const Node *node, const char **place, const char *end);

static Verdict take_op(Scanner *s, const Span *span) {
    size_t length = (size_t)(span->end - span->start);
    for (int i = 0; i < s->op_count; i++) {
        if (s->ops[i].length == length && memcmp(s->ops[i].from, span->start, length) == 0) {
            s->op = s->ops[i].letter;
            return TAKEN;
        }
    }
    return ODD;
}

/* An image, now if it is known already where it belongs, else a note of where it is. */
static Verdict image_member(Scanner *s, int old, const char **place, const char *end) {
    Span *span = old ? &s->before : &s->after;
    const char *at = *place;
    if (span->start != NULL)
        return ODD;
    span->start = at;
    if (at < end && *at == 'n') {
        span->kind = IS_NULL;
        *place = json_value(at, end);
        return *place == NULL ? ODD : TAKEN;
    }
    span->kind = LITERAL;
    if (s->parts == s->identities && (!s->row_only || s->op)) {
        Verdict verdict = find_table(s);
        if (verdict != TAKEN)
            return verdict;
        verdict = images(s, old, place, end, old ? &s->old_count : &s->new_count);
        *(old ? &s->old_done : &s->new_done) = 1;
        return verdict;
    }
    if (at >= end || (*at != '{' && *at != '['))
        return ODD;
    span->end = *place = json_bracketed(at, end);
    return *place == NULL ? ODD : TAKEN;
}

static Verdict member(Scanner *s, const Node *node, const char **place, const char *end) {
    const char *at = *place;
    int kinds = 0;
    Span span = {0};
    switch (node->action) {
    case SKIP:
        at = json_value(at, end);
        break;
    case ENTER:
        return object(s, node, place, end);
    case IDENTITY:
        s->part[node->place].start = at;
        at = s->part[node->place].end = json_value(at, end);
        s->parts++;
        break;
    case SLOT:
        at = spanned(at, end, &span, &kinds);
        if (at != NULL && !(kinds & node->takes))
            return ODD;
        s->slot[node->place] = span;
        break;
    case NOTE:
        s->slot[node->place] = (Span){at, at, LITERAL, 0};
        at = json_value(at, end);
        break;
    case OP:
        at = spanned(at, end, &span, &kinds);
        if (at == NULL || kinds != STRINGS || take_op(s, &span) != TAKEN)
            return ODD;
        break;
    case TOKENS:
        s->tokens.start = at;
        s->tokens.kind = at < end && *at == 'n' ? IS_NULL : LITERAL;
        if (at >= end || (*at != '{' && *at != 'n'))
            return ODD;
        at = s->tokens.end = json_value(at, end);
        break;
    case BEFORE:
    case AFTER:
        return image_member(s, node->action == BEFORE, place, end);
    case SAME:
        if ((size_t)(end - at) < node->same_length || memcmp(at, node->same, node->same_length) != 0)
            return ODD;
        at = json_value(at, end);
        if (at != NULL && (size_t)(at - *place) != node->same_length)
            return ODD;
        break;
    }
    *place = at;
    return at == NULL ? ODD : TAKEN;
}

/* An object of known members, from its brace to behind it. */
static Verdict object(Scanner *s, const Node *node, const char **place, const char *end) {
    const char *at = *place;
    uint64_t seen = 0;
    int expected = 0;
    if (at >= end || *at != '{')
        return ODD;
    at = json_space(at + 1, end);
    for (;;) {
        if (at >= end || *at != '"')
            return ODD;
        int escaped;
        const char *close = json_string(++at, end, &escaped);
        if (close == NULL)
            return ODD;
        const Node *child = child_named(node, expected, at, (size_t)(close - at));
        if (child == NULL)
            return ODD;
        expected = (int)(child - node->children);
        if (seen & (uint64_t)1 << expected)
            return ODD;
        seen |= (uint64_t)1 << expected;
        expected++;
        at = json_space(close + 1, end);
        if (at >= end || *at != ':')
            return ODD;
        at = json_space(at + 1, end);
        Verdict verdict = member(s, child, &at, end);
        if (verdict != TAKEN)
            return verdict;
        at = json_space(at, end);
        if (at >= end)
            return ODD;
        if (*at == '}')
            break;
        if (*at != ',')
            return ODD;
        at = json_space(at + 1, end);
    }
    for (int i = 0; i < node->children_count; i++)
        if (node->children[i].required && !(seen & (uint64_t)1 << i))
            return ODD;
    *place = at + 1;
    return TAKEN;
}

/* Records */

static Verdict put_tokens(Scanner *s, Table *table, const char *end) {
    const Span *names[MOST_TOKENS];
    Span name[MOST_TOKENS], text;
    int count = 0, kinds;
    const char *at = s->tokens.start;
    if (s->tokens.kind != LITERAL)
        return TAKEN;
    at = json_space(at + 1, end);
    if (*at == '}')
        return TAKEN;
    for (;;) { /* the value was checked before */
        if (count == MOST_TOKENS)
            return ODD;
        at = spanned(at, end, &name[count], &kinds);
        if (at == NULL || name[count].escaped)
            return ODD;
        size_t length = (size_t)(name[count].end - name[count].start);
        for (int i = 0; i < count; i++)
            if ((size_t)(names[i]->end - names[i]->start) == length && memcmp(names[i]->start, name[count].start, length) == 0)
                return ODD;
        names[count] = &name[count];
        at = spanned(json_space(json_space(at, end) + 1, end), end, &text, &kinds);
        if (at == NULL || text.kind == IS_NULL)
            return ODD;
        Verdict verdict = put_span(&table->rows.token_names, table->rows.token_names.rows, &name[count], end);
        if (verdict == TAKEN)
            verdict = put_span(&table->rows.token_texts, table->rows.token_texts.rows, &text, end);
        if (verdict != TAKEN)
            return verdict;
        count++;
        at = json_space(at, end);
        if (at >= end || *at == '}')
            return TAKEN;
        at = json_space(at + 1, end);
    }
}

static Verdict put_row(Scanner *s, Table *table, int64_t row, int image_bits, int64_t ordinal, const char *end) {
    for (int i = 0; i < s->slots; i++) {
        if (s->slot[i].kind == MISSING)
            continue;
        Verdict verdict = put_span(&table->rows.slot[i], row, &s->slot[i], end);
        if (verdict != TAKEN)
            return verdict;
    }
    Verdict verdict = put_tokens(s, table, end);
    return verdict == TAKEN ? rows_end(&table->rows, row, s->op, image_bits, ordinal) : verdict;
}

static int breaks_rule(int rule, int there) {
    return there ? rule < 0 : rule > 0;
}

static Verdict whole_record(Scanner *s, const char *at, const char *end, int64_t ordinal) {
    Verdict verdict = object(s, &s->root, &at, end);
    if (verdict != TAKEN)
        return verdict;
    if (json_space(at, end) != end || !s->op)
        return ODD;
    s->whole = 1;
    verdict = find_table(s);
    if (verdict != TAKEN)
        return verdict;
    for (int old = 1; old >= 0; old--) {
        Span *span = old ? &s->before : &s->after;
        if (span->kind != LITERAL || (old ? s->old_done : s->new_done))
            continue;
        const char *start = span->start;
        verdict = images(s, old, &start, span->end, old ? &s->old_count : &s->new_count);
        if (verdict != TAKEN)
            return verdict;
        if (start != span->end)
            return ODD;
    }
    int has_before = s->before.kind == LITERAL, has_after = s->after.kind == LITERAL;
    const signed char *rules = s->rules[s->op & 127];
    if (breaks_rule(rules[0], has_before) || breaks_rule(rules[1], has_after))
        return ODD;
    if (has_before && has_after && s->old_count != s->new_count)
        return ODD;
    int count = has_after ? s->new_count : has_before ? s->old_count : 1;
    for (int i = 0; i < count; i++) {
        verdict = put_row(s, s->table, s->row + i, has_before | has_after << 1, ordinal, end);
        if (verdict != TAKEN)
            return verdict;
    }
    return TAKEN;
}

static Verdict record(Scanner *s, const char *at, const char *end, int64_t ordinal) {
    memset(s->slot, 0, (size_t)s->slots * sizeof(Span));
    memset(s->part, 0, (size_t)s->identities * sizeof(Span));
    s->before = s->after = s->tokens = (Span){0};
    s->parts = s->old_count = s->new_count = s->old_done = s->new_done = 0;
    s->op = 0;
    s->whole = 0;
    s->table = NULL;
    if (!is_utf8(at, end))
        return ODD;
    Verdict verdict = whole_record(s, at, end, ordinal);
    if (verdict != TAKEN && s->table != NULL)
        rows_cut(&s->table->rows, s->row);
    return verdict;
}

/* The Python object */

static void node_free(Node *node) {
    for (int i = 0; i < node->children_count; i++)
        node_free(&node->children[i]);
    free(node->children);
    free(node->name);
    free(node->same);
}

/* Members as Python gives them: (name, action, required, argument) in a tuple. */
static int read_members(Scanner *s, Node *node, PyObject *members, int depth) {
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
        PyObject *name, *argument;
        int action, required;
        Node *child = &node->children[node->children_count++];
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(members, i), "O!ipO", &PyBytes_Type, &name, &action, &required, &argument))
            return -1;
        if (copy_bytes(name, &child->name, &child->length) < 0)
            return -1;
        child->action = (enum Action)action;
        child->required = required;
        switch (child->action) {
        case ENTER:
            if (read_members(s, child, argument, depth + 1) < 0)
                return -1;
            break;
        case IDENTITY:
            child->place = s->identities++;
            break;
        case SLOT:
            child->place = s->slots++;
            child->takes = (int)PyLong_AsLong(argument);
            if (PyErr_Occurred())
                return -1;
            break;
        case NOTE:
            child->place = s->slots++;
            break;
        case SAME:
            if (copy_bytes(argument, &child->same, &child->same_length) < 0)
                return -1;
            break;
        case SKIP:
        case OP:
        case TOKENS:
        case BEFORE:
        case AFTER:
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

static int read_ops(Scanner *s, PyObject *ops) {
    PyObject *name, *letter;
    Py_ssize_t place = 0;
    s->ops = calloc((size_t)PyDict_Size(ops) + 1, sizeof(OpName));
    if (s->ops == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    while (PyDict_Next(ops, &place, &name, &letter)) {
        OpName *op = &s->ops[s->op_count++];
        if (copy_bytes(name, &op->from, &op->length) < 0)
            return -1;
        if (!PyBytes_Check(letter) || PyBytes_GET_SIZE(letter) != 1) {
            PyErr_SetString(PyExc_ValueError, "an operation type is one letter");
            return -1;
        }
        op->letter = PyBytes_AS_STRING(letter)[0];
    }
    return 0;
}

static int read_rules(Scanner *s, PyObject *rules) {
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

static PyObject *scanner_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
    static char *names[] = {"members", "ops", "rules", "row_only", "key_updates", NULL};
    PyObject *members, *ops, *rules;
    int row_only, key_updates;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O!O!O!pp", names, &PyTuple_Type, &members, &PyDict_Type, &ops,
                                     &PyDict_Type, &rules, &row_only, &key_updates))
        return NULL;
    Scanner *s = (Scanner *)type->tp_alloc(type, 0);
    if (s == NULL)
        return NULL;
    s->row_only = row_only;
    s->key_updates = key_updates;
    s->last = -1;
    if (read_members(s, &s->root, members, 0) < 0 || read_ops(s, ops) < 0 || read_rules(s, rules) < 0) {
        Py_DECREF(s);
        return NULL;
    }
    return (PyObject *)s;
}

static void scanner_dealloc(PyObject *self) {
    Scanner *s = (Scanner *)self;
    for (int i = 0; i < s->table_count; i++)
        table_free(&s->tables[i]);
    for (int i = 0; i < s->op_count; i++)
        free(s->ops[i].from);
    free(s->ops);
    free(s->tables);
    free(s->index);
    node_free(&s->root);
    bytes_free(&s->identity);
    Py_TYPE(self)->tp_free(self);
}

static void index_table(Scanner *s, int number) {
    size_t place = s->tables[number].hash & (s->index_size - 1);
    while (s->index[place] >= 0)
        place = (place + 1) & (s->index_size - 1);
    s->index[place] = number;
}

static int grow_index(Scanner *s) {
    if ((size_t)s->table_count * 2 < s->index_size)
        return 0;
    size_t size = s->index_size ? s->index_size * 2 : 64;
    int32_t *index = malloc(size * sizeof(int32_t));
    if (index == NULL)
        return -1;
    free(s->index);
    s->index = index;
    s->index_size = size;
    memset(index, 0xff, size * sizeof(int32_t));
    for (int i = 0; i < s->table_count; i++)
        index_table(s, i);
    return 0;
}

static int32_t find_key(const Scanner *s, const char *key, size_t length, uint64_t hash) {
    if (s->index_size == 0)
        return -1;
    for (size_t place = hash & (s->index_size - 1); s->index[place] >= 0; place = (place + 1) & (s->index_size - 1)) {
        const Table *table = &s->tables[s->index[place]];
        if (table->hash == hash && table->key_length == length && memcmp(table->key, key, length) == 0)
            return s->index[place];
    }
    return -1;
}

/* Gives a table its columns. */
static int make_columns(Scanner *s, Table *table, PyObject *names, PyObject *keys, PyObject *takes) {
    size_t length;
    if (names_read(&table->names, names) < 0)
        return -1;
    size_t count = (size_t)table->names.count;
    table->is_key = calloc(count + 1, 1);
    table->stamps = calloc(count + 1, sizeof(uint32_t));
    if (!table->is_key || !table->stamps) {
        PyErr_NoMemory();
        return -1;
    }
    int old_columns = s->row_only && !s->key_updates ? 0 : table->names.count;
    if (rows_make(&table->rows, old_columns, table->names.count, s->slots) < 0)
        return -1;
    if (takes != Py_None && copy_bytes(takes, &table->takes, &length) < 0)
        return -1;
    if (takes != Py_None && length != count) {
        PyErr_SetString(PyExc_ValueError, "each column takes some kinds of values");
        return -1;
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(keys); i++) {
        long key = PyLong_AsLong(PyTuple_GET_ITEM(keys, i));
        if (key < 0 || key >= table->names.count) {
            if (!PyErr_Occurred())
                PyErr_SetString(PyExc_ValueError, "a key column is no column");
            return -1;
        }
        table->is_key[key] = 1;
    }
    return 0;
}

static PyObject *scanner_bind(PyObject *self, PyObject *args) {
    Scanner *s = (Scanner *)self;
    PyObject *identity, *names, *keys, *takes;
    if (!PyArg_ParseTuple(args, "O!O!O!O", &PyBytes_Type, &identity, &PyTuple_Type, &names, &PyTuple_Type, &keys, &takes))
        return NULL;
    const char *key = PyBytes_AS_STRING(identity);
    size_t length = (size_t)PyBytes_GET_SIZE(identity);
    uint64_t hash = hash_of(key, length);
    int32_t number = find_key(s, key, length, hash);
    if (number >= 0 && s->tables[number].bound) {
        PyErr_SetString(PyExc_ValueError, "the identity is bound already");
        return NULL;
    }
    if (number < 0) {
        Table *tables = realloc(s->tables, ((size_t)s->table_count + 1) * sizeof(Table));
        if (tables == NULL)
            return PyErr_NoMemory();
        s->tables = tables;
        Table *table = &tables[s->table_count];
        *table = (Table){0};
        if (copy_bytes(identity, &table->key, &table->key_length) < 0)
            return NULL;
        table->hash = hash;
        number = s->table_count++;
        if (grow_index(s) < 0) {
            s->table_count--;
            free(table->key);
            return PyErr_NoMemory();
        }
        if (find_key(s, key, length, hash) < 0)
            index_table(s, number);
    }
    if (make_columns(s, &s->tables[number], names, keys, takes) < 0)
        return NULL;
    s->tables[number].bound = 1;
    return PyLong_FromLong(number);
}

static Table *table_numbered(Scanner *s, PyObject *number) {
    long place = PyLong_AsLong(number);
    if (place < 0 || place >= s->table_count || !s->tables[place].bound) {
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_ValueError, "no table is bound to this number");
        return NULL;
    }
    return &s->tables[place];
}

static PyObject *scanner_unbind(PyObject *self, PyObject *number) {
    Scanner *s = (Scanner *)self;
    Table *table = table_numbered(s, number);
    if (table == NULL)
        return NULL;
    if (table->rows.count) {
        PyErr_SetString(PyExc_ValueError, "the table has rows that nobody took");
        return NULL;
    }
    Table kept = *table;
    table->key = NULL;
    table_free(table);
    table->key = kept.key;
    table->key_length = kept.key_length;
    table->hash = kept.hash;
    Py_RETURN_NONE;
}

static PyObject *scanner_rows(PyObject *self, PyObject *number) {
    Table *table = table_numbered((Scanner *)self, number);
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
    Table *table = table_numbered(s, number);
    if (table == NULL)
        return NULL;
    int keys_alone = s->row_only && s->key_updates;
    return rows_take(&table->rows, keys_alone ? table->is_key : NULL);
}

/* What a scan found: how many records were taken, where the odd record is that ended it, and its identity, as far as it
   is whole and no table is bound to it. */
static PyObject *found(Scanner *s, Py_ssize_t taken, Py_ssize_t start, Py_ssize_t end, Verdict verdict) {
    if (verdict == NO_MEMORY)
        return PyErr_NoMemory();
    if (verdict == ODD && s->table == NULL && (s->whole || s->parts == s->identities) && find_table(s) == ODD) {
        if (write_identity(s) < 0)
            return PyErr_NoMemory();
        return Py_BuildValue("nnny#", taken, start, end, s->identity.data, (Py_ssize_t)s->identity.size);
    }
    return Py_BuildValue("nnnO", taken, start, end, Py_None);
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
    for (const char *at = data + place; at < end;) {
        const char *line = memchr(at, '\n', (size_t)(end - at));
        const char *stop = line == NULL ? end : line;
        const char *start = json_space(at, stop);
        if (start < stop) {
            Verdict verdict = record(s, start, stop, ordinal + taken);
            if (verdict != TAKEN)
                return found(s, taken, start - data, stop - data, verdict);
            taken++;
        }
        at = line == NULL ? end : line + 1;
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
        Verdict verdict = record(s, data + start, data + stop, ordinal + place - first);
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
