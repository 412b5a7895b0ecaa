/* JSON looked at byte by byte, as strictly as the exact readers do. Every function returns where it stopped, or NULL
   where the data are not JSON as it takes it; none reads at or beyond `end`. */
#ifndef GGFMT_JSON_H
#define GGFMT_JSON_H

#include "buffer.h"

/* How deep a value may be nested; what is deeper is left to the exact reader. */
#define JSON_DEPTH 64

static inline int is_space(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static inline const char *json_space(const char *at, const char *end) {
    while (at < end && is_space(*at))
        at++;
    return at;
}

/* From behind the opening quote of a string to its closing quote; `escaped` becomes 1 if there is a backslash before. */
const char *json_string(const char *at, const char *end, int *escaped);

/* From the start of a number to behind it; `integer` is whether it has at most 18 digits, as Python writes it. */
const char *json_number(const char *at, const char *end, int *integer);

/* From the start of a value to behind it, all of it checked. */
const char *json_value(const char *at, const char *end);

/* From the start of an object or array to behind its last bracket, by brackets and strings alone. */
const char *json_bracketed(const char *at, const char *end);

/* Whether the bytes are UTF-8, as Python decodes it. */
int is_utf8(const char *at, const char *end);

/* Writes a time stamp, `2024-06-02T22:14:36.5Z` with a T or a blank and with or without a fraction and a Z, as the
   JSON_STAMP characters of `2024-06-02 22:14:36.500000`; 0 where it is none, or no time that there is. */
#define JSON_STAMP 26
int json_stamp(const char *at, const char *end, char *to);

/* Appends what the characters between the quotes of a string stand for. ODD for an escape that is none, and for one half
   of a surrogate pair. */
Verdict json_unescape(Bytes *out, const char *at, const char *end);

#endif
