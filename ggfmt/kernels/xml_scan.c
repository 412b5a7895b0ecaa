/* Scanner of operations in XML as GoldenGate writes them.

   The caller binds tables to the columns that their operations list. An operation of a bound table that lists just these
   columns is taken, whatever white space, quotes, CDATA sections and references it is written with. Odd are: other elements
   and attributes, comments, processing instructions, carriage returns in values, and characters that XML forbids. A scan
   notes the start and the end of each operation that it takes.

   The depth of elements is fixed, so that no function calls itself. */
#include "json.h"
#include "scanner.h"

#include <stdio.h>
#include <stdlib.h>

enum Slot { TIME, POSITION, SLOTS };

enum { MAX_TOKENS = 64 };

/* Characters of the data. `escaped`: there are references among them. `limit` is the end of what can be read. */
typedef struct {
    const char *start;
    const char *end;
    const char *limit;
    int escaped;
} Text;

typedef struct {
    Table base;
    Keys names;
    Bytes *tags;    /* of each column, the first start tag that was met, behind `<col` */
    char count[16]; /* the number of columns, in digits */
} XmlTable;

typedef struct {
    Scanner base;
    int keep;   /* the caller wants values; otherwise it only asks whether operations are regular */
    int tokens; /* the caller wants tokens */
    OpWords ops;
    const char *prolog; /* what may precede an operation */
    size_t prolog_length;
    Bytes text; /* of a value in several pieces, or with references */
    /* the operation in hand */
    const char *end; /* of the data */
    int64_t returns; /* carriage returns in white space between tags */
} XmlScanner;

/* Characters */

static inline const char *space(XmlScanner *s, const char *at) {
    for (; at < s->end && is_space(*at); at++)
        s->returns += *at == '\r';
    return at;
}

static inline int starts(const char *at, const char *end, const char *text, size_t length) {
    return (size_t)(end - at) >= length && memcmp(at, text, length) == 0;
}
#define STARTS(at, end, text) starts(at, end, text, sizeof(text) - 1)

/* Whether all bytes are characters that XML may hold, `returns` carriage returns among them. */
static int is_legal(const char *at, const char *end, int64_t returns) {
    unsigned char low = 0, high = 0, carriage = 0; /* one byte each, so that the compiler vectorizes the loop */
    for (const char *p = at; p < end; p++) {
        unsigned char c = (unsigned char)*p;
        low |= (unsigned char)((c < 0x20) & (c != '\t') & (c != '\n') & (c != '\r'));
        carriage |= c == '\r';
        high |= c & 0x80;
    }
    for (const char *p = at; carriage && p < end; p++)
        returns -= *p == '\r';
    if (low || returns)
        return 0;
    if (!high)
        return 1;
    if (!is_utf8(at, end))
        return 0;
    while ((at = memchr(at, 0xEF, (size_t)(end - at))) != NULL) { /* U+FFFE and U+FFFF */
        if ((unsigned char)at[1] == 0xBF && (unsigned char)at[2] >= 0xBE)
            return 0;
        at++;
    }
    return 1;
}

static int append_character(Bytes *out, uint32_t code) {
    char text[4];
    size_t length = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    if (length == 1) {
        text[0] = (char)code;
    } else {
        for (size_t i = length - 1; i > 0; i--, code >>= 6)
            text[i] = (char)(0x80 | (code & 0x3F));
        text[0] = (char)((0xF00 >> length & 0xFF) | code);
    }
    return bytes_append(out, text, length);
}

static int is_character(uint32_t code) {
    return code == '\t' || code == '\n' || code == '\r' || (code >= 0x20 && code <= 0xD7FF) ||
           (code >= 0xE000 && code <= 0xFFFD) || (code >= 0x10000 && code <= 0x10FFFF);
}

/* Reads a reference from behind its `&` to behind its semicolon; NULL if XML does not define it. */
static const char *reference(const char *at, const char *end, uint32_t *code) {
    static const struct {
        const char *name;
        size_t length;
        char character;
    } own[] = {{"amp;", 4, '&'}, {"lt;", 3, '<'}, {"gt;", 3, '>'}, {"apos;", 5, '\''}, {"quot;", 5, '"'}};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++) {
        if (starts(at, end, own[i].name, own[i].length)) {
            *code = (uint32_t)own[i].character;
            return at + own[i].length;
        }
    }
    if (at >= end || *at != '#')
        return NULL;
    at++;
    uint32_t base = 10;
    if (at < end && *at == 'x') {
        base = 16;
        at++;
    }
    *code = 0;
    for (int digits = 0; at < end && digits <= 8; at++, digits++) {
        char c = *at;
        if (c == ';')
            return digits && is_character(*code) ? at + 1 : NULL;
        uint32_t digit = c >= '0' && c <= '9'   ? (uint32_t)(c - '0')
                         : c >= 'a' && c <= 'f' ? (uint32_t)(c - 'a' + 10)
                         : c >= 'A' && c <= 'F' ? (uint32_t)(c - 'A' + 10)
                                                : 16;
        if (digit >= base)
            return NULL;
        *code = *code * base + digit;
    }
    return NULL;
}

/* Appends characters and resolves references. The result is never longer than the characters. */
static Verdict append_text(Bytes *out, const char *at, const char *end) {
    while (at < end) {
        const char *next = memchr(at, '&', (size_t)(end - at));
        if (next == NULL)
            next = end;
        if (bytes_append(out, at, (size_t)(next - at)) < 0)
            return NO_MEMORY;
        at = next;
        if (at == end)
            break;
        uint32_t code;
        at = reference(at + 1, end, &code);
        if (at == NULL)
            return ODD;
        if (append_character(out, code) < 0)
            return NO_MEMORY;
    }
    return TAKEN;
}

/* Resolves the references of a text into `s->text`, if it has any. The next call overwrites `s->text`. */
static Verdict resolve(XmlScanner *s, Text *text) {
    if (!text->escaped)
        return TAKEN;
    s->text.size = 0;
    Verdict verdict = bytes_reserve(&s->text, 1) < 0 ? NO_MEMORY : append_text(&s->text, text->start, text->end);
    *text = (Text){s->text.data, s->text.data + s->text.size, s->text.data + s->text.size, 0};
    return verdict;
}

/* Puts a text into a row of a column. If `column` is NULL, only checks its references. */
static Verdict put(XmlScanner *s, Column *column, int64_t row, Text *text) {
    Verdict verdict = resolve(s, text);
    if (verdict != TAKEN || column == NULL)
        return verdict;
    return column_put(column, row, text->start, (size_t)(text->end - text->start), (size_t)(text->limit - text->start),
                      TEXT);
}

/* Markup */

static inline int is_name(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/* Reads an attribute from the white space before it to behind its quote. `more` becomes 0 at the end of the tag, `>` or
   a slash, and `place` is there then. */
static Verdict attribute(XmlScanner *s, const char **place, Text *name, Text *value, int *more) {
    const char *at = space(s, *place), *end = s->end;
    *more = at < end && *at != '>' && *at != '/';
    if (at >= end || (*more && at == *place))
        return ODD;
    if (!*more) {
        *place = at;
        return TAKEN;
    }
    name->start = at;
    while (at < end && is_name(*at))
        at++;
    name->end = at;
    at = space(s, at);
    if (name->end == name->start || at >= end || *at != '=')
        return ODD;
    at = space(s, at + 1);
    if (at >= end || (*at != '\'' && *at != '"'))
        return ODD;
    char quote = *at++;
    *value = (Text){at, at, end, 0};
    for (; at < end && *at != quote; at++) {
        if (*at == '<' || (unsigned char)*at < 0x20) /* XML parsers replace line ends in attributes by blanks */
            return ODD;
        value->escaped |= *at == '&';
    }
    if (at >= end)
        return ODD;
    value->end = at;
    *place = at + 1;
    return TAKEN;
}

static inline int is(const Text *text, const char *word, size_t length) {
    return (size_t)(text->end - text->start) == length && memcmp(text->start, word, length) == 0;
}
#define IS(text, word) is(text, word, sizeof(word) - 1)

/* To behind the end of a tag, from behind its name; NULL if more than white space is left. */
static inline const char *tag_end(XmlScanner *s, const char *at) {
    at = space(s, at);
    return at < s->end && *at == '>' ? at + 1 : NULL;
}

/* To behind an end tag; NULL if there is none. */
static inline const char *closing(XmlScanner *s, const char *at, const char *tag, size_t length) {
    if (!STARTS(at, s->end, "</") || !starts(at + 2, s->end, tag, length))
        return NULL;
    return tag_end(s, at + 2 + length);
}
#define CLOSING(s, at, tag) closing(s, at, tag, sizeof(tag) - 1)

/* To behind the start tag of an element without attributes; NULL if there is none. */
static inline const char *opening(XmlScanner *s, const char *at, const char *tag, size_t length) {
    if (at >= s->end || *at != '<' || !starts(at + 1, s->end, tag, length))
        return NULL;
    return tag_end(s, at + 1 + length);
}
#define OPENING(s, at, tag) opening(s, at, tag, sizeof(tag) - 1)

/* The end of a CDATA section, from within it; NULL if it has none. */
static const char *section_end(const char *at, const char *end) {
    while ((at = memchr(at, ']', (size_t)(end - at))) != NULL && !STARTS(at, end, "]]>"))
        at++;
    return at;
}

/* To the next tag; NULL if there is none, or if XML forbids the characters in front of it. */
static const char *characters(const char *at, const char *end, int *escaped) {
    for (; at < end && *at != '<'; at++) {
        if (*at == ']' && STARTS(at, end, "]]>"))
            return NULL;
        *escaped |= *at == '&';
    }
    return at < end ? at : NULL;
}

/* Reads the text of an element without elements, from behind its start tag to its end tag. */
static Verdict content(XmlScanner *s, const char **place, Text *text) {
    const char *at = *place, *end = s->end, *next;
    int escaped = 0, section = STARTS(at, end, "<![CDATA[");
    at += section ? 9 : 0;
    next = section ? section_end(at, end) : characters(at, end, &escaped);
    if (next == NULL)
        return ODD;
    *text = (Text){at, next, end, escaped};
    next += section ? 3 : 0;
    if (STARTS(next, end, "</")) {
        *place = next;
        return TAKEN;
    }
    s->text.size = 0; /* there are several pieces */
    for (at = *place; !STARTS(at, end, "</"); at = next + (section ? 3 : 0)) {
        section = STARTS(at, end, "<![CDATA[");
        at += section ? 9 : 0;
        next = section ? section_end(at, end) : characters(at, end, &escaped);
        if (next == NULL || (next == at && !section))
            return ODD;
        Verdict verdict = section ? bytes_append(&s->text, at, (size_t)(next - at)) < 0 ? NO_MEMORY : TAKEN
                                  : append_text(&s->text, at, next);
        if (verdict != TAKEN)
            return verdict;
    }
    *text = (Text){s->text.data, s->text.data + s->text.size, s->text.data + s->text.size, 0};
    *place = at;
    return bytes_reserve(&s->text, 1) < 0 ? NO_MEMORY : TAKEN;
}

/* Operations */

/* Takes the value of a column in an image, from behind the name of its start tag: `<before` or `<after`. */
static Verdict value(XmlScanner *s, const char **place, const char *tag, size_t length, Column *column, int64_t row,
                     int *present) {
    const char *at = *place, *end = s->end;
    Text text = {at, at, end, 0}, name, state;
    Verdict verdict = TAKEN;
    int more;
    if (at < end && *at == '>') {
        at++;
        verdict = content(s, &at, &text);
        at = verdict == TAKEN ? closing(s, at, tag, length) : at;
    } else if (STARTS(at, end, "/>")) {
        at += 2;
    } else {
        if (attribute(s, &at, &name, &state, &more) != TAKEN || !more || !(IS(&state, "true") || IS(&state, "1")))
            return ODD;
        int missing = IS(&name, "missing");
        if (!missing && !IS(&name, "isNull"))
            return ODD;
        if (attribute(s, &at, &name, &state, &more) != TAKEN || more)
            return ODD;
        at = *at == '>' ? closing(s, at + 1, tag, length) : STARTS(at, end, "/>") ? at + 2 : NULL;
        *place = at;
        if (at == NULL)
            return ODD;
        if (missing)
            return TAKEN;
        *present = 1;
        return column == NULL ? TAKEN : column_put(column, row, text.start, 0, 0, IS_NULL);
    }
    *place = at;
    if (verdict != TAKEN || at == NULL)
        return verdict == NO_MEMORY ? NO_MEMORY : ODD;
    *present = 1;
    return put(s, column, row, &text);
}

/* Reads the start tag of a column, from behind `<col` to behind it. Most tags have the same bytes as the last one. */
static Verdict column_tag(XmlScanner *s, XmlTable *table, int number, const char **place) {
    Bytes *known = &table->tags[number];
    if (known->size && starts(*place, s->end, known->data, known->size)) {
        *place += known->size;
        return TAKEN;
    }
    const char *at = *place, *start = at;
    const Key *expected = &table->names.all[number];
    const int64_t returns = s->returns;
    int named = 0, indexed = 0, more;
    for (;;) {
        Text name, text;
        Verdict verdict = attribute(s, &at, &name, &text, &more);
        if (verdict != TAKEN)
            return verdict;
        if (!more)
            break;
        if (IS(&name, "name") && !named) {
            named = 1;
            verdict = resolve(s, &text);
            if (verdict != TAKEN)
                return verdict;
            if (!is(&text, expected->text, expected->length))
                return ODD;
        } else if (IS(&name, "index") && !indexed && !text.escaped) {
            indexed = 1;
        } else {
            return ODD;
        }
    }
    if (!named || *at != '>')
        return ODD;
    *place = at + 1;
    if (known->size || s->returns != returns)
        return TAKEN;
    return bytes_append(known, start, (size_t)(at + 1 - start)) < 0 ? NO_MEMORY : TAKEN;
}

/* Takes the `col` element of a column, from behind `<col` to behind its end tag. */
static Verdict column_element(XmlScanner *s, XmlTable *table, int number, const char **place, int *images) {
    const char *at = *place, *end = s->end;
    int before = 0, after = 0, present[2] = {0, 0};
    int64_t row = table->base.rows.count;
    Verdict tag = column_tag(s, table, number, &at);
    if (tag != TAKEN)
        return tag;
    for (at = space(s, at); !STARTS(at, end, "</"); at = space(s, at)) {
        Verdict verdict = TAKEN;
        if (STARTS(at, end, "<before") && !before) {
            before = 1;
            at += 7;
            verdict = value(s, &at, "before", 6, s->keep ? &table->base.rows.before[number] : NULL, row, &present[0]);
        } else if (STARTS(at, end, "<after") && !after) {
            after = 1;
            at += 6;
            verdict = value(s, &at, "after", 5, s->keep ? &table->base.rows.after[number] : NULL, row, &present[1]);
        } else if (STARTS(at, end, "<missing/>")) {
            at += 10;
        } else {
            return ODD;
        }
        if (verdict != TAKEN)
            return verdict;
    }
    *images |= present[0] | present[1] << 1;
    *place = CLOSING(s, at, "col");
    return *place == NULL ? ODD : TAKEN;
}

/* Takes the name or the value of a token into a row of a column, if the caller wants tokens. */
static Verdict token_part(XmlScanner *s, const char **place, const char *tag, size_t length, Column *column, int64_t row) {
    Text text;
    const char *at = opening(s, *place, tag, length);
    if (at == NULL)
        return ODD;
    Verdict verdict = content(s, &at, &text);
    if (verdict == TAKEN)
        verdict = put(s, s->keep && s->tokens ? column : NULL, row, &text);
    if (verdict != TAKEN)
        return verdict;
    at = closing(s, at, tag, length);
    if (at == NULL)
        return ODD;
    *place = space(s, at);
    return TAKEN;
}

/* Whether the last token of a row has the name of one before it. */
static int is_repeated(const Column *names, int64_t first) {
    const int32_t *ends = (const int32_t *)(const void *)names->ends.data;
    int64_t last = names->rows - 1;
    int32_t start = last ? ends[last - 1] : 0;
    for (int64_t i = first; i < last; i++) {
        int32_t other = i ? ends[i - 1] : 0;
        if (ends[i] - other == ends[last] - start &&
            memcmp(names->data.data + other, names->data.data + start, (size_t)(ends[i] - other)) == 0)
            return 1;
    }
    return 0;
}

/* Takes the `tokens` element, from behind its start tag to behind its end tag. */
static Verdict token_elements(XmlScanner *s, Rows *rows, const char **place) {
    const char *at = space(s, *place), *next;
    int64_t first = rows->token_names.rows;
    for (int count = 0; (next = OPENING(s, at, "token")) != NULL; count++) {
        if (count == MAX_TOKENS)
            return ODD;
        at = space(s, next);
        Verdict verdict = token_part(s, &at, "Name", 4, &rows->token_names, rows->token_names.rows);
        if (verdict == TAKEN)
            verdict = token_part(s, &at, "Value", 5, &rows->token_texts, rows->token_texts.rows);
        if (verdict != TAKEN)
            return verdict;
        if (s->keep && s->tokens && is_repeated(&rows->token_names, first))
            return ODD;
        at = CLOSING(s, at, "token");
        if (at == NULL)
            return ODD;
        at = space(s, at);
    }
    *place = CLOSING(s, at, "tokens");
    return *place == NULL ? ODD : TAKEN;
}

/* The attributes of an operation, by their place in `names`. */
enum Attribute { A_TABLE, A_TYPE, A_TIME, A_NOW, A_POSITION, A_COUNT, ATTRIBUTES };

/* Reads the start tag of an operation, from behind its name to behind it. The start of a missing attribute is NULL. */
static Verdict operation_tag(XmlScanner *s, const char **place, Text found[ATTRIBUTES]) {
    static const struct {
        const char *name;
        size_t length;
    } names[ATTRIBUTES] = {{"table", 5}, {"type", 4}, {"ts", 2}, {"current_ts", 10}, {"pos", 3}, {"numCols", 7}};
    const char *at = *place;
    int expected = 0, more;
    memset(found, 0, ATTRIBUTES * sizeof(Text));
    for (;;) {
        Text name, text;
        Verdict verdict = attribute(s, &at, &name, &text, &more);
        if (verdict != TAKEN)
            return verdict;
        if (!more) {
            *place = at + 1;
            return *at == '>' ? TAKEN : ODD;
        }
        int place_of = -1;
        for (int i = 0; i < ATTRIBUTES && place_of < 0; i++) {
            int candidate = (expected + i) % ATTRIBUTES;
            if (is(&name, names[candidate].name, names[candidate].length))
                place_of = candidate;
        }
        if (place_of < 0 || found[place_of].start != NULL)
            return ODD;
        found[place_of] = text;
        expected = place_of + 1;
    }
}

/* Whether an operation of a type may have these images; 1 before, 2 after. */
static int may_have(char op, int images) {
    return op == 'U' || images == 0 || (op == 'I' && images == 2) || (op == 'D' && images == 1);
}

/* Takes the attributes of an operation besides its table: its type, time and position. */
static Verdict take_attributes(XmlScanner *s, XmlTable *table, Text found[ATTRIBUTES], char *op) {
    static const enum Attribute slots[SLOTS] = {[TIME] = A_TIME, [POSITION] = A_POSITION};
    if (found[A_NOW].escaped || (found[A_COUNT].start != NULL && !is(&found[A_COUNT], table->count, strlen(table->count))))
        return ODD;
    for (int i = 0; i < SLOTS; i++) {
        if (found[slots[i]].start == NULL)
            continue;
        Verdict verdict = put(s, s->keep ? &table->base.rows.slot[i] : NULL, table->base.rows.count, &found[slots[i]]);
        if (verdict != TAKEN)
            return verdict;
    }
    Text *word = &found[A_TYPE];
    Verdict verdict = resolve(s, word);
    if (verdict != TAKEN || !s->keep)
        return verdict;
    *op = word->start == NULL ? 0 : op_letter(&s->ops, word->start, (size_t)(word->end - word->start));
    return *op ? TAKEN : ODD;
}

/* Takes the elements of an operation, from behind its start tag to behind its end tag. */
static Verdict elements(XmlScanner *s, XmlTable *table, char op, const char **place, int64_t ordinal) {
    const char *at = space(s, *place), *next;
    int images = 0, with_tokens = 0;
    for (int count = 0; count < table->names.count; count++) {
        if (!STARTS(at, s->end, "<col"))
            return ODD;
        at += 4;
        Verdict verdict = column_element(s, table, count, &at, &images);
        if (verdict != TAKEN)
            return verdict;
        at = space(s, at);
    }
    while (!with_tokens && (next = OPENING(s, at, "tokens")) != NULL) {
        with_tokens = 1;
        Verdict verdict = token_elements(s, &table->base.rows, &next);
        if (verdict != TAKEN)
            return verdict;
        at = space(s, next);
    }
    *place = CLOSING(s, at, "operation");
    if (*place == NULL)
        return ODD;
    if (!s->keep)
        return TAKEN;
    if (!may_have(op, images))
        return ODD;
    int exists = op == 'U' ? images | 2 : op == 'I' ? 2 : op == 'D' ? 1 : 0;
    return rows_end(&table->base.rows, table->base.rows.count, op, exists, ordinal);
}

/* Takes an operation, from its prolog or start tag to behind its end tag. */
static Verdict record(Scanner *base, const char **place, const char *end, int64_t ordinal) {
    XmlScanner *s = (XmlScanner *)base;
    const char *start = *place, *at = start;
    Text found[ATTRIBUTES];
    char op = 0;
    s->end = end;
    s->returns = 0;
    if (s->prolog_length && starts(at, end, s->prolog, s->prolog_length))
        at = space(s, at + s->prolog_length);
    if (!STARTS(at, end, "<operation"))
        return ODD;
    at += 10;
    Verdict verdict = operation_tag(s, &at, found);
    if (verdict != TAKEN || found[A_TABLE].start == NULL)
        return verdict == NO_MEMORY ? NO_MEMORY : ODD;
    verdict = resolve(s, &found[A_TABLE]);
    if (verdict == TAKEN)
        verdict = scanner_find(base, found[A_TABLE].start, (size_t)(found[A_TABLE].end - found[A_TABLE].start));
    if (verdict != TAKEN)
        return verdict;
    XmlTable *table = (XmlTable *)base->table;
    verdict = take_attributes(s, table, found, &op);
    if (verdict == TAKEN)
        verdict = elements(s, table, op, &at, ordinal);
    if (verdict != TAKEN)
        return verdict;
    if (!is_legal(start, at, s->returns))
        return ODD;
    int64_t span[2] = {start - base->data, at - base->data};
    *place = at;
    return bytes_append(&base->notes, span, sizeof span) < 0 ? NO_MEMORY : TAKEN;
}

/* The scanner */

static int make(Scanner *base, PyObject *args, PyObject *keywords) {
    static char *names[] = {"kinds", "keep", "tokens", NULL};
    XmlScanner *s = (XmlScanner *)base;
    PyObject *kinds;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O!pp", names, &PyDict_Type, &kinds, &s->keep, &s->tokens))
        return -1;
    return op_words_read(&s->ops, kinds);
}

static void free_scanner(Scanner *base) {
    XmlScanner *s = (XmlScanner *)base;
    op_words_free(&s->ops);
    bytes_free(&s->text);
}

/* Makes a table from the names of its columns. */
static int make_table(Scanner *Py_UNUSED(base), Table *base_table, int Py_UNUSED(key), PyObject *description) {
    XmlTable *table = (XmlTable *)base_table;
    PyObject *columns;
    if (!PyArg_ParseTuple(description, "O!", &PyTuple_Type, &columns) || keys_read(&table->names, columns) < 0)
        return -1;
    table->tags = calloc((size_t)table->names.count + 1, sizeof(Bytes));
    if (table->tags == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    snprintf(table->count, sizeof table->count, "%d", table->names.count);
    return rows_make(&table->base.rows, table->names.count, table->names.count, SLOTS);
}

static void free_table(Table *base) {
    XmlTable *table = (XmlTable *)base;
    for (int i = 0; table->tags != NULL && i < table->names.count; i++)
        bytes_free(&table->tags[i]);
    free(table->tags);
    keys_free(&table->names);
}

/* Reads the context of a scan: the prolog that may precede an operation. */
static int begin(Scanner *base, PyObject *context) {
    XmlScanner *s = (XmlScanner *)base;
    char *prolog = NULL;
    Py_ssize_t length = 0;
    if (context != Py_None && PyBytes_AsStringAndSize(context, &prolog, &length) < 0)
        return -1;
    s->prolog = prolog;
    s->prolog_length = (size_t)length;
    return 0;
}

ScannerKind xml_scanner = {
    SCANNER_TYPE("XmlScanner", sizeof(XmlScanner), no_methods, "Takes operations in XML into columns; see xml_scan.c."),
    .table_size = sizeof(XmlTable),
    .make = make,
    .free = free_scanner,
    .make_table = make_table,
    .free_table = free_table,
    .begin = begin,
    .skip = json_space,
    .record = record,
};
