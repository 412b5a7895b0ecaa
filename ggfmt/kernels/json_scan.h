/* The scanner of JSON records, between its files: the grammar of a dialect (json_grammar.c), tables (json_tables.c), images
   (json_images.c), members (json_members.c), whole records (json_records.c), and the kind of scanner (json_scan.c). */
#ifndef GGFMT_JSON_SCAN_H
#define GGFMT_JSON_SCAN_H

#include "json.h"
#include "scanner.h"

/* What a member is. NOTE: a slot without a value, which shows that the member is present. ROW: the before image of a delete,
   the after image of every other operation. OLD: the before image of an update; other operations ignore it. NAMES: a part
   of the identity, the names of an object's members. LIST: tokens in objects, each with a `name` and a `value`; the token
   whose name is `same` is a slot instead. BEFORE_CELLS, AFTER_CELLS: an image as a list of cells, which are objects that
   start with a `name`, and have a `value` and perhaps a `type`; the names and types are a part of the identity. */
enum Action {
    SKIP, ENTER, IDENTITY, SLOT, NOTE, OP, TOKENS, BEFORE, AFTER, SAME, ROW, OLD, NAMES, LIST, BEFORE_CELLS, AFTER_CELLS
};

/* Kinds of JSON values that a member takes. STAMP: a string with a time that `json_stamp` takes. */
enum { STRINGS = 1, NULLS = 2, INTEGERS = 4, NUMBERS = 8, BOOLEANS = 16, NESTED = 32, STAMP = 64 };

/* What a scanner makes of images. ROWS: columns. DEFINITIONS: nothing. It only checks whether the columns and the kinds of
   their values are known, and notes which column came next to which. */
enum Purpose { ROWS, DEFINITIONS };

/* Which columns of an image are kept. */
enum Keep { KEEP_NONE, KEEP_KEYS, KEEP_ALL };

/* What an object may have besides its declared members: nothing, anything, or columns. */
enum { NOTHING, ANYTHING, COLUMNS };

/* A state: the image has a value of the column, or the record does not name the column at all. */
enum { IN_AFTER = 1, IN_BEFORE = 2, NOT_NAMED = 4, LEFT_OUT = 8 };

enum { MAX_COLUMN_MEMBERS = 2 };
enum { MAX_MEMBERS = 64, MAX_SLOTS = 48, MAX_DEPTH = 8, MAX_TOKENS = 48, MAX_ROW_DIGITS = 11, MAX_PAIRED = 4096 };

typedef struct {
    const char *start;
    const char *end;
    uint8_t kind; /* of Kind; MISSING where the record lacks the member */
    uint8_t escaped;
    uint8_t is_stamp;
} Span;

typedef struct Node {
    Slice name;
    enum Action action;
    int required;
    int place;      /* of a slot, or of a part of the identity; -1 for none */
    int takes;      /* the kinds of values that the member takes; of an object, what else it may have */
    int in_text;    /* the object is in a string */
    Slice same;   /* the bytes that the member must have */
    Slice token;  /* the name of the token that the member makes; of an object, the prefix for tokens of unknown members */
    Slice unless; /* with this text the member makes no token */
    int rank;       /* tokens are ordered by rank, and in one rank as the record has them */
    int next;       /* the sibling that followed the member in the last record */
    int first;      /* the child that came first in the last record */
    int children_count;
    struct Node *children;
} Node;

/* A token of the record in hand. Its name has two parts. */
typedef struct {
    Slice prefix;
    Slice name;
    Span text;
    int rank;
} Token;

/* The detail of an identity. */
typedef struct {
    size_t *parts; /* where each part starts, and the end */
    Slice states;  /* of each column of the table, in which images it has a value; none if the images decide */
    int masked;    /* the images decide, except for the columns that are LEFT_OUT: an after image has no value of them, and
                      a before image no NULL */
    int valued[2]; /* how many columns an after image and a before image need at least */
} Identity;

typedef struct {
    Table base;
    Keys names;
    uint8_t *is_key;
    Slice takes;      /* the kinds of values of each column; none for any. For ROWS, columns then come in order */
    Bytes pairs;      /* for DEFINITIONS, the places (int32) of two columns that came next to each other, as first met */
    uint64_t *paired; /* for each column a set of those that came next to it, in bits */
    uint32_t *stamps; /* of each column, the image that had it last */
    uint32_t stamp;
} JsonTable;

typedef struct {
    Slice from;
    char letter;   /* 0 for records that are no operations and are only counted */
    int64_t count; /* of such records */
    Slice token; /* the name and the text of a token that such operations have, and its rank */
    Slice token_text;
    int rank;
} OpName;

/* Undeclared members that are columns: how their names start, and the image that they are of: BEFORE, AFTER or ROW. */
typedef struct {
    Slice prefix;
    enum Action action;
} ColumnMembers;

/* An image while its columns are taken. */
typedef struct {
    Column *columns; /* where the values go */
    enum Keep keep;
    int old;
    int64_t row;
    int expected; /* the column that most likely comes next */
    int last;     /* the column before; -1 for none */
    int lacking;  /* how many columns are still to come, if the identity has states */
} Image;

typedef struct {
    Scanner base;
    Node root;
    ColumnMembers columns[MAX_COLUMN_MEMBERS];
    int columns_count;
    int slots;
    int identity_parts; /* the number of parts of an identity */
    int row_only;
    int key_updates;
    int overlay; /* before images of updates have only the changed columns */
    enum Purpose purpose;
    Bytes pairs; /* of the record in hand, as in its table; those that were met before are not among them */
    int listed; /* images are in lists */
    int cells;  /* images are lists of cells */
    OpName *ops;
    int op_count;
    ImageRules rules;
    Slice row_token; /* with several operations in a record, the name of the token with the number of each */
    Bytes names; /* the names of the record's NAMES */
    Bytes cell_names[2]; /* the names and types of the record's cells, after and before the operation */
    /* the record in hand */
    Span slot[MAX_SLOTS];
    Span part[MAX_SLOTS];
    int parts_met;
    uint64_t known; /* bits: the parts that are those of the identity found last */
    Span before;
    Span after;
    Span row_image;
    Span old_image;
    Token tokens[MAX_TOKENS];
    int token_count;
    const OpName *named;
    char op;
    int whole; /* the scanner has seen the whole record, and so all parts of its identity */
    int old_count, new_count;
    int old_done, new_done;
    Image image; /* whose columns are members of the record */
} JsonScanner;

/* What is known of the identity that was found last. */
static inline const Identity *json_identity(const JsonScanner *s) {
    return s->base.bindings[s->base.last].detail;
}

static inline Verdict put_span(Column *column, int64_t row, const Span *span, const char *end) {
    if (span->is_stamp) {
        Verdict ready = column_ready(column, row, JSON_STAMP);
        if (ready != TAKEN)
            return ready;
        if (!json_stamp(span->start, span->end, column->data.data + column->data.size))
            return ODD;
        column->data.size += JSON_STAMP;
        column_end(column, row, TEXT);
        return TAKEN;
    }
    if (!span->escaped)
        return column_put(column, row, span->start, (size_t)(span->end - span->start), (size_t)(end - span->start), span->kind);
    Verdict verdict = column_ready(column, row, (size_t)(span->end - span->start) + SLACK);
    if (verdict == TAKEN)
        verdict = json_unescape(&column->data, span->start, span->end);
    if (verdict == TAKEN)
        column_end(column, row, span->kind);
    return verdict;
}

/* Reads a value from its start to behind it, as a span; NULL if there is none. */
static inline const char *spanned(const char *at, const char *end, Span *span, int *kinds) {
    int integer = 0, escaped = 0;
    if (at >= end)
        return NULL;
    *span = (Span){at, at, LITERAL, 0, 0};
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

/* json_grammar.c */
int json_read_members(JsonScanner *s, Node *node, PyObject *members, int depth);
int json_read_columns(JsonScanner *s, PyObject *columns);
int json_read_ops(JsonScanner *s, PyObject *ops);

/* json_tables.c */
const char *json_known_part(const JsonScanner *s, int place, const char *at, const char *end);
int json_write_identity(JsonScanner *s);
Verdict json_find_table(JsonScanner *s);
int json_read_identity(JsonScanner *s, int key, PyObject *states, JsonTable *table);
int json_make_table(Scanner *base, Table *table, int key, PyObject *description);
void json_free_table(Table *table);

/* json_images.c: all images of a member, from the start of its value to behind it. */
Verdict json_images(JsonScanner *s, int old, const char **place, const char *end, int *count);

/* An undeclared member that is a column, from the start of its value to behind it. */
Verdict json_column(JsonScanner *s, Slice name, const char **place, const char *end);

/* Adds the pairs of columns of the record in hand, which is taken, to those of its table. */
Verdict json_keep_pairs(JsonScanner *s);

/* json_members.c: an object of known members, from its brace to behind it. */
Verdict json_object(JsonScanner *s, Node *node, const char **place, const char *end);

/* json_records.c: a record from its brace to behind it. */
Verdict json_record(Scanner *base, const char **place, const char *end, int64_t ordinal);

#endif
