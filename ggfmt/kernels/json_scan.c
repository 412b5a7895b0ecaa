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

#include <stdio.h>
#include <stdlib.h>

/* What a member is. NOTE is a slot that holds no more than that the member is there. ROW is the before image of a delete
   and the after image of all else; OLD is the before image of an update and means nothing elsewhere. NAMES is a part of
   the identity: the names of an object's members. LIST has tokens in objects, each with a `name` and a `value`; that of
   the name that is `same` is a slot instead. */
enum Action { SKIP, ENTER, IDENTITY, SLOT, NOTE, OP, TOKENS, BEFORE, AFTER, SAME, ROW, OLD, NAMES, LIST };

/* Kinds of JSON values that a member takes. A STAMP is a string with a time, as `json_stamp` takes it. */
enum { STRINGS = 1, NULLS = 2, INTEGERS = 4, NUMBERS = 8, BOOLEANS = 16, NESTED = 32, STAMP = 64 };

enum { MOST_MEMBERS = 64, MOST_SLOTS = 48, MOST_DEPTH = 8, MOST_TOKENS = 48, MOST_ROW_DIGITS = 11 };

typedef struct {
    const char *start;
    const char *end;
    uint8_t kind; /* of Kind; MISSING where the record lacks the member */
    uint8_t escaped;
    uint8_t is_stamp;
} Span;

/* Text that Python gave; `data` is NULL where it gave none. */
typedef struct {
    char *data;
    size_t length;
} Text;

typedef struct Node {
    char *name;
    size_t length;
    enum Action action;
    int required;
    int place;      /* of a slot, or of a part of the identity; -1 for none */
    int takes;      /* the kinds that a member takes */
    Text same;      /* the bytes that the member must have */
    Text token;     /* the name of the token that the member is too; of an object, what those of other members start with */
    Text unless;    /* the text that is no token */
    int rank;       /* of tokens: those of a lower one come first, and of the same rank those that stand first */
    int next;       /* the sibling that came behind the member last */
    int first;      /* the child that came first last */
    int children_count;
    struct Node *children;
} Node;

/* A token of the record in hand: its name in two parts, and its text. */
typedef struct {
    const char *prefix;
    size_t prefix_length;
    const char *name;
    size_t name_length;
    Span text;
    int rank;
} Token;

/* An identity, and the table that it is bound to, -1 for none. */
typedef struct {
    char *data;
    size_t length;
    uint64_t hash;
    int table;
    size_t *parts; /* where each part starts, and the end */
} Identity;

typedef struct {
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
    Text token; /* the name and the text of a token that such operations have, and its rank */
    Text token_text;
    int rank;
} OpName;

typedef struct {
    PyObject_HEAD
    Node root;
    int slots;
    int identities;
    int row_only;
    int key_updates;
    int listed; /* images are in lists */
    OpName *ops;
    int op_count;
    signed char rules[128][2]; /* by letter, before and after: -1 not allowed, 1 required */
    Table *tables;
    int table_count;
    Identity *keys;
    int key_count;
    int32_t *index; /* of keys by hash, -1 for none */
    size_t index_size;
    int last;       /* the key met last, -1 for none */
    Text row_token; /* of several operations of a record, each has its number in a token of this name */
    int row_rank;
    Bytes identity;
    Bytes names; /* those of the record's NAMES */
    /* the record in hand */
    Span slot[MOST_SLOTS];
    Span part[MOST_SLOTS];
    int parts;
    uint64_t known; /* the parts that are those of the key met last, by bits */
    Span before;
    Span after;
    Span row_image;
    Span old_image;
    Token tokens[MOST_TOKENS];
    int token_count;
    const OpName *named;
    char op;
    int whole;   /* all of the record was seen, and so all parts of its identity */
    int64_t row; /* of the record's first operation */
    int old_count, new_count;
    int old_done, new_done;
    Table *table;
} Scanner;

/* Tables */

static int same_identity(const Scanner *s, const Identity *key) {
    for (int i = 0; i < s->identities; i++) {
        size_t length = (size_t)(s->part[i].end - s->part[i].start);
        if (key->parts[i + 1] - key->parts[i] != length + 1)
            return 0;
        if (!(s->known >> i & 1) && length && memcmp(key->data + key->parts[i], s->part[i].start, length) != 0)
            return 0;
    }
    return 1;
}

/* Behind a part of an identity if it is that of the key met last, which is less work than to look at it; else NULL. */
static const char *known_part(const Scanner *s, int place, const char *at, const char *end) {
    if (s->last < 0)
        return NULL;
    const Identity *key = &s->keys[s->last];
    const char *part = key->data + key->parts[place];
    size_t length = key->parts[place + 1] - key->parts[place] - 1;
    if (length == 0 || (size_t)(end - at) <= length || memcmp(at, part, length) != 0)
        return NULL;
    char c = at[length]; /* a number may go on */
    return c == ',' || c == '}' || c == ']' || is_space(c) ? at + length : NULL;
}

static int write_identity(Scanner *s) {
    s->identity.size = 0;
    for (int i = 0; i < s->identities; i++)
        if (bytes_append(&s->identity, s->part[i].start, (size_t)(s->part[i].end - s->part[i].start)) < 0 ||
            bytes_append(&s->identity, "", 1) < 0)
            return -1;
    return 0;
}

static int32_t find_key(const Scanner *s, const char *data, size_t length, uint64_t hash) {
    if (s->index_size == 0)
        return -1;
    for (size_t place = hash & (s->index_size - 1); s->index[place] >= 0; place = (place + 1) & (s->index_size - 1)) {
        const Identity *key = &s->keys[s->index[place]];
        if (key->hash == hash && key->length == length && memcmp(key->data, data, length) == 0)
            return s->index[place];
    }
    return -1;
}

/* The table that the record's identity is bound to; ODD if to none. */
static Verdict find_table(Scanner *s) {
    if (s->table != NULL)
        return TAKEN;
    if (s->last < 0 || s->keys[s->last].table < 0 || !same_identity(s, &s->keys[s->last])) {
        if (write_identity(s) < 0)
            return NO_MEMORY;
        int32_t found = find_key(s, s->identity.data, s->identity.size, hash_of(s->identity.data, s->identity.size));
        if (found < 0 || s->keys[found].table < 0)
            return ODD;
        s->last = found;
    }
    s->table = &s->tables[s->keys[s->last].table];
    s->row = s->table->rows.count;
    return TAKEN;
}

static void table_free(Table *table) {
    rows_free(&table->rows);
    names_free(&table->names);
    free(table->is_key);
    free(table->takes);
    free(table->stamps);
    *table = (Table){0};
}

/* Images */

static Verdict put_span(Column *column, int64_t row, const Span *span, const char *end) {
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

/* A value from its start to behind it, as a span; NULL where it is none. */
static const char *spanned(const char *at, const char *end, Span *span, int *kinds) {
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

/* All images of a member, an object or, if images are listed, a list of objects, from the start of the value to behind it. */
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
    if (!s->listed) {
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

static Node *child_named(const Node *node, int expected, const char *at, size_t length) {
    for (int i = 0; i < node->children_count; i++) {
        int place = expected + i < node->children_count ? expected + i : expected + i - node->children_count;
        Node *child = &node->children[place];
        if (child->length == length && memcmp(child->name, at, length) == 0)
            return child;
    }
    return NULL;
}

static Verdict object(Scanner *s, Node *node, const char **place, const char *end);

static Verdict take_op(Scanner *s, const Span *span) {
    size_t length = (size_t)(span->end - span->start);
    for (int i = 0; i < s->op_count; i++) {
        if (s->ops[i].length == length && memcmp(s->ops[i].from, span->start, length) == 0) {
            s->op = s->ops[i].letter;
            s->named = &s->ops[i];
            return TAKEN;
        }
    }
    return ODD;
}

/* Takes note of a token, unless its text is one that is none. */
static Verdict add_token(Scanner *s, const Node *node, const char *name, size_t length, const Span *text) {
    if (text->kind == IS_NULL)
        return TAKEN;
    if (node->unless.data != NULL) {
        if (text->escaped)
            return ODD;
        if ((size_t)(text->end - text->start) == node->unless.length &&
            memcmp(text->start, node->unless.data, node->unless.length) == 0)
            return TAKEN;
    }
    if (s->token_count == MOST_TOKENS)
        return ODD;
    Token *token = &s->tokens[s->token_count++];
    *token = (Token){NULL, 0, name, length, *text, node->rank};
    if (node->action == ENTER) {
        token->prefix = node->token.data;
        token->prefix_length = node->token.length;
    }
    return TAKEN;
}

/* A member of an object that takes others than those it knows: they are tokens, or, without a prefix, nothing. */
static Verdict other_member(Scanner *s, const Node *node, const char *name, size_t length, int escaped, const char **place,
                            const char *end) {
    Span span;
    int kinds;
    if (escaped) /* it may be one that is known */
        return ODD;
    if (node->token.data == NULL)
        return (*place = json_value(*place, end)) == NULL ? ODD : TAKEN;
    *place = spanned(*place, end, &span, &kinds);
    return *place == NULL ? ODD : add_token(s, node, name, length, &span);
}

/* The tokens in an object, from its brace to behind it. */
static Verdict token_object(Scanner *s, const Node *node, const char **place, const char *end) {
    Span name, text;
    int kinds;
    const char *at = *place;
    if (at >= end || *at != '{')
        return ODD;
    at = json_space(at + 1, end);
    if (at < end && *at == '}') {
        *place = at + 1;
        return TAKEN;
    }
    for (;;) {
        if (at >= end || *at != '"')
            return ODD;
        at = spanned(at, end, &name, &kinds);
        if (at == NULL || name.escaped)
            return ODD;
        at = json_space(at, end);
        if (at >= end || *at != ':')
            return ODD;
        at = spanned(json_space(at + 1, end), end, &text, &kinds);
        if (at == NULL || !(kinds & node->takes))
            return ODD;
        Verdict verdict = add_token(s, node, name.start, (size_t)(name.end - name.start), &text);
        if (verdict != TAKEN)
            return verdict;
        at = json_space(at, end);
        if (at >= end || (*at != ',' && *at != '}'))
            return ODD;
        if (*at == '}') {
            *place = at + 1;
            return TAKEN;
        }
        at = json_space(at + 1, end);
    }
}

static int is_null(const char *at, const char *end) {
    return at < end && *at == 'n';
}

/* An image, now if it is known already where it belongs, else a note of where it is. */
static Verdict image_member(Scanner *s, const Node *node, const char **place, const char *end) {
    const char *at = *place;
    int old = node->action == BEFORE || node->action == OLD || (node->action == ROW && s->op == 'D');
    if (node->action == OLD && s->op && s->op != 'U') {
        *place = json_value(at, end);
        return *place == NULL ? ODD : TAKEN;
    }
    int now = s->parts == s->identities && (s->op || (!s->row_only && node->action != ROW && node->action != OLD));
    Span *span = now || node->action == BEFORE || node->action == AFTER ? (old ? &s->before : &s->after)
                 : node->action == ROW                                  ? &s->row_image
                                                                        : &s->old_image;
    if (span->start != NULL)
        return ODD;
    span->start = at;
    if (is_null(at, end)) {
        span->kind = IS_NULL;
        *place = json_value(at, end);
        return *place == NULL ? ODD : TAKEN;
    }
    span->kind = LITERAL;
    if (now) {
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

/* A part of the identity. Brackets are enough to find the end of one: it means something only if it is that of a record
   that the exact reader took. */
static const char *identity_part(Scanner *s, int place, const char *at, const char *end) {
    const char *known = known_part(s, place, at, end);
    s->part[place].start = at;
    s->parts++;
    if (known != NULL) {
        s->known |= (uint64_t)1 << place;
        return s->part[place].end = known;
    }
    if (at < end && (*at == '{' || *at == '['))
        return s->part[place].end = json_bracketed(at, end);
    return s->part[place].end = json_value(at, end);
}

/* The names in an object as a part of the identity. */
static Verdict names_part(Scanner *s, const Node *node, const char **place, const char *end) {
    Span *part = &s->part[node->place];
    const char *at = *place;
    int escaped;
    s->parts++;
    if (is_null(at, end)) {
        part->start = at;
        *place = part->end = json_value(at, end);
        return *place == NULL ? ODD : TAKEN;
    }
    if (at >= end || *at != '{')
        return ODD;
    s->names.size = 0;
    for (at = json_space(at + 1, end); at < end && *at == '"';) {
        const char *close = json_string(at + 1, end, &escaped);
        if (close == NULL)
            return ODD;
        if (bytes_append(&s->names, at, (size_t)(close + 1 - at)) < 0)
            return NO_MEMORY;
        at = json_space(close + 1, end);
        if (at >= end || *at != ':' || (at = json_value(json_space(at + 1, end), end)) == NULL)
            return ODD;
        at = json_space(at, end);
        if (at < end && *at == '}') {
            part->start = s->names.data;
            part->end = s->names.data + s->names.size;
            *place = at + 1;
            return TAKEN;
        }
        if (at >= end || *at != ',')
            return ODD;
        at = json_space(at + 1, end);
    }
    return ODD; /* without names, or not an object */
}

/* A `name` and a `value` from the brace of their object to behind it. */
static const char *named_value(const char *at, const char *end, Span *name, Span *value) {
    int kinds;
    name->start = value->start = NULL;
    if (at >= end || *at != '{')
        return NULL;
    for (at = json_space(at + 1, end);;) {
        Span member;
        at = spanned(at, end, &member, &kinds);
        if (at == NULL || kinds != STRINGS || member.escaped)
            return NULL;
        size_t length = (size_t)(member.end - member.start);
        Span *part = length == 4 && memcmp(member.start, "name", 4) == 0    ? name
                     : length == 5 && memcmp(member.start, "value", 5) == 0 ? value
                                                                            : NULL;
        at = json_space(at, end);
        if (part == NULL || part->start != NULL || at >= end || *at != ':')
            return NULL;
        at = spanned(json_space(at + 1, end), end, part, &kinds);
        if (at == NULL || (part == name && (kinds != STRINGS || name->escaped)))
            return NULL;
        at = json_space(at, end);
        if (at < end && *at == '}')
            return name->start != NULL && value->start != NULL ? at + 1 : NULL;
        if (at >= end || *at != ',')
            return NULL;
        at = json_space(at + 1, end);
    }
}

/* Tokens in a list, from its bracket to behind it. */
static Verdict token_list(Scanner *s, const Node *node, const char **place, const char *end) {
    Span name, value;
    const char *at = *place;
    if (at >= end || *at != '[')
        return ODD;
    at = json_space(at + 1, end);
    if (at < end && *at == ']') {
        *place = at + 1;
        return TAKEN;
    }
    for (;;) {
        at = named_value(at, end, &name, &value);
        if (at == NULL)
            return ODD;
        size_t length = (size_t)(name.end - name.start);
        if (length == node->same.length && memcmp(name.start, node->same.data, length) == 0) {
            if (s->slot[node->place].kind != MISSING)
                return ODD;
            s->slot[node->place] = value;
        } else if (node->token.data != NULL) {
            Verdict verdict = add_token(s, node, name.start, length, &value);
            if (verdict != TAKEN)
                return verdict;
        } else if (value.escaped && json_value(value.start - 1, end) == NULL) {
            return ODD;
        }
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

/* A value that is looked at: a slot, a token, both or nothing. */
static Verdict plain_member(Scanner *s, const Node *node, const char **place, const char *end) {
    Span span;
    int kinds = 0;
    const char *at = spanned(*place, end, &span, &kinds);
    if (at == NULL)
        return ODD;
    int is_stamp = !(kinds & node->takes);
    if (is_stamp && (!(node->takes & STAMP) || kinds != STRINGS))
        return ODD;
    if (node->token.data != NULL) {
        Verdict verdict = add_token(s, node, node->token.data, node->token.length, &span);
        if (verdict != TAKEN)
            return verdict;
    }
    span.is_stamp = (uint8_t)is_stamp;
    if (node->place >= 0)
        s->slot[node->place] = span;
    else if (span.escaped && json_value(span.start - 1, end) == NULL) /* its escapes are checked */
        return ODD;
    *place = at;
    return TAKEN;
}

static Verdict member(Scanner *s, Node *node, const char **place, const char *end) {
    const char *at = *place;
    int kinds = 0;
    Span span;
    switch (node->action) {
    case SKIP:
    case SLOT:
        return plain_member(s, node, place, end);
    case ENTER:
        if (!node->required && is_null(at, end)) {
            at = json_value(at, end);
            break;
        }
        return object(s, node, place, end);
    case IDENTITY:
        at = identity_part(s, node->place, at, end);
        if (at != NULL && node->token.data != NULL) {
            if (spanned(*place, end, &span, &kinds) != at)
                return ODD;
            Verdict verdict = add_token(s, node, node->token.data, node->token.length, &span);
            if (verdict != TAKEN)
                return verdict;
        }
        break;
    case NOTE:
        s->slot[node->place] = (Span){at, at, LITERAL, 0, 0};
        at = json_value(at, end);
        break;
    case OP:
        at = spanned(at, end, &span, &kinds);
        if (at == NULL || kinds != STRINGS || take_op(s, &span) != TAKEN)
            return ODD;
        break;
    case TOKENS:
        if (!is_null(at, end))
            return token_object(s, node, place, end);
        at = json_value(at, end);
        break;
    case NAMES:
        return names_part(s, node, place, end);
    case LIST:
        if (!is_null(at, end))
            return token_list(s, node, place, end);
        at = json_value(at, end);
        break;
    case BEFORE:
    case AFTER:
    case ROW:
    case OLD:
        return image_member(s, node, place, end);
    case SAME:
        if ((size_t)(end - at) < node->same.length || memcmp(at, node->same.data, node->same.length) != 0)
            return ODD;
        at = json_value(at, end);
        if (at != NULL && (size_t)(at - *place) != node->same.length)
            return ODD;
        break;
    }
    *place = at;
    return at == NULL ? ODD : TAKEN;
}

/* An object of known members, from its brace to behind it. */
static Verdict object(Scanner *s, Node *node, const char **place, const char *end) {
    const char *at = *place;
    uint64_t seen = 0;
    int expected = node->first, *followed = &node->first; /* records are alike: members come as in the one before */
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
        const char *name = at;
        Node *child = child_named(node, expected, at, (size_t)(close - at));
        if (child == NULL && !node->takes)
            return ODD;
        at = json_space(close + 1, end);
        if (at >= end || *at != ':')
            return ODD;
        at = json_space(at + 1, end);
        Verdict verdict;
        if (child == NULL) {
            verdict = other_member(s, node, name, (size_t)(close - name), escaped, &at, end);
        } else {
            int number = (int)(child - node->children);
            if (seen & (uint64_t)1 << number)
                return ODD;
            seen |= (uint64_t)1 << number;
            *followed = number;
            followed = &child->next;
            expected = child->next;
            verdict = member(s, child, &at, end);
        }
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

static char token_letter(const Token *token, size_t place) {
    return place < token->prefix_length ? token->prefix[place] : token->name[place - token->prefix_length];
}

static int same_name(const Token *one, const Token *other) {
    size_t length = one->prefix_length + one->name_length;
    if (other->prefix_length + other->name_length != length)
        return 0;
    if (one->prefix == other->prefix)
        return one->name == other->name || memcmp(one->name, other->name, one->name_length) == 0;
    for (size_t i = 0; i < length; i++)
        if (token_letter(one, i) != token_letter(other, i))
            return 0;
    return 1;
}

/* The tokens of the record in their order; ODD if two of them have a name. */
static Verdict settle_tokens(Scanner *s) {
    for (int i = 1; i < s->token_count; i++)
        for (int j = 0; j < i; j++)
            if (same_name(&s->tokens[i], &s->tokens[j]))
                return ODD;
    if (s->named != NULL && s->named->token.data != NULL) {
        const OpName *op = s->named;
        Token own = {NULL, 0, op->token.data, op->token.length,
                     {op->token_text.data, op->token_text.data + op->token_text.length, TEXT, 0, 0}, op->rank};
        int there = 0;
        for (int i = 0; i < s->token_count; i++)
            there |= same_name(&own, &s->tokens[i]);
        if (!there) {
            if (s->token_count == MOST_TOKENS)
                return ODD;
            s->tokens[s->token_count++] = own;
        }
    }
    for (int i = 1; i < s->token_count; i++) {
        Token token = s->tokens[i];
        int place = i;
        for (; place > 0 && s->tokens[place - 1].rank > token.rank; place--)
            s->tokens[place] = s->tokens[place - 1];
        s->tokens[place] = token;
    }
    return TAKEN;
}

/* Puts a token in the row after all others. The text of one may lie elsewhere than in the record: it is not read
   beyond its end. */
static Verdict put_token(Table *table, const Token *token) {
    Column *names = &table->rows.token_names;
    Verdict verdict = column_ready(names, names->rows, token->prefix_length + token->name_length + SLACK);
    if (verdict != TAKEN)
        return verdict;
    if (token->prefix_length) {
        memcpy(names->data.data + names->data.size, token->prefix, token->prefix_length);
        names->data.size += token->prefix_length;
    }
    memcpy(names->data.data + names->data.size, token->name, token->name_length);
    names->data.size += token->name_length;
    column_end(names, names->rows, TEXT);
    return put_span(&table->rows.token_texts, table->rows.token_texts.rows, &token->text, token->text.end);
}

/* The tokens of the operation `index` among `count` of the record. */
static Verdict put_tokens(const Scanner *s, Table *table, int index, int count) {
    for (int i = 0; i < s->token_count; i++) {
        Verdict verdict = put_token(table, &s->tokens[i]);
        if (verdict != TAKEN)
            return verdict;
    }
    if (s->row_token.data == NULL || count == 1)
        return TAKEN;
    char digits[MOST_ROW_DIGITS + 1];
    int length = snprintf(digits, sizeof digits, "%d", index);
    Token own = {NULL, 0, s->row_token.data, s->row_token.length, {digits, digits + length, TEXT, 0, 0}, 0};
    return put_token(table, &own);
}

static Verdict put_row(Scanner *s, Table *table, int index, int count, int image_bits, int64_t ordinal, const char *end) {
    int64_t row = s->row + index;
    for (int i = 0; i < s->slots; i++) {
        if (s->slot[i].kind == MISSING)
            continue;
        Verdict verdict = put_span(&table->rows.slot[i], row, &s->slot[i], end);
        if (verdict != TAKEN)
            return verdict;
    }
    Verdict verdict = put_tokens(s, table, index, count);
    return verdict == TAKEN ? rows_end(&table->rows, row, s->op, image_bits, ordinal) : verdict;
}

static int breaks_rule(int rule, int there) {
    return there ? rule < 0 : rule > 0;
}

/* Gives images their role whose role the type of the operation tells; ODD where two have one. */
static Verdict settle_images(Scanner *s, const char *end) {
    if (s->row_image.start != NULL) {
        Span *role = s->op == 'D' ? &s->before : &s->after;
        if (role->start != NULL)
            return ODD;
        *role = s->row_image;
    }
    if (s->old_image.start != NULL) {
        if (s->op != 'U')
            return s->old_image.kind == IS_NULL || json_value(s->old_image.start, end) != NULL ? TAKEN : ODD;
        if (s->before.start != NULL)
            return ODD;
        s->before = s->old_image;
    }
    return TAKEN;
}

static Verdict whole_record(Scanner *s, const char *at, const char *end, int64_t ordinal) {
    Verdict verdict = object(s, &s->root, &at, end);
    if (verdict != TAKEN)
        return verdict;
    if (json_space(at, end) != end || !s->op)
        return ODD;
    s->whole = 1;
    verdict = find_table(s);
    if (verdict == TAKEN)
        verdict = settle_images(s, end);
    if (verdict == TAKEN)
        verdict = settle_tokens(s);
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
        verdict = put_row(s, s->table, i, count, has_before | has_after << 1, ordinal, end);
        if (verdict != TAKEN)
            return verdict;
    }
    return TAKEN;
}

static Verdict record(Scanner *s, const char *at, const char *end, int64_t ordinal) {
    memset(s->slot, 0, (size_t)s->slots * sizeof(Span));
    memset(s->part, 0, (size_t)s->identities * sizeof(Span));
    s->before = s->after = s->row_image = s->old_image = (Span){0};
    s->known = 0;
    s->named = NULL;
    s->token_count = 0;
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
    free(node->same.data);
    free(node->token.data);
    free(node->unless.data);
}

/* As `copy_bytes`, or nothing from None. */
static int copy_text(PyObject *from, Text *to) {
    return from == Py_None ? 0 : copy_bytes(from, &to->data, &to->length);
}

/* What a member is as a token: (name, rank, the text that is none), or None. */
static int read_token(PyObject *token, Node *node) {
    PyObject *name, *unless;
    if (token == Py_None)
        return 0;
    if (!PyArg_ParseTuple(token, "OiO", &name, &node->rank, &unless))
        return -1;
    return copy_text(name, &node->token) < 0 || copy_text(unless, &node->unless) < 0 ? -1 : 0;
}

/* Members as Python gives them: (name, action, required, argument, token) in a tuple. */
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
            if (!PyArg_ParseTuple(argument, "Op", &members_within, &child->takes) ||
                read_members(s, child, members_within, depth + 1) < 0)
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
static int read_ops(Scanner *s, PyObject *ops) {
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
            copy_bytes(text, &op->from, &op->length) < 0 || copy_text(name, &op->token) < 0 ||
            copy_text(token_text, &op->token_text) < 0)
            return -1;
        op->letter = (char)letter;
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
    if (read_members(s, &s->root, members, 0) < 0 || read_ops(s, ops) < 0 || read_rules(s, rules) < 0 ||
        copy_text(row_token, &s->row_token) < 0) {
        Py_DECREF(s);
        return NULL;
    }
    return (PyObject *)s;
}

static void scanner_dealloc(PyObject *self) {
    Scanner *s = (Scanner *)self;
    for (int i = 0; i < s->table_count; i++)
        table_free(&s->tables[i]);
    for (int i = 0; i < s->op_count; i++) {
        free(s->ops[i].from);
        free(s->ops[i].token.data);
        free(s->ops[i].token_text.data);
    }
    for (int i = 0; i < s->key_count; i++) {
        free(s->keys[i].data);
        free(s->keys[i].parts);
    }
    free(s->keys);
    free(s->row_token.data);
    free(s->ops);
    free(s->tables);
    free(s->index);
    node_free(&s->root);
    bytes_free(&s->identity);
    bytes_free(&s->names);
    Py_TYPE(self)->tp_free(self);
}

static void index_key(Scanner *s, int number) {
    size_t place = s->keys[number].hash & (s->index_size - 1);
    while (s->index[place] >= 0)
        place = (place + 1) & (s->index_size - 1);
    s->index[place] = number;
}

/* Makes room in the index for one key more. */
static int grow_index(Scanner *s) {
    if (((size_t)s->key_count + 1) * 2 < s->index_size)
        return 0;
    size_t size = s->index_size ? s->index_size * 2 : 64;
    int32_t *index = malloc(size * sizeof(int32_t));
    if (index == NULL)
        return -1;
    free(s->index);
    s->index = index;
    s->index_size = size;
    memset(index, 0xff, size * sizeof(int32_t));
    for (int i = 0; i < s->key_count; i++)
        index_key(s, i);
    return 0;
}

/* The number of an identity, which is bound to nothing yet if it is new; -1, with an exception, on failure. */
static int key_number(Scanner *s, PyObject *identity) {
    const char *data = PyBytes_AS_STRING(identity);
    size_t length = (size_t)PyBytes_GET_SIZE(identity);
    Identity key = {NULL, 0, hash_of(data, length), -1, NULL};
    int32_t number = find_key(s, data, length, key.hash);
    if (number >= 0)
        return number;
    Identity *keys = realloc(s->keys, ((size_t)s->key_count + 1) * sizeof(Identity));
    if (keys != NULL)
        s->keys = keys;
    if (keys == NULL || grow_index(s) < 0 || (key.parts = calloc((size_t)s->identities + 1, sizeof(size_t))) == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    size_t at = 0;
    for (int i = 0; i < s->identities && at < length; i++) {
        const char *stop = memchr(data + at, 0, length - at);
        at = key.parts[i + 1] = stop == NULL ? length + 1 : (size_t)(stop - data) + 1;
    }
    if (key.parts[s->identities] != length) {
        free(key.parts);
        PyErr_SetString(PyExc_ValueError, "the identity has other parts");
        return -1;
    }
    if (copy_bytes(identity, &key.data, &key.length) < 0) {
        free(key.parts);
        return -1;
    }
    s->keys[s->key_count] = key;
    index_key(s, s->key_count);
    return s->key_count++;
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

/* A table that is bound to nothing. */
static int free_table(Scanner *s) {
    for (int i = 0; i < s->table_count; i++)
        if (!s->tables[i].bound)
            return i;
    Table *tables = realloc(s->tables, ((size_t)s->table_count + 1) * sizeof(Table));
    if (tables == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    s->tables = tables;
    s->table = NULL; /* it may have moved */
    tables[s->table_count] = (Table){0};
    return s->table_count++;
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

static PyObject *scanner_bind(PyObject *self, PyObject *args) {
    Scanner *s = (Scanner *)self;
    PyObject *identity, *names, *keys, *takes;
    if (!PyArg_ParseTuple(args, "O!O!O!O", &PyBytes_Type, &identity, &PyTuple_Type, &names, &PyTuple_Type, &keys, &takes))
        return NULL;
    int key = key_number(s, identity);
    if (key < 0)
        return NULL;
    if (s->keys[key].table >= 0) {
        PyErr_SetString(PyExc_ValueError, "the identity is bound already");
        return NULL;
    }
    int number = free_table(s);
    if (number < 0)
        return NULL;
    if (make_columns(s, &s->tables[number], names, keys, takes) < 0) {
        table_free(&s->tables[number]);
        return NULL;
    }
    s->tables[number].bound = 1;
    s->keys[key].table = number;
    return PyLong_FromLong(number);
}

static PyObject *scanner_bind_too(PyObject *self, PyObject *args) {
    Scanner *s = (Scanner *)self;
    PyObject *identity, *number;
    if (!PyArg_ParseTuple(args, "O!O!", &PyBytes_Type, &identity, &PyLong_Type, &number))
        return NULL;
    const Table *table = table_numbered(s, number);
    int key = table == NULL ? -1 : key_number(s, identity);
    if (key < 0)
        return NULL;
    if (s->keys[key].table >= 0) {
        PyErr_SetString(PyExc_ValueError, "the identity is bound already");
        return NULL;
    }
    s->keys[key].table = (int)(table - s->tables);
    Py_RETURN_NONE;
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
    for (int i = 0; i < s->key_count; i++)
        if (s->keys[i].table == (int)(table - s->tables))
            s->keys[i].table = -1;
    table_free(table);
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
