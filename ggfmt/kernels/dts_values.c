/* Values of DTS's records as the texts of columns. */
#include "dts_scan.h"

#include <math.h>

/* Places of branches in the union of values. */
enum Branch { B_NULL, B_INTEGER, B_CHARACTER, B_DECIMAL, B_FLOAT, B_TIMESTAMP, B_DATE_TIME, B_ZONED, B_BINARY_GEOMETRY,
              B_TEXT_GEOMETRY, B_BINARY_OBJECT, B_TEXT_OBJECT, B_EMPTY };

/* The fields of branches: n a number, d a double, t a text, b bytes, p the parts of a time. */
static const char *const layouts[] = {
    [B_INTEGER] = "nt", [B_CHARACTER] = "tb", [B_DECIMAL] = "tnn", [B_FLOAT] = "dnn", [B_TIMESTAMP] = "nn",
    [B_DATE_TIME] = "p", [B_ZONED] = "pt", [B_BINARY_GEOMETRY] = "bb", [B_TEXT_GEOMETRY] = "bt", [B_BINARY_OBJECT] = "bb",
    [B_TEXT_OBJECT] = "bt",
};

enum { YEAR = 1, DATE = 7, CLOCK = 56, DATE_AND_CLOCK = 63, FRACTION = 64 };

typedef struct {
    int64_t number[2];
    Slice first, last; /* of texts and bytes */
    double real;
    int64_t part[7]; /* of a time */
    unsigned there;  /* bits of its parts */
} Fields;

static const char *time_parts(const char *at, const char *end, Fields *fields) {
    fields->there = 0;
    for (int i = 0; i < 7; i++) {
        int branch;
        at = dts_branch(at, end, &branch);
        if (at == NULL || branch > 1)
            return NULL;
        if (branch && (at = avro_long(at, end, &fields->part[i])) == NULL)
            return NULL;
        fields->there |= (unsigned)branch << i;
    }
    return at;
}

/* Reads fields from the start of the first one to behind the last one; NULL where there are others. */
static const char *read_fields(const char *at, const char *end, const char *layout, Fields *fields) {
    int numbers = 0;
    fields->first.start = NULL;
    for (; *layout && at != NULL; layout++) {
        switch (*layout) {
        case 'n':
            at = avro_long(at, end, &fields->number[numbers++]);
            break;
        case 'd':
            if (end - at < 8)
                return NULL;
            memcpy(&fields->real, at, 8);
            at += 8;
            break;
        case 'p':
            at = time_parts(at, end, fields);
            break;
        default:
            at = avro_bytes(at, end, &fields->last.start, &fields->last.length);
            if (at != NULL && *layout == 't' && !avro_utf8(fields->last.start, fields->last.length))
                return NULL;
            if (fields->first.start == NULL)
                fields->first = fields->last;
        }
    }
    return at;
}

static int is_fraction(int64_t value, int digits) {
    return value >= 0 && value < (digits == 9 ? 1000000000 : 1000000);
}

/* Writes a time of the parts that are there. Returns 0 if a part is out of range, or the parts make up no usual time. */
static size_t time_text(char *text, const int64_t *part, unsigned there, int digits) {
    static const int64_t most[] = {9999, 12, 31, 23, 59, 59};
    static const int places[] = {0, 5, 8, 11, 14, 17};
    memcpy(text, TIME_TEXT, sizeof TIME_TEXT);
    for (int i = 0; i < 6; i++) {
        if (!(there & 1u << i))
            continue;
        if (part[i] < 0 || part[i] > most[i])
            return 0;
        digits_text(text + places[i], i ? 2 : 4, part[i]);
    }
    if ((there & FRACTION) && !is_fraction(part[6], digits))
        return 0;
    if (there & FRACTION)
        digits_text(text + 20, digits, part[6]);
    const size_t length = there & FRACTION ? (size_t)(20 + digits) : 19;
    switch (there) {
    case YEAR:
        return integer_text(text, part[0]);
    case DATE:
        return 10;
    case DATE_AND_CLOCK:
    case DATE_AND_CLOCK | FRACTION:
        return length;
    case CLOCK:
    case CLOCK | FRACTION:
        memmove(text, text + 11, length - 11);
        return length - 11;
    default:
        return 0;
    }
}

/* Appends the name of a zone to a time. Returns 0 if the zone is not as usual. */
static size_t zoned_text(char *text, size_t length, const Slice *zone) {
    if (length == 0 || zone->length == 0 || zone->length > 60)
        return 0;
    for (size_t i = 0; i < zone->length; i++)
        if (zone->start[i] < ' ' || zone->start[i] > '~')
            return 0;
    text[length] = ' ';
    memcpy(text + length + 1, zone->start, zone->length);
    return length + 1 + zone->length;
}

/* Whether bytes in a charset are the same text in UTF-8. */
static int reads_as_utf8(DtsScanner *s, const Slice *charset, const Slice *bytes) {
    char name[32];
    if (s->last_unicode >= 0 && key_is(&s->unicode, s->last_unicode, charset->start, charset->length))
        return avro_utf8(bytes->start, bytes->length);
    if (charset->length > sizeof name)
        return 0;
    for (size_t i = 0; i < charset->length; i++) {
        char c = charset->start[i];
        name[i] = c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
    }
    s->last_unicode = keys_find(&s->unicode, name, charset->length);
    if (s->last_unicode >= 0)
        return avro_utf8(bytes->start, bytes->length);
    return keys_find(&s->ascii, name, charset->length) >= 0 && is_ascii(bytes->start, bytes->length);
}

/* Puts a text that was made of a value; ODD if it has no length, for then none could be made. */
static Verdict put_made(const DtsScanner *s, Column *column, const char *text, size_t length) {
    return length ? column_put(column, s->base.row, text, length, AVRO_TEXT, TEXT) : ODD;
}

static Verdict put_boolean(const DtsScanner *s, Column *column, const Slice *text) {
    static const char *const spellings[] = {"t", "f", "1", "0", "true", "false"};
    for (size_t i = 0; i < sizeof spellings / sizeof *spellings; i++)
        if (slice_is(text, spellings[i], strlen(spellings[i]))) {
            const char *shown = spellings[4 + i % 2];
            return column_put(column, s->base.row, shown, strlen(shown), strlen(shown), TEXT);
        }
    return ODD;
}

Verdict dts_cell(DtsScanner *s, Column *column, enum Mode mode, int digits, const char **place, const char *end) {
    char text[AVRO_TEXT];
    Fields fields;
    const Slice *value = &fields.last;
    int branch;
    const char *at = dts_branch(*place, end, &branch);
    if (at == NULL || branch > B_EMPTY)
        return ODD;
    if (branch == B_NULL || branch == B_EMPTY) {
        int is_left_out = 0;
        if (branch == B_EMPTY && ((at = dts_branch(at, end, &is_left_out)) == NULL || is_left_out > 1))
            return ODD;
        *place = at;
        return is_left_out ? TAKEN : column_put(column, s->base.row, "", 0, 0, IS_NULL);
    }
    at = *place = read_fields(at, end, layouts[branch], &fields);
    if (at == NULL)
        return ODD;
    int is_binary = branch == B_CHARACTER || branch == B_BINARY_GEOMETRY || branch == B_BINARY_OBJECT;
    if (mode == BYTES)
        return is_binary ? put_base64(column, s->base.row, value->start, value->length) : ODD;
    switch ((enum Branch)branch) {
    case B_FLOAT:
        return put_made(s, column, text, isfinite(fields.real) ? double_text(text, fields.real) : 0);
    case B_TIMESTAMP:
        if (fields.number[0] < FIRST_SECOND || fields.number[0] > LAST_SECOND || !is_fraction(fields.number[1], digits))
            return ODD;
        micros_text(text, fields.number[0] * 1000000);
        digits_text(text + 20, digits, fields.number[1]);
        return put_made(s, column, text, (size_t)(20 + digits));
    case B_DATE_TIME:
        return put_made(s, column, text, time_text(text, fields.part, fields.there, digits));
    case B_ZONED:
        return put_made(s, column, text, zoned_text(text, time_text(text, fields.part, fields.there, digits), value));
    case B_CHARACTER:
        if (!reads_as_utf8(s, &fields.first, value))
            return ODD;
        /* fall through */
    case B_TEXT_OBJECT:
        if (mode == BOOLEANS)
            return put_boolean(s, column, value);
        /* fall through */
    case B_INTEGER:
    case B_DECIMAL:
    case B_TEXT_GEOMETRY:
        return column_put(column, s->base.row, value->start, value->length, (size_t)(end - value->start), TEXT);
    default:
        return ODD;
    }
}
