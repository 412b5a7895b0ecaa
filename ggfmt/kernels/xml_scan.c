/* Scanner of operations in XML as GoldenGate writes them.

   The caller binds tables to the columns that their operations list. An operation of a bound table that lists just these
   columns is taken, whatever white space is between its elements and attributes. Odd are: other elements and attributes,
   comments, processing instructions, references that GoldenGate does not write, carriage returns in values, and characters
   that XML forbids. A scan notes the start and the end of each operation that it takes.

   The depth of elements is fixed, so that no function calls itself. */
#include "json.h"
#include "scanner.h"
#include "search.h"

#include <stdio.h>

enum Slot { TIME, POSITION, SLOTS };

enum { MAX_TOKENS = 64 };

/* Characters of the data. `escaped`: there are references among them. */
typedef struct {
    Slice text;
    int escaped;
} Text;

typedef struct {
    Table base;
    Keys names;
    Bytes *tags;    /* of each column, the first start tag that was met, behind `<col` */
    char count[16]; /* the number of columns, in digits */
} XmlTable;

/* The `text` of the base has a value that is not as the data have it. */
typedef struct {
    Scanner base;
    int keep;   /* the caller wants values; otherwise it only asks whether operations are regular */
    int tokens; /* the caller wants tokens */
    OpWords ops;
    Slice prolog; /* what may precede an operation */
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

/* Appends characters, with what their references stand for. */
static Verdict append(Bytes *out, const Text *from) {
    static const Slice references[] = {{"&amp;", 5}, {"&lt;", 4}, {"&gt;", 4}, {"&apos;", 6}, {"&quot;", 6},
                                       {"&#9;", 4}, {"&#10;", 5}, {"&#13;", 5}};
    static const char meant[] = "&<>'\"\t\n\r";
    const char *at = from->text.start, *end = at + from->text.length, *next;
    while (from->escaped && (next = memchr(at, '&', (size_t)(end - at))) != NULL) {
        size_t which = 0;
        while (meant[which] && !starts(next, end, references[which].start, references[which].length))
            which++;
        if (!meant[which])
            return ODD;
        if (bytes_append(out, at, (size_t)(next - at)) < 0 || bytes_append(out, &meant[which], 1) < 0)
            return NO_MEMORY;
        at = next + references[which].length;
    }
    return bytes_append(out, at, (size_t)(end - at)) < 0 ? NO_MEMORY : TAKEN;
}

/* Resolves the references of a text, if it has any. The next call takes its place. */
static Verdict resolve(XmlScanner *s, Text *text) {
    Bytes *made = &s->base.text;
    if (!text->escaped)
        return TAKEN;
    made->size = 0;
    Verdict verdict = append(made, text);
    *text = (Text){{made->data, made->size}, 0};
    return verdict;
}

/* Puts a text into a row of a column. If `column` is NULL, only checks its references. */
static Verdict put(XmlScanner *s, Column *column, int64_t row, Text *text) {
    Verdict verdict = resolve(s, text);
    if (verdict != TAKEN || column == NULL)
        return verdict;
    size_t readable = text->text.start == s->base.text.data ? text->text.length : (size_t)(s->end - text->text.start);
    return column_put(column, row, text->text.start, text->text.length, readable, TEXT);
}

/* Markup */

/* Reads the attributes of a start tag, from behind its name to behind the tag. Each of the `names` ends with an equals sign.
   The start of a missing attribute is NULL. */
static Verdict attributes(XmlScanner *s, const char **place, const Slice *names, int count, Text *found) {
    const char *at = *place, *end = s->end;
    int expected = 0;
    memset(found, 0, (size_t)count * sizeof(Text));
    for (;;) {
        const char *start = space(s, at);
        if (start < end && *start == '>') {
            *place = start + 1;
            return TAKEN;
        }
        int left = count, which = expected;
        for (; left && !starts(start, end, names[which].start, names[which].length); left--)
            which = (which + 1) % count;
        if (start == at || !left || found[which].text.start != NULL)
            return ODD;
        at = start + names[which].length;
        if (at >= end || (*at != '\'' && *at != '"'))
            return ODD;
        char quote = *at++;
        Text *value = &found[which];
        value->text.start = at;
        for (; at < end && *at != quote; at++) {
            if (*at == '<' || (unsigned char)*at < 0x20) /* XML parsers replace line ends in attributes by blanks */
                return ODD;
            value->escaped |= *at == '&';
        }
        if (at >= end)
            return ODD;
        value->text.length = (size_t)(at++ - value->text.start);
        expected = (which + 1) % count;
    }
}

/* Reads characters or a CDATA section; to behind them, NULL if they have no end or XML forbids them. */
static const char *piece(const char *at, const char *end, Text *piece) {
    if (STARTS(at, end, "<![CDATA[")) {
        const char *close = search(at + 9, end, "]]>", 3);
        *piece = (Text){{at + 9, close == NULL ? 0 : (size_t)(close - at - 9)}, 0};
        return close == NULL ? NULL : close + 3;
    }
    *piece = (Text){{at, 0}, 0};
    for (; at < end && *at != '<'; at++) {
        if (*at == ']' && STARTS(at, end, "]]>"))
            return NULL;
        piece->escaped |= *at == '&';
    }
    piece->text.length = (size_t)(at - piece->text.start);
    return at < end ? at : NULL;
}

/* Reads the text of an element without elements, from behind its start tag to its end tag. */
static Verdict content(XmlScanner *s, const char **place, Text *text) {
    const char *at = piece(*place, s->end, text), *next;
    Bytes *made = &s->base.text;
    if (at == NULL)
        return ODD;
    if (STARTS(at, s->end, "</")) {
        *place = at;
        return TAKEN;
    }
    made->size = 0; /* there are several pieces */
    if (bytes_reserve(made, 1) < 0)
        return NO_MEMORY;
    for (at = *place; !STARTS(at, s->end, "</"); at = next) {
        Text part;
        next = piece(at, s->end, &part);
        if (next == NULL || next == at)
            return ODD;
        Verdict verdict = append(made, &part);
        if (verdict != TAKEN)
            return verdict;
    }
    *text = (Text){{made->data, made->size}, 0};
    *place = at;
    return TAKEN;
}

/* Operations */

/* Takes the value of a column in an image, from behind the name of its start tag to behind its end tag. */
static Verdict value(XmlScanner *s, const char **place, const Slice *close, Column *column, int64_t row, int *present) {
    const char *at = *place;
    Text text;
    if (STARTS(at, s->end, " missing='true'/>")) {
        *place = at + 17;
        return TAKEN;
    }
    *present = 1;
    if (STARTS(at, s->end, " isNull='true'/>")) {
        *place = at + 16;
        return column == NULL ? TAKEN : column_put(column, row, at, 0, 0, IS_NULL);
    }
    if (at >= s->end || *at++ != '>')
        return ODD;
    Verdict verdict = content(s, &at, &text);
    if (verdict != TAKEN)
        return verdict;
    if (!starts(at, s->end, close->start, close->length))
        return ODD;
    *place = at + close->length;
    return put(s, column, row, &text);
}

/* Reads the start tag of a column, from behind `<col` to behind it. Most tags have the same bytes as the last one. */
static Verdict column_tag(XmlScanner *s, XmlTable *table, int number, const char **place) {
    static const Slice names[] = {{"name=", 5}, {"index=", 6}};
    Bytes *known = &table->tags[number];
    const char *start = *place;
    const int64_t returns = s->returns;
    Text found[2];
    if (known->size && starts(start, s->end, known->data, known->size)) {
        *place += known->size;
        return TAKEN;
    }
    Verdict verdict = attributes(s, place, names, 2, found);
    if (verdict == TAKEN)
        verdict = resolve(s, &found[0]);
    if (verdict != TAKEN)
        return verdict;
    if (found[0].text.start == NULL || found[1].escaped ||
        !key_is(&table->names, number, found[0].text.start, found[0].text.length))
        return ODD;
    if (known->size || s->returns != returns)
        return TAKEN;
    return bytes_append(known, start, (size_t)(*place - start)) < 0 ? NO_MEMORY : TAKEN;
}

/* Takes the `col` element of a column, from behind `<col` to behind its end tag. */
static Verdict column_element(XmlScanner *s, XmlTable *table, int number, const char **place, int *images) {
    static const Slice before = {"</before>", 9}, after = {"</after>", 8};
    const char *at = *place, *end = s->end;
    Rows *rows = &table->base.rows;
    int met[2] = {0, 0}, present[2] = {0, 0};
    Verdict verdict = column_tag(s, table, number, &at);
    for (at = space(s, at); verdict == TAKEN && !STARTS(at, end, "</col>"); at = space(s, at)) {
        if (STARTS(at, end, "<before") && !met[0]++) {
            at += 7;
            verdict = value(s, &at, &before, s->keep ? &rows->before[number] : NULL, s->base.row, &present[0]);
        } else if (STARTS(at, end, "<after") && !met[1]++) {
            at += 6;
            verdict = value(s, &at, &after, s->keep ? &rows->after[number] : NULL, s->base.row, &present[1]);
        } else if (STARTS(at, end, "<missing/>")) {
            at += 10;
        } else {
            return ODD;
        }
    }
    if (verdict != TAKEN)
        return verdict;
    *images |= present[0] | present[1] << 1;
    *place = at + 6;
    return TAKEN;
}

/* Takes the name or the value of a token into a row of a column, if the caller wants tokens. */
static Verdict token_part(XmlScanner *s, const char **place, const Slice *open, const Slice *close, Column *column) {
    Text text;
    const char *at = *place;
    if (!starts(at, s->end, open->start, open->length))
        return ODD;
    at += open->length;
    Verdict verdict = content(s, &at, &text);
    if (verdict == TAKEN)
        verdict = put(s, s->keep && s->tokens ? column : NULL, column->rows, &text);
    if (verdict != TAKEN)
        return verdict;
    if (!starts(at, s->end, close->start, close->length))
        return ODD;
    *place = space(s, at + close->length);
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
    static const Slice tags[] = {{"<Name>", 6}, {"</Name>", 7}, {"<Value>", 7}, {"</Value>", 8}};
    const char *at = space(s, *place);
    int64_t first = rows->token_names.rows;
    for (int count = 0; STARTS(at, s->end, "<token>"); count++) {
        if (count == MAX_TOKENS)
            return ODD;
        at = space(s, at + 7);
        Verdict verdict = token_part(s, &at, &tags[0], &tags[1], &rows->token_names);
        if (verdict == TAKEN)
            verdict = token_part(s, &at, &tags[2], &tags[3], &rows->token_texts);
        if (verdict != TAKEN)
            return verdict;
        if (!STARTS(at, s->end, "</token>") || (s->keep && s->tokens && is_repeated(&rows->token_names, first)))
            return ODD;
        at = space(s, at + 8);
    }
    if (!STARTS(at, s->end, "</tokens>"))
        return ODD;
    *place = at + 9;
    return TAKEN;
}

/* The attributes of an operation. */
enum Attribute { A_TABLE, A_TYPE, A_TIME, A_NOW, A_POSITION, A_COUNT, ATTRIBUTES };

/* Whether an operation of a type may have these images; 1 before, 2 after. */
static int may_have(char op, int images) {
    return op == 'U' || images == 0 || (op == 'I' && images == 2) || (op == 'D' && images == 1);
}

/* Takes the attributes of an operation besides its table: its type, time and position. */
static Verdict take_attributes(XmlScanner *s, XmlTable *table, Text found[ATTRIBUTES], char *op) {
    static const enum Attribute slots[SLOTS] = {[TIME] = A_TIME, [POSITION] = A_POSITION};
    const Slice *count = &found[A_COUNT].text;
    if (found[A_NOW].escaped || (count->start != NULL && !slice_is(count, table->count, strlen(table->count))))
        return ODD;
    for (int i = 0; i < SLOTS; i++) {
        if (found[slots[i]].text.start == NULL)
            continue;
        Verdict verdict = put(s, s->keep ? &table->base.rows.slot[i] : NULL, s->base.row, &found[slots[i]]);
        if (verdict != TAKEN)
            return verdict;
    }
    Text *word = &found[A_TYPE];
    Verdict verdict = resolve(s, word);
    if (verdict != TAKEN || !s->keep)
        return verdict;
    *op = word->text.start == NULL ? 0 : op_letter(&s->ops, word->text.start, word->text.length);
    return *op ? TAKEN : ODD;
}

/* Takes the elements of an operation, from behind its start tag to behind its end tag. */
static Verdict elements(XmlScanner *s, XmlTable *table, char op, const char **place, int64_t ordinal) {
    const char *at = space(s, *place);
    int images = 0;
    Verdict verdict = TAKEN;
    for (int number = 0; number < table->names.count && verdict == TAKEN; number++, at = space(s, at)) {
        if (!STARTS(at, s->end, "<col"))
            return ODD;
        at += 4;
        verdict = column_element(s, table, number, &at, &images);
    }
    if (verdict == TAKEN && STARTS(at, s->end, "<tokens>")) {
        at += 8;
        verdict = token_elements(s, &table->base.rows, &at);
        at = space(s, at);
    }
    if (verdict != TAKEN)
        return verdict;
    if (!STARTS(at, s->end, "</operation>") || (s->keep && !may_have(op, images)))
        return ODD;
    *place = at + 12;
    int exists = op == 'U' ? images | 2 : op == 'I' ? 2 : op == 'D' ? 1 : 0;
    return s->keep ? rows_end(&table->base.rows, s->base.row, op, exists, ordinal) : TAKEN;
}

/* Takes an operation, from its prolog or start tag to behind its end tag. */
static Verdict record(Scanner *base, const char **place, const char *end, int64_t ordinal) {
    static const Slice names[ATTRIBUTES] = {{"table=", 6}, {"type=", 5}, {"ts=", 3}, {"current_ts=", 11}, {"pos=", 4},
                                            {"numCols=", 8}};
    XmlScanner *s = (XmlScanner *)base;
    const char *start = *place, *at = start;
    Text found[ATTRIBUTES];
    char op = 0;
    s->end = end;
    s->returns = 0;
    if (s->prolog.length && starts(at, end, s->prolog.start, s->prolog.length))
        at = space(s, at + s->prolog.length);
    if (!STARTS(at, end, "<operation"))
        return ODD;
    at += 10;
    Verdict verdict = attributes(s, &at, names, ATTRIBUTES, found);
    if (verdict == TAKEN)
        verdict = found[A_TABLE].text.start == NULL ? ODD : resolve(s, &found[A_TABLE]);
    if (verdict == TAKEN)
        verdict = scanner_find(base, found[A_TABLE].text.start, found[A_TABLE].text.length);
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
    return op_words_read(&s->ops, &base->memory, kinds);
}

/* Makes a table from the names of its columns. */
static int make_table(Scanner *Py_UNUSED(base), Table *base_table, int Py_UNUSED(key), PyObject *description) {
    XmlTable *table = (XmlTable *)base_table;
    Memory *memory = &base_table->memory;
    PyObject *columns;
    if (!PyArg_ParseTuple(description, "O!", &PyTuple_Type, &columns) || keys_read(&table->names, memory, columns) < 0)
        return -1;
    int count = table->names.count;
    table->tags = memory_make(memory, (size_t)count, sizeof(Bytes));
    snprintf(table->count, sizeof table->count, "%d", count);
    return table->tags == NULL ? -1 : rows_make(&base_table->rows, memory, count, count, SLOTS);
}

static void free_table(Table *base) {
    XmlTable *table = (XmlTable *)base;
    for (int i = 0; table->tags != NULL && i < table->names.count; i++)
        bytes_free(&table->tags[i]);
}

/* Reads the context of a scan: the prolog that may precede an operation. */
static int begin(Scanner *base, PyObject *context) {
    XmlScanner *s = (XmlScanner *)base;
    char *prolog = NULL;
    Py_ssize_t length = 0;
    if (context != Py_None && PyBytes_AsStringAndSize(context, &prolog, &length) < 0)
        return -1;
    s->prolog = (Slice){prolog, (size_t)length};
    return 0;
}

ScannerKind xml_scanner = {
    SCANNER_TYPE("XmlScanner", sizeof(XmlScanner), no_methods, "Takes operations in XML into columns; see xml_scan.c."),
    .table_size = sizeof(XmlTable),
    .make = make,
    .make_table = make_table,
    .free_table = free_table,
    .begin = begin,
    .skip = json_space,
    .record = record,
};
