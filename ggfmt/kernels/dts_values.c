/* Values of DTS's records as the texts of columns. */
#include "dts_scan.h"

#include <math.h>

/* Places of branches in the union of values. */
enum Branch { B_NULL, B_INTEGER, B_CHARACTER, B_DECIMAL, B_FLOAT, B_TIMESTAMP, B_DATE_TIME, B_ZONED, B_BINARY_GEOMETRY,
              B_TEXT_GEOMETRY, B_BINARY_OBJECT, B_TEXT_OBJECT, B_EMPTY };

static Verdict put(DtsScanner *s, Column *column, const char *text, size_t length, size_t readable) {
    return column_put(column, s->base.row, text, length, readable, TEXT);
}

static size_t two(char *text, int64_t value) {
    text[0] = (char)('0' + value / 10);
    text[1] = (char)('0' + value % 10);
    return 2;
}

/* Writes a number with at least this many digits. */
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

/* Writes a time of the parts that are there. Returns 0 if a part is out of range, or the parts make up no usual time. */
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

/* Whether bytes in a charset are the same text in UTF-8. */
static int reads_as_utf8(const DtsScanner *s, const Slice *charset, const Slice *bytes) {
    char name[32];
    if (charset->length > sizeof name)
        return 0;
    for (size_t i = 0; i < charset->length; i++) {
        char c = charset->start[i];
        name[i] = c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
    }
    if (keys_find(&s->unicode, name, charset->length) >= 0)
        return avro_utf8(bytes->start, bytes->length);
    if (keys_find(&s->ascii, name, charset->length) < 0)
        return 0;
    unsigned char high = 0;
    for (size_t i = 0; i < bytes->length; i++)
        high |= (unsigned char)bytes->start[i];
    return high < 0x80;
}

static Verdict put_boolean(DtsScanner *s, Column *column, const Slice *span) {
    static const char *const texts[][2] = {{"t", "true"}, {"true", "true"}, {"1", "true"},
                                           {"f", "false"}, {"false", "false"}, {"0", "false"}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (slice_is(span, texts[i][0], strlen(texts[i][0])))
            return put(s, column, texts[i][1], strlen(texts[i][1]), strlen(texts[i][1]));
    return ODD;
}

Verdict dts_cell(DtsScanner *s, Column *column, enum Mode mode, int digits, const char **place, const char *end) {
    char text[AVRO_TEXT];
    Slice first, value;
    int branch;
    int64_t number, part[7];
    unsigned there;
    size_t length;
    double real;
    const char *at = dts_branch(*place, end, &branch);
    if (at == NULL)
        return ODD;
    if (branch == B_NULL) {
        *place = at;
        return column_put(column, s->base.row, "", 0, 0, IS_NULL);
    }
    if (branch == B_EMPTY) {
        if (at >= end || (*at != 0 && *at != 2))
            return ODD;
        *place = at + 1;
        return *at ? TAKEN : column_put(column, s->base.row, "", 0, 0, IS_NULL);
    }
    if (mode == BYTES && branch != B_CHARACTER && branch != B_BINARY_GEOMETRY && branch != B_BINARY_OBJECT)
        return ODD;
    switch (branch) {
    case B_INTEGER:
        at = avro_long(at, end, &number);
        if (at == NULL || (at = avro_text(at, end, &value)) == NULL)
            return ODD;
        break;
    case B_CHARACTER:
        at = avro_text(at, end, &first);
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
        at = avro_text(at, end, &value);
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
        value = (Slice){text, double_text(text, real)};
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
        value = (Slice){text, 19 + fraction_text(text + 19, part[6], digits)};
        break;
    case B_DATE_TIME:
    case B_ZONED:
        at = parts_at(at, end, part, &there);
        if (at == NULL || (length = time_text(text, part, there, digits)) == 0)
            return ODD;
        if (branch == B_ZONED) {
            at = avro_text(at, end, &first);
            if (at == NULL || first.length == 0 || first.length > 60)
                return ODD;
            text[length++] = ' ';
            for (size_t i = 0; i < first.length; i++) {
                if (first.start[i] < ' ' || first.start[i] > '~')
                    return ODD;
                text[length++] = first.start[i];
            }
        }
        value = (Slice){text, length};
        break;
    case B_TEXT_GEOMETRY:
    case B_TEXT_OBJECT:
        at = avro_bytes(at, end, &first.start, &first.length);
        if (at == NULL || (at = avro_text(at, end, &value)) == NULL)
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
        return put_base64(column, s->base.row, value.start, value.length);
    size_t readable = value.start == text ? sizeof text : (size_t)(end - value.start);
    return put(s, column, value.start, value.length, readable);
}
