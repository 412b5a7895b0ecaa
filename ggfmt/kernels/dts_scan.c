/* Records of Alibaba's Data Transmission Service in Avro, taken into columns in one pass over their bytes.

   There is one schema (formats/dts/schema.py). What a record says of its table, its columns and its key is its identity,
   by which the caller binds it to a definition. Records that hold no change of a table are counted by their operation.

   Nothing is decided here that the exact reader has an opinion on: a record with anything out of the ordinary is ODD,
   leaves no trace in the columns, and ends the scan, so that the caller can have it read and go on behind it. */
#include "avro.h"
#include "keys.h"
#include "names.h"
#include "rows.h"

#include <math.h>
#include <stdlib.h>

enum { MOST_TAGS = 32, MOST_STAMPS = 16, OPERATIONS = 17, MOST_COLUMNS = 1 << 16, MOST_LENGTH = 1 << 26 };

/* What the values of a column become. */
enum Mode { TEXTS, BYTES, BOOLEANS };

/* Places of branches in the union of values. */
enum Branch { B_NULL, B_INTEGER, B_CHARACTER, B_DECIMAL, B_FLOAT, B_TIMESTAMP, B_DATE_TIME, B_ZONED, B_BINARY_GEOMETRY,
              B_TEXT_GEOMETRY, B_BINARY_OBJECT, B_TEXT_OBJECT, B_EMPTY };

/* What an operation is, besides a letter for a change: a row of a first load, a record that is counted, one left alone. */
enum { FIRST_LOAD = 'L', COUNTED = '-', LEFT = '?' };

/* The words that the caller gives, in this order. */
enum Word { W_SOURCE_TYPE, W_VERSION, W_ID, W_BORN, W_SAFE_POSITION, W_TRANSACTION, W_SOURCE_VERSION, W_PROCESS, W_SNAPSHOT,
            W_TRUE, W_KEYS, W_MORE, WORDS };

typedef struct {
    const char *start;
    size_t length;
} Span;

typedef struct {
    int bound;
    int digits;      /* of a fraction of a second */
    int cells;       /* how many values an image has */
    int32_t *place;  /* of each value's column */
    uint8_t *mode;
    Rows rows;
} Table;

/* The parts of an identity. */
typedef struct {
    Span name;
    Span keys;
    Span fields; /* as they stand there, from their branch on */
    int64_t source;
} Identity;

typedef struct {
    PyObject_HEAD
    Names words;
    Names source_types;
    Names unicode; /* charsets that are UTF-8, in lower case */
    Names ascii;   /* those of whose bytes ASCII is ASCII */
    char ops[OPERATIONS];
    signed char rules[128][2]; /* by letter, before and after: -1 not allowed, 1 required */
    int row_only;
    int with_tokens;
    Keys keys;
    Table *tables;
    int last;
    Identity last_identity; /* of the last table, within its key */
    Bytes identity;
    int64_t counts[OPERATIONS];
    /* the record in hand */
    Table *table;
    int64_t row;
    int64_t version, id, stamp, born;
    Span position, safe_position, transaction, source_version;
    Identity of;
    int operation;
    Span process; /* the list, behind its branch */
    int stamps;   /* -1 for no list */
    int tags;
    Span tag_name[MOST_TAGS];
    Span tag_text[MOST_TAGS];
} Scanner;

static const char *text_at(const char *at, const char *end, Span *span) {
    at = avro_bytes(at, end, &span->start, &span->length);
    return at != NULL && avro_utf8(span->start, span->length) ? at : NULL;
}

static int same(const Span *span, const char *text, size_t length) {
    return span->length == length && (length == 0 || memcmp(span->start, text, length) == 0);
}

static int is_word(const Scanner *s, const Span *span, enum Word word) {
    return same(span, s->words.all[word].text, s->words.all[word].length);
}

/* The branch of a union, which is one byte: an even number below 128, halved. */
static const char *branch_at(const char *at, const char *end, int *branch) {
    if (at == NULL || at >= end || (*at & 0x81))
        return NULL;
    *branch = *at >> 1;
    return at + 1;
}

/* Values */

static Verdict put(Scanner *s, Column *column, const char *text, size_t length, size_t readable) {
    return column_put(column, s->row, text, length, readable, TEXT);
}

static size_t two(char *text, int64_t value) {
    text[0] = (char)('0' + value / 10);
    text[1] = (char)('0' + value % 10);
    return 2;
}

/* A number with so many digits at least. */
static size_t padded(char *text, int64_t value, size_t digits) {
    char room[24];
    size_t length = integer_text(room, value), zeros = length < digits ? digits - length : 0;
    memset(text, '0', zeros);
    memcpy(text + zeros, room, length);
    return zeros + length;
}

static size_t fraction_text(char *text, int64_t value, int digits) {
    text[0] = '.';
    return 1 + padded(text + 1, value, (size_t)digits);
}

/* A time of the parts that are there, all of them as usual; 0 for any other. */
static size_t time_text(char *text, const int64_t *part, unsigned there, int digits) {
    static const int64_t most[] = {9999, 12, 31, 23, 59, 59};
    const int64_t limit = digits == 9 ? 1000000000 : 1000000;
    size_t at = 0;
    for (int i = 0; i < 6; i++)
        if ((there & 1u << i) && (part[i] < 0 || part[i] > most[i]))
            return 0;
    int fraction = there >> 6 & 1;
    if (fraction && (part[6] < 0 || part[6] >= limit))
        return 0;
    unsigned parts = there & 63;
    if (parts == 1) /* a year */
        return fraction ? 0 : integer_text(text, part[0]);
    if (parts != 7 && parts != 56 && parts != 63)
        return 0;
    if (parts & 7) {
        at += padded(text, part[0], 4);
        text[at++] = '-';
        at += two(text + at, part[1]);
        text[at++] = '-';
        at += two(text + at, part[2]);
    }
    if (parts == 7)
        return fraction ? 0 : at;
    if (parts & 7)
        text[at++] = ' ';
    at += two(text + at, part[3]);
    text[at++] = ':';
    at += two(text + at, part[4]);
    text[at++] = ':';
    at += two(text + at, part[5]);
    return fraction ? at + fraction_text(text + at, part[6], digits) : at;
}

static const char *parts_at(const char *at, const char *end, int64_t *part, unsigned *there) {
    *there = 0;
    for (int i = 0; i < 7; i++) {
        if (at >= end || (*at != 0 && *at != 2))
            return NULL;
        if (*at++ == 2) {
            *there |= 1u << i;
            at = avro_long(at, end, &part[i]);
            if (at == NULL)
                return NULL;
        }
    }
    return at;
}

/* Whether bytes are a text that reads the same in UTF-8. */
static int reads_as_utf8(const Scanner *s, const Span *charset, const Span *bytes) {
    char name[32];
    if (charset->length > sizeof name)
        return 0;
    for (size_t i = 0; i < charset->length; i++) {
        char c = charset->start[i];
        name[i] = c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
    }
    if (names_find(&s->unicode, name, charset->length) >= 0)
        return avro_utf8(bytes->start, bytes->length);
    if (names_find(&s->ascii, name, charset->length) < 0)
        return 0;
    unsigned char high = 0;
    for (size_t i = 0; i < bytes->length; i++)
        high |= (unsigned char)bytes->start[i];
    return high < 0x80;
}

static Verdict put_boolean(Scanner *s, Column *column, const Span *span) {
    static const char *const texts[][2] = {{"t", "true"}, {"true", "true"}, {"1", "true"},
                                           {"f", "false"}, {"false", "false"}, {"0", "false"}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (same(span, texts[i][0], strlen(texts[i][0])))
            return put(s, column, texts[i][1], strlen(texts[i][1]), strlen(texts[i][1]));
    return ODD;
}

/* One value into its column. */
static Verdict cell(Scanner *s, Column *column, enum Mode mode, int digits, const char **place, const char *end) {
    char text[AVRO_TEXT];
    Span first, value;
    int branch;
    int64_t number, part[7];
    unsigned there;
    size_t length;
    double real;
    const char *at = branch_at(*place, end, &branch);
    if (at == NULL)
        return ODD;
    if (branch == B_NULL) {
        *place = at;
        return column_put(column, s->row, "", 0, 0, IS_NULL);
    }
    if (branch == B_EMPTY) {
        if (at >= end || (*at != 0 && *at != 2))
            return ODD;
        *place = at + 1;
        return *at ? TAKEN : column_put(column, s->row, "", 0, 0, IS_NULL);
    }
    if (mode == BYTES && branch != B_CHARACTER && branch != B_BINARY_GEOMETRY && branch != B_BINARY_OBJECT)
        return ODD;
    switch (branch) {
    case B_INTEGER:
        at = avro_long(at, end, &number);
        if (at == NULL || (at = text_at(at, end, &value)) == NULL)
            return ODD;
        break;
    case B_CHARACTER:
        at = text_at(at, end, &first);
        if (at == NULL || (at = avro_bytes(at, end, &value.start, &value.length)) == NULL)
            return ODD;
        if (mode == BYTES)
            break;
        if (!reads_as_utf8(s, &first, &value))
            return ODD;
        if (mode == BOOLEANS) {
            *place = at;
            return put_boolean(s, column, &value);
        }
        break;
    case B_DECIMAL:
        at = text_at(at, end, &value);
        if (at == NULL || (at = avro_long(at, end, &number)) == NULL || (at = avro_long(at, end, &number)) == NULL)
            return ODD;
        break;
    case B_FLOAT:
        if (end - at < 8)
            return ODD;
        memcpy(&real, at, 8);
        at = avro_long(at + 8, end, &number);
        if (at == NULL || (at = avro_long(at, end, &number)) == NULL || !isfinite(real))
            return ODD;
        value = (Span){text, double_text(text, real)};
        if (value.length == 0)
            return ODD;
        break;
    case B_TIMESTAMP:
        at = avro_long(at, end, &number);
        if (at == NULL || (at = avro_long(at, end, &part[6])) == NULL || number < -62135596800 || number > 253402300799)
            return ODD;
        if (part[6] < 0 || part[6] >= (digits == 9 ? 1000000000 : 1000000))
            return ODD;
        length = micros_text(text, number * 1000000);
        if (length == 0)
            return ODD;
        value = (Span){text, 19 + fraction_text(text + 19, part[6], digits)};
        break;
    case B_DATE_TIME:
    case B_ZONED:
        at = parts_at(at, end, part, &there);
        if (at == NULL || (length = time_text(text, part, there, digits)) == 0)
            return ODD;
        if (branch == B_ZONED) {
            at = text_at(at, end, &first);
            if (at == NULL || first.length == 0 || first.length > 60)
                return ODD;
            text[length++] = ' ';
            for (size_t i = 0; i < first.length; i++) {
                if (first.start[i] < ' ' || first.start[i] > '~')
                    return ODD;
                text[length++] = first.start[i];
            }
        }
        value = (Span){text, length};
        break;
    case B_TEXT_GEOMETRY:
    case B_TEXT_OBJECT:
        at = avro_bytes(at, end, &first.start, &first.length);
        if (at == NULL || (at = text_at(at, end, &value)) == NULL)
            return ODD;
        if (mode == BOOLEANS && branch == B_TEXT_OBJECT) {
            *place = at;
            return put_boolean(s, column, &value);
        }
        break;
    case B_BINARY_GEOMETRY:
    case B_BINARY_OBJECT:
        at = avro_bytes(at, end, &first.start, &first.length);
        if (mode != BYTES || at == NULL || (at = avro_bytes(at, end, &value.start, &value.length)) == NULL)
            return ODD;
        break;
    default:
        return ODD;
    }
    *place = at;
    if (mode == BYTES)
        return put_base64(column, s->row, value.start, value.length);
    size_t readable = value.start == text ? sizeof text : (size_t)(end - value.start);
    return put(s, column, value.start, value.length, readable);
}

/* An image, of which `there` tells whether there is one. */
static Verdict image(Scanner *s, Column *columns, const char **place, const char *end, int *there) {
    const Table *table = s->table;
    int branch, cells = 0;
    *there = 0;
    const char *at = branch_at(*place, end, &branch);
    if (at == NULL || branch > 2)
        return ODD;
    if (branch == 1) { /* a text, which is none if it is empty */
        if (at >= end || *at != 0)
            return ODD;
        at++;
    }
    while (branch == 2) {
        int64_t count;
        at = avro_long(at, end, &count);
        if (at == NULL || count < 0 || count > table->cells - cells)
            return ODD;
        if (count == 0)
            break;
        for (; count; count--, cells++) {
            enum Mode mode = (enum Mode)table->mode[cells];
            Verdict verdict = cell(s, &columns[table->place[cells]], mode, table->digits, &at, end);
            if (verdict != TAKEN)
                return verdict;
        }
    }
    if (cells && cells != table->cells)
        return ODD;
    *there = cells > 0;
    *place = at;
    return TAKEN;
}

/* Tables */

static int same_identity(const Identity *one, const Identity *other) {
    return one->source == other->source && same(&one->name, other->name.start, other->name.length) &&
           same(&one->keys, other->keys.start, other->keys.length) && (one->keys.start == NULL) == (other->keys.start == NULL);
}

static Verdict write_identity(Scanner *s) {
    const Identity *of = &s->of;
    size_t lengths[] = {(size_t)of->source, of->name.length, of->keys.length, of->keys.start != NULL};
    s->identity.size = 0;
    if (bytes_append(&s->identity, lengths, sizeof lengths) < 0 ||
        bytes_append(&s->identity, of->name.start, of->name.length) < 0 ||
        bytes_append(&s->identity, of->keys.start, of->keys.length) < 0 ||
        bytes_append(&s->identity, of->fields.start, of->fields.length) < 0)
        return NO_MEMORY;
    return TAKEN;
}

/* The identity as parts of the key of its table. */
static void remember(Scanner *s, int number) {
    const char *at = s->keys.all[number].text + 4 * sizeof(size_t);
    s->last = number;
    s->last_identity = s->of;
    s->last_identity.name.start = at;
    if (s->of.keys.start != NULL)
        s->last_identity.keys.start = at + s->of.name.length;
    s->last_identity.fields.start = at + s->of.name.length + s->of.keys.length;
}

/* To behind the list of columns. */
static const char *fields_end(const char *at, const char *end) {
    int branch;
    Span name;
    int64_t count, number;
    at = branch_at(at, end, &branch);
    if (at == NULL || branch != 2)
        return NULL;
    for (;;) {
        at = avro_long(at, end, &count);
        if (at == NULL || count < 0)
            return NULL;
        if (count == 0)
            return at;
        for (; count; count--) {
            at = text_at(at, end, &name);
            if (at == NULL || (at = avro_long(at, end, &number)) == NULL)
                return NULL;
        }
    }
}

/* Moves behind the columns and finds the table, which is NULL if the identity is bound to none. */
static Verdict find_table(Scanner *s, const char **place, const char *end) {
    const Span *fields = &s->last_identity.fields;
    if (s->last < s->keys.count && s->tables[s->last].bound && same_identity(&s->of, &s->last_identity) &&
        (size_t)(end - *place) >= fields->length && memcmp(*place, fields->start, fields->length) == 0) {
        *place += fields->length; /* no encoding of columns is the start of another's */
        s->table = &s->tables[s->last];
        return TAKEN;
    }
    const char *at = fields_end(*place, end);
    if (at == NULL)
        return ODD;
    s->of.fields = (Span){*place, (size_t)(at - *place)};
    if (write_identity(s) != TAKEN)
        return NO_MEMORY;
    *place = at;
    int number = keys_find(&s->keys, s->identity.data, s->identity.size);
    if (number < 0 || !s->tables[number].bound)
        return TAKEN;
    remember(s, number);
    s->table = &s->tables[number];
    return TAKEN;
}

/* Tokens */

static Verdict put_token(Scanner *s, const Span *name, const char *text, size_t length, size_t readable) {
    Rows *rows = &s->table->rows;
    Verdict verdict = column_put(&rows->token_names, rows->token_names.rows, name->start, name->length, name->length, TEXT);
    return verdict != TAKEN ? verdict : column_put(&rows->token_texts, rows->token_texts.rows, text, length, readable, TEXT);
}

static Span word(const Scanner *s, enum Word which) {
    return (Span){s->words.all[which].text, s->words.all[which].length};
}

static Verdict put_member(Scanner *s, enum Word which, const Span *text) {
    Span name = word(s, which);
    return text->length ? put_token(s, &name, text->start, text->length, text->length) : TAKEN;
}

static Verdict put_number(Scanner *s, enum Word which, int64_t number) {
    char text[AVRO_TEXT];
    Span made = {text, number ? integer_text(text, number) : 0};
    return put_member(s, which, &made);
}

static Verdict put_process(Scanner *s) {
    char text[MOST_STAMPS * 21 + 2];
    size_t length = 0;
    int64_t number;
    const char *at = s->process.start, *end = at + s->process.length;
    Span made = {text, 0};
    if (s->stamps < 0)
        return TAKEN;
    text[length++] = '[';
    for (int left = s->stamps; left;) {
        int64_t count;
        at = avro_long(at, end, &count);
        for (; at != NULL && count && left; count--, left--) {
            at = avro_long(at, end, &number);
            if (at == NULL)
                return ODD;
            if (length > 1)
                text[length++] = ',';
            length += integer_text(text + length, number);
        }
        if (at == NULL)
            return ODD;
    }
    text[length++] = ']';
    made.length = length;
    return put_member(s, W_PROCESS, &made);
}

/* Whether a tag may have the name of a token, by which it would be called otherwise. */
static int clashes(const Scanner *s, const Span *name) {
    for (enum Word which = W_SOURCE_TYPE; which <= W_SNAPSHOT; which++)
        if (is_word(s, name, which))
            return 1;
    const Name *more = &s->words.all[W_MORE];
    return name->length >= more->length && memcmp(name->start, more->text, more->length) == 0;
}

static Verdict put_tokens(Scanner *s) {
    Span source = {s->source_types.all[s->of.source].text, s->source_types.all[s->of.source].length};
    Verdict verdict = put_member(s, W_SOURCE_TYPE, &source);
    if (verdict == TAKEN)
        verdict = put_number(s, W_VERSION, s->version);
    if (verdict == TAKEN)
        verdict = put_number(s, W_ID, s->id);
    if (verdict == TAKEN)
        verdict = put_number(s, W_BORN, s->born);
    if (verdict == TAKEN)
        verdict = put_member(s, W_SAFE_POSITION, &s->safe_position);
    if (verdict == TAKEN)
        verdict = put_member(s, W_TRANSACTION, &s->transaction);
    if (verdict == TAKEN)
        verdict = put_member(s, W_SOURCE_VERSION, &s->source_version);
    if (verdict == TAKEN)
        verdict = put_process(s);
    for (int i = 0; i < s->tags && verdict == TAKEN; i++) {
        const Span *name = &s->tag_name[i], *text = &s->tag_text[i];
        if (clashes(s, name))
            return ODD;
        if (!is_word(s, name, W_KEYS))
            verdict = put_token(s, name, text->start, text->length, text->length);
    }
    if (verdict == TAKEN && s->ops[s->operation] == FIRST_LOAD) {
        Span yes = word(s, W_TRUE);
        verdict = put_member(s, W_SNAPSHOT, &yes);
    }
    return verdict;
}

/* Records */

static const char *process_at(Scanner *s, const char *at, const char *end) {
    int branch;
    int64_t count, number;
    at = branch_at(at, end, &branch);
    s->stamps = -1;
    if (at == NULL || branch > 1)
        return NULL;
    if (branch == 0)
        return at;
    s->stamps = 0;
    s->process.start = at;
    for (;;) {
        at = avro_long(at, end, &count);
        if (at == NULL || count < 0 || count > MOST_STAMPS - s->stamps)
            return NULL;
        if (count == 0)
            break;
        for (; count; count--, s->stamps++) {
            at = avro_long(at, end, &number);
            if (at == NULL)
                return NULL;
        }
    }
    s->process.length = (size_t)(at - s->process.start);
    return at;
}

static const char *tags_at(Scanner *s, const char *at, const char *end) {
    int64_t count;
    s->tags = 0;
    for (;;) {
        at = avro_long(at, end, &count);
        if (at == NULL || count < 0 || count > MOST_TAGS - s->tags)
            return NULL;
        if (count == 0)
            return at;
        for (; count; count--) {
            Span *name = &s->tag_name[s->tags], *text = &s->tag_text[s->tags];
            at = text_at(at, end, name);
            if (at == NULL || (at = text_at(at, end, text)) == NULL)
                return NULL;
            for (int i = 0; i < s->tags; i++)
                if (same(name, s->tag_name[i].start, s->tag_name[i].length))
                    return NULL;
            if (is_word(s, name, W_KEYS))
                s->of.keys = *text;
            s->tags++;
        }
    }
}

/* What stands in front of the columns. */
static const char *head(Scanner *s, const char *at, const char *end) {
    int branch;
    s->of = (Identity){0};
    if ((at = avro_long(at, end, &s->version)) == NULL || (at = avro_long(at, end, &s->id)) == NULL ||
        (at = avro_long(at, end, &s->stamp)) == NULL || (at = text_at(at, end, &s->position)) == NULL ||
        (at = text_at(at, end, &s->safe_position)) == NULL || (at = text_at(at, end, &s->transaction)) == NULL ||
        (at = branch_at(at, end, &branch)) == NULL || branch >= s->source_types.count)
        return NULL;
    s->of.source = branch;
    if ((at = text_at(at, end, &s->source_version)) == NULL || (at = branch_at(at, end, &s->operation)) == NULL ||
        s->operation >= OPERATIONS || (at = branch_at(at, end, &branch)) == NULL || branch > 1)
        return NULL;
    if (branch && (at = text_at(at, end, &s->of.name)) == NULL)
        return NULL;
    if ((at = process_at(s, at, end)) == NULL)
        return NULL;
    return tags_at(s, at, end);
}

/* Behind a member that is null or a text; a list is left to the exact reader. */
static const char *null_or_text(const char *at, const char *end) {
    int branch;
    Span span;
    at = branch_at(at, end, &branch);
    if (at == NULL || branch > 1)
        return NULL;
    return branch ? text_at(at, end, &span) : at;
}

/* The time of birth, if the record has one: `born` is 1, 0, or -1 for one where anything is left. */
static const char *born_at(Scanner *s, const char *at, const char *end, int born) {
    s->born = 0;
    if (born > 0 || (born < 0 && at < end))
        return avro_long(at, end, &s->born);
    return at;
}

static int breaks_rule(int rule, int there) {
    return there ? rule < 0 : rule > 0;
}

static Verdict change(Scanner *s, char op, const char **place, const char *end, int born, int64_t ordinal) {
    Rows *rows = &s->table->rows;
    const char *at = *place;
    char text[AVRO_TEXT];
    int has_before, has_after;
    Verdict verdict = image(s, s->row_only && op == 'D' ? rows->after : rows->before, &at, end, &has_before);
    if (verdict == TAKEN && s->row_only && op == 'D' && at < end && *at != 0)
        return ODD; /* the row is in the after columns already */
    if (verdict == TAKEN)
        verdict = image(s, rows->after, &at, end, &has_after);
    if (verdict != TAKEN)
        return verdict;
    if (breaks_rule(s->rules[(int)op][0], has_before) || breaks_rule(s->rules[(int)op][1], has_after))
        return ODD;
    if ((at = born_at(s, at, end, born)) == NULL)
        return ODD;
    if (s->stamp) {
        if (s->stamp < -62135596800 || s->stamp > 253402300799)
            return ODD;
        verdict = put(s, &rows->slot[0], text, micros_text(text, s->stamp * 1000000), sizeof text);
    }
    if (verdict == TAKEN && s->position.length)
        verdict = put(s, &rows->slot[1], s->position.start, s->position.length, s->position.length);
    if (verdict == TAKEN && s->with_tokens)
        verdict = put_tokens(s);
    if (verdict != TAKEN)
        return verdict;
    *place = at;
    return rows_end(rows, s->row, op, has_before | has_after << 1, ordinal);
}

/* One record from its start to behind it. `unbound` becomes 1 if its identity is bound to no table. */
static Verdict record(Scanner *s, const char **place, const char *end, int born, int64_t ordinal, int *unbound) {
    s->table = NULL;
    const char *at = head(s, *place, end);
    if (at == NULL)
        return ODD;
    char op = s->ops[s->operation];
    if (op == COUNTED) {
        if ((at = null_or_text(at, end)) == NULL || (at = null_or_text(at, end)) == NULL ||
            (at = null_or_text(at, end)) == NULL || (at = born_at(s, at, end, born)) == NULL)
            return ODD;
        *place = at;
        return TAKEN;
    }
    if (op == LEFT || s->of.name.length == 0)
        return ODD;
    Verdict verdict = find_table(s, &at, end);
    if (verdict != TAKEN)
        return verdict;
    if (s->table == NULL) {
        *unbound = 1;
        return ODD;
    }
    s->row = s->table->rows.count;
    verdict = change(s, op == FIRST_LOAD ? 'I' : op, &at, end, born, ordinal);
    if (verdict == TAKEN)
        *place = at;
    return verdict;
}

/* As `record`, which takes all bytes if it is `alone`, and leaves no trace if it is odd. */
static Verdict whole(Scanner *s, const char **place, const char *end, int alone, int born, int64_t ordinal, int *unbound) {
    const char *at = *place;
    Verdict verdict = record(s, &at, end, born, ordinal, unbound);
    if (verdict == TAKEN && alone && at != end)
        verdict = ODD;
    if (verdict != TAKEN) {
        if (s->table != NULL)
            rows_cut(&s->table->rows, s->row);
        return verdict;
    }
    if (s->table == NULL)
        s->counts[s->operation]++;
    *place = at;
    return TAKEN;
}

/* The Python object */

static void table_free(Table *table) {
    rows_free(&table->rows);
    free(table->place);
    free(table->mode);
    *table = (Table){0};
}

static void scanner_dealloc(PyObject *self) {
    Scanner *s = (Scanner *)self;
    for (int i = 0; i < s->keys.count; i++)
        table_free(&s->tables[i]);
    free(s->tables);
    keys_free(&s->keys);
    names_free(&s->words);
    names_free(&s->source_types);
    names_free(&s->unicode);
    names_free(&s->ascii);
    bytes_free(&s->identity);
    Py_TYPE(self)->tp_free(self);
}

static int read_rules(Scanner *s, PyObject *rules) {
    PyObject *letter, *rule;
    Py_ssize_t place = 0;
    while (PyDict_Next(rules, &place, &letter, &rule)) {
        int before, after;
        if (!PyBytes_Check(letter) || PyBytes_GET_SIZE(letter) != 1) {
            PyErr_SetString(PyExc_ValueError, "an operation type is one letter");
            return -1;
        }
        if (!PyArg_ParseTuple(rule, "ii", &before, &after))
            return -1;
        s->rules[PyBytes_AS_STRING(letter)[0] & 127][0] = (signed char)before;
        s->rules[PyBytes_AS_STRING(letter)[0] & 127][1] = (signed char)after;
    }
    return 0;
}

static PyObject *scanner_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
    static char *names[] = {"words", "source_types", "ops", "unicode", "ascii", "rules", "row_only", "with_tokens", NULL};
    PyObject *words, *source_types, *ops, *utf8, *ascii, *rules;
    int row_only, with_tokens;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O!O!O!O!O!O!pp", names, &PyTuple_Type, &words, &PyTuple_Type,
                                     &source_types, &PyBytes_Type, &ops, &PyTuple_Type, &utf8, &PyTuple_Type, &ascii,
                                     &PyDict_Type, &rules, &row_only, &with_tokens))
        return NULL;
    if (PyTuple_GET_SIZE(words) != WORDS || PyTuple_GET_SIZE(source_types) > 64 || PyBytes_GET_SIZE(ops) != OPERATIONS) {
        PyErr_SetString(PyExc_ValueError, "a wrong number of words, types of sources or operations");
        return NULL;
    }
    Scanner *s = (Scanner *)type->tp_alloc(type, 0);
    if (s == NULL)
        return NULL;
    s->row_only = row_only;
    s->with_tokens = with_tokens;
    for (int i = 0; i < OPERATIONS; i++)
        s->ops[i] = PyBytes_AS_STRING(ops)[i] & 127;
    if (names_read(&s->words, words) < 0 || names_read(&s->source_types, source_types) < 0 ||
        names_read(&s->unicode, utf8) < 0 || names_read(&s->ascii, ascii) < 0 || read_rules(s, rules) < 0) {
        Py_DECREF(s);
        return NULL;
    }
    return (PyObject *)s;
}

static int make_table(Table *table, PyObject *places, PyObject *modes, int columns, int digits) {
    Py_ssize_t cells = PyTuple_GET_SIZE(places);
    if (columns < 0 || columns > MOST_COLUMNS || cells > columns || PyBytes_GET_SIZE(modes) != cells ||
        (digits != 6 && digits != 9)) {
        PyErr_SetString(PyExc_ValueError, "a wrong number of columns, modes or digits");
        return -1;
    }
    table->place = calloc((size_t)cells + 1, sizeof(int32_t));
    table->mode = calloc((size_t)cells + 1, 1);
    char *seen = calloc((size_t)columns + 1, 1);
    if (table->place == NULL || table->mode == NULL || seen == NULL) {
        free(seen);
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t i = 0; i < cells; i++) {
        long place = PyLong_AsLong(PyTuple_GET_ITEM(places, i));
        unsigned char mode = (unsigned char)PyBytes_AS_STRING(modes)[i];
        if (place < 0 || place >= columns || seen[place] || mode > BOOLEANS) {
            if (!PyErr_Occurred())
                PyErr_SetString(PyExc_ValueError, "a column that is none, or is there twice, or of no mode");
            free(seen);
            return -1;
        }
        seen[place] = 1;
        table->place[i] = (int32_t)place;
        table->mode[i] = mode;
    }
    free(seen);
    table->cells = (int)cells;
    table->digits = digits;
    return rows_make(&table->rows, columns, columns, 2);
}

static PyObject *scanner_bind(PyObject *self, PyObject *args) {
    Scanner *s = (Scanner *)self;
    PyObject *identity, *places, *modes;
    int columns, digits;
    if (!PyArg_ParseTuple(args, "O!O!O!ii", &PyBytes_Type, &identity, &PyTuple_Type, &places, &PyBytes_Type, &modes, &columns,
                          &digits))
        return NULL;
    const char *key = PyBytes_AS_STRING(identity);
    size_t length = (size_t)PyBytes_GET_SIZE(identity);
    int number = keys_find(&s->keys, key, length);
    if (number >= 0 && s->tables[number].bound) {
        PyErr_SetString(PyExc_ValueError, "the identity is bound already");
        return NULL;
    }
    Table table = {0};
    if (make_table(&table, places, modes, columns, digits) < 0) {
        table_free(&table);
        return NULL;
    }
    if (number < 0) {
        Table *tables = room_for_one(s->tables, (size_t)s->keys.count, sizeof(Table));
        if (tables == NULL) {
            table_free(&table);
            return PyErr_NoMemory();
        }
        s->tables = tables;
        number = keys_add(&s->keys, key, length);
        if (number < 0) {
            table_free(&table);
            return NULL;
        }
    }
    table.bound = 1;
    s->tables[number] = table;
    return PyLong_FromLong(number);
}

static Table *table_numbered(Scanner *s, PyObject *number) {
    long place = PyLong_AsLong(number);
    if (place < 0 || place >= s->keys.count || !s->tables[place].bound) {
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_ValueError, "no table is bound to this number");
        return NULL;
    }
    return &s->tables[place];
}

static PyObject *scanner_unbind(PyObject *self, PyObject *number) {
    Table *table = table_numbered((Scanner *)self, number);
    if (table == NULL)
        return NULL;
    if (table->rows.count) {
        PyErr_SetString(PyExc_ValueError, "the table has rows that nobody took");
        return NULL;
    }
    table_free(table);
    Py_RETURN_NONE;
}

static PyObject *scanner_rows(PyObject *self, PyObject *number) {
    Table *table = table_numbered((Scanner *)self, number);
    return table == NULL ? NULL : PyLong_FromLongLong(table->rows.count);
}

static PyObject *scanner_take(PyObject *self, PyObject *number) {
    Table *table = table_numbered((Scanner *)self, number);
    return table == NULL ? NULL : rows_take(&table->rows, NULL);
}

static PyObject *scanner_counts(PyObject *self, PyObject *Py_UNUSED(none)) {
    Scanner *s = (Scanner *)self;
    PyObject *counts = PyTuple_New(OPERATIONS);
    for (int i = 0; counts != NULL && i < OPERATIONS; i++) {
        PyObject *count = PyLong_FromLongLong(s->counts[i]);
        if (count == NULL)
            Py_CLEAR(counts);
        else
            PyTuple_SET_ITEM(counts, i, count);
    }
    if (counts != NULL)
        memset(s->counts, 0, sizeof s->counts);
    return counts;
}

/* What a scan found: how many records it took or counted, where it stopped, and the identity of the record there, if it is
   bound to no table. */
static PyObject *found(Scanner *s, Py_ssize_t done, Py_ssize_t place, Verdict verdict, int unbound) {
    if (verdict == NO_MEMORY)
        return PyErr_NoMemory();
    if (verdict == ODD && unbound) {
        if (write_identity(s) != TAKEN)
            return PyErr_NoMemory();
        return Py_BuildValue("nny#", done, place, s->identity.data, (Py_ssize_t)s->identity.size);
    }
    return Py_BuildValue("nnO", done, place, Py_None);
}

static PyObject *scanner_scan(PyObject *self, PyObject *args) {
    Scanner *s = (Scanner *)self;
    Py_buffer data;
    Py_ssize_t place, most, done = 0;
    int born, unbound = 0;
    long long ordinal;
    if (!PyArg_ParseTuple(args, "y*nnpL", &data, &place, &most, &born, &ordinal))
        return NULL;
    PyObject *result = NULL;
    if (place < 0 || place > data.len) {
        PyErr_SetString(PyExc_ValueError, "the place is not in the data");
    } else {
        const char *start = data.buf, *at = start + place, *end = start + data.len;
        Verdict verdict = TAKEN;
        while (done < most && verdict == TAKEN) {
            verdict = whole(s, &at, end, 0, born, ordinal + done, &unbound);
            done += verdict == TAKEN;
        }
        result = found(s, done, (Py_ssize_t)(at - start), verdict, unbound);
    }
    PyBuffer_Release(&data);
    return result;
}

static PyObject *scanner_scan_spans(PyObject *self, PyObject *args) {
    Scanner *s = (Scanner *)self;
    Py_buffer data, spans;
    Py_ssize_t first;
    int prefix, unbound = 0;
    long long ordinal;
    if (!PyArg_ParseTuple(args, "y*y*niL", &data, &spans, &first, &prefix, &ordinal))
        return NULL;
    PyObject *result = NULL;
    Py_ssize_t count = spans.len / (2 * (Py_ssize_t)sizeof(int64_t)), place = first;
    Verdict verdict = TAKEN;
    for (; first >= 0 && prefix >= 0 && place < count; place++) {
        int64_t border[2];
        memcpy(border, (const char *)spans.buf + 2 * (size_t)place * sizeof(int64_t), sizeof border);
        if (border[0] < 0 || border[1] < border[0] || border[1] > data.len) {
            PyErr_SetString(PyExc_ValueError, "a span is not in the data");
            goto done;
        }
        const char *at = (const char *)data.buf + border[0], *end = (const char *)data.buf + border[1];
        if (end - at < prefix) {
            verdict = ODD;
            break;
        }
        int64_t length = 0;
        for (int i = 0; i < prefix; i++)
            length = length << 8 | (unsigned char)*at++;
        verdict = prefix && (length != end - at || length > MOST_LENGTH) ? ODD : whole(s, &at, end, 1, -1, ordinal + place - first, &unbound);
        if (verdict != TAKEN)
            break;
    }
    result = found(s, place - first, place, verdict, unbound);
done:
    PyBuffer_Release(&data);
    PyBuffer_Release(&spans);
    return result;
}

static PyMethodDef scanner_methods[] = {
    {"bind", scanner_bind, METH_VARARGS, "bind(identity, places, modes, columns, digits) -> the number of a table"},
    {"unbind", scanner_unbind, METH_O, "unbind(number): records of its identity are odd from now on"},
    {"rows", scanner_rows, METH_O, "rows(number) -> how many rows a table has"},
    {"take", scanner_take, METH_O, "take(number) -> the columns of a table, which is empty afterwards"},
    {"counts", scanner_counts, METH_NOARGS, "counts() -> how many records were counted by operation since the last call"},
    {"scan", scanner_scan, METH_VARARGS, "scan(data, place, most, born, ordinal) -> (done, place, identity)"},
    {"scan_spans", scanner_scan_spans, METH_VARARGS,
     "scan_spans(data, spans, first, prefix, ordinal) -> (done, index of a span, identity)"},
    {NULL, NULL, 0, NULL},
};

PyTypeObject DtsScannerType = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "ggfmt.kernels._native.DtsScanner",
    .tp_doc = "Takes records of DTS into columns; see dts_scan.c.",
    .tp_basicsize = sizeof(Scanner),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_new = scanner_new,
    .tp_dealloc = scanner_dealloc,
    .tp_methods = scanner_methods,
};
