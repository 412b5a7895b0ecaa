/* Avro's binary encoding (Avro specification 1.8), and the texts that values are shown as. Functions that read return
   where they stopped, or NULL where the data are not as they take them; none reads at or beyond `end`. */
#ifndef GGFMT_AVRO_H
#define GGFMT_AVRO_H

#include "column.h"
#include "json.h"

static inline const char *avro_long(const char *at, const char *end, int64_t *value) {
    uint64_t number = 0;
    for (int shift = 0; at < end; shift += 7) {
        uint64_t byte = (unsigned char)*at++;
        if (shift == 63 && byte > 1)
            return NULL;
        number |= (byte & 0x7f) << shift;
        if (byte < 0x80) {
            *value = (int64_t)(number >> 1) ^ -(int64_t)(number & 1);
            return at;
        }
    }
    return NULL;
}

/* The bytes behind their length; to behind them. */
static inline const char *avro_bytes(const char *at, const char *end, const char **start, size_t *length) {
    int64_t size;
    at = avro_long(at, end, &size);
    if (at == NULL || size < 0 || size > end - at)
        return NULL;
    *start = at;
    *length = (size_t)size;
    return at + size;
}

static inline int is_ascii(const char *at, size_t length) {
    uint64_t block, high = 0;
    const char *end = at + length;
    for (; end - at >= 8; at += 8) {
        memcpy(&block, at, 8);
        high |= block;
    }
    for (; at < end; at++)
        high |= (unsigned char)*at;
    return !(high & 0x8080808080808080u);
}

/* Whether the bytes are UTF-8, as Python decodes it: most texts are short, and ASCII. */
static inline int avro_utf8(const char *at, size_t length) {
    return is_ascii(at, length) || is_utf8(at, at + length);
}

/* As `avro_bytes`, of bytes that are UTF-8. */
static inline const char *avro_text(const char *at, const char *end, Slice *text) {
    at = avro_bytes(at, end, &text->start, &text->length);
    return at != NULL && avro_utf8(text->start, text->length) ? at : NULL;
}

/* The number of items in the next block of an array or a map, which is at most `most`; 0 behind the last block. */
static inline const char *avro_count(const char *at, const char *end, int64_t most, int64_t *count) {
    at = avro_long(at, end, count);
    return at == NULL || *count < 0 || *count > most ? NULL : at;
}

/* To the next item of an array or a map, of which `left` are left in its block, which is 0 in front of the first one; where there
   is none, `left` is 0 behind it. */
static inline const char *avro_item(const char *at, const char *end, int64_t most, int64_t *left) {
    return at != NULL && *left == 0 ? avro_count(at, end, most, left) : at;
}

/* The longest text of a number or time that is written here, with a number's 155 digits and a scale of 255. */
enum { AVRO_TEXT = 320, AVRO_DECIMAL_BYTES = 64, AVRO_SCALE = 255 };

/* These write a text and return its length, 0 where the value is left to the exact reader. */

size_t integer_text(char *text, int64_t value);

/* Writes the last digits of a number that is not negative. */
static inline void digits_text(char *text, int digits, int64_t value) {
    while (digits--) {
        text[digits] = (char)('0' + value % 10);
        value /= 10;
    }
}

/* As Python's `repr` of a float. */
size_t double_text(char *text, double value);

/* The fewest digits that are this number of 32 bits, where these are at most 6. */
size_t float_text(char *text, float value);

/* A decimal with all digits of its scale, which is at most AVRO_SCALE, of the bytes of its unscaled number. */
size_t decimal_text(char *text, const char *bytes, size_t length, int scale);

/* Microseconds since 1970 as a time of the years 1 to 9999, with six digits of a second: TIME_TEXT, and its digits. */
#define TIME_TEXT "0000-00-00 00:00:00.000000"
size_t micros_text(char *text, int64_t micros);

static inline size_t base64_size(size_t length) {
    return (length + 2) / 3 * 4;
}

size_t base64_text(char *text, const char *bytes, size_t length);

/* Puts bytes as Base64 into a row. */
Verdict put_base64(Column *column, int64_t row, const char *bytes, size_t length);

#endif
