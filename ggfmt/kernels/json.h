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

/* These go through the items of an object or array, by its opening bracket: to its first item, and from behind an item to the
   next one. `more` becomes 0 where there is none, behind the closing bracket, which is the second character behind the opening
   one in ASCII. */
static inline const char *json_first(const char *at, const char *end, char bracket, int *more) {
    if (at >= end || *at != bracket)
        return NULL;
    at = json_space(at + 1, end);
    *more = at >= end || *at != bracket + 2;
    return *more ? at : at + 1;
}

static inline const char *json_next(const char *at, const char *end, char bracket, int *more) {
    at = json_space(at, end);
    if (at >= end || (*at != ',' && *at != bracket + 2))
        return NULL;
    *more = *at == ',';
    return *more ? json_space(at + 1, end) : at + 1;
}

/* From the start of a member to its value; `name` is what is between the quotes. */
static inline const char *json_name(const char *at, const char *end, Slice *name, int *escaped) {
    const char *close = at < end && *at == '"' ? json_string(at + 1, end, escaped) : NULL;
    if (close == NULL)
        return NULL;
    *name = (Slice){at + 1, (size_t)(close - at - 1)};
    at = json_space(close + 1, end);
    return at < end && *at == ':' ? json_space(at + 1, end) : NULL;
}

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
