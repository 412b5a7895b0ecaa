#include "json.h"

#include "blocks.h"

/* Ends a string or is special in it: a quote, a backslash, or a control character, which no string may hold. */
static inline int needs_escape(unsigned char c) {
    return c == '"' || c == '\\' || c < 0x20;
}

static inline const char *to_next(const char *at, const char *end) {
    for (; end - at >= (ptrdiff_t)sizeof(Block); at += (ptrdiff_t)sizeof(Block)) {
        Block block = block_load(at);
        Found marks = found_either(block_is(block, '"'), block_is(block, '\\'));
        Places places = found_places(found_either(block_below(block, 0x20), marks));
        if (places)
            return at + first_place(places);
    }
    while (at < end && !needs_escape((unsigned char)*at))
        at++;
    return at;
}

const char *json_string(const char *at, const char *end, int *escaped) {
    *escaped = 0;
    for (;;) {
        at = to_next(at, end);
        if (at >= end)
            return NULL;
        if (*at == '"')
            return at;
        if (*at != '\\' || end - at < 2)
            return NULL;
        *escaped = 1;
        at += 2;
    }
}

static inline const char *digits(const char *at, const char *end) {
    while (at < end && *at >= '0' && *at <= '9')
        at++;
    return at;
}

const char *json_number(const char *at, const char *end, int *integer) {
    const char *start = at;
    if (at < end && *at == '-')
        at++;
    const char *first = at;
    at = digits(at, end);
    if (at == first || (*first == '0' && at - first > 1))
        return NULL;
    *integer = at - first <= 18 && !(*first == '0' && first != start); /* Python has no -0 */
    if (at < end && *at == '.') {
        const char *fraction = ++at;
        at = digits(at, end);
        if (at == fraction)
            return NULL;
        *integer = 0;
    }
    if (at < end && (*at == 'e' || *at == 'E')) {
        at++;
        if (at < end && (*at == '+' || *at == '-'))
            at++;
        const char *exponent = at;
        at = digits(at, end);
        if (at == exponent)
            return NULL;
        *integer = 0;
    }
    return at;
}

static const char *word(const char *at, const char *end, const char *text, size_t length) {
    return (size_t)(end - at) >= length && memcmp(at, text, length) == 0 ? at + length : NULL;
}

static int has_good_escapes(const char *at, const char *end) {
    Bytes unused = {0};
    Verdict verdict = json_unescape(&unused, at, end);
    bytes_free(&unused);
    return verdict == TAKEN;
}

static const char *value_at(const char *at, const char *end, int depth) {
    int ignored, escaped, more;
    if (at >= end)
        return NULL;
    switch (*at) {
    case '"': {
        const char *close = json_string(at + 1, end, &escaped);
        return close == NULL || (escaped && !has_good_escapes(at + 1, close)) ? NULL : close + 1;
    }
    case 'n':
        return word(at, end, "null", 4);
    case 't':
        return word(at, end, "true", 4);
    case 'f':
        return word(at, end, "false", 5);
    case '{':
    case '[':
        break;
    default:
        return json_number(at, end, &ignored);
    }
    if (depth >= JSON_DEPTH)
        return NULL;
    const char bracket = *at;
    for (at = json_first(at, end, bracket, &more); at != NULL && more; at = json_next(at, end, bracket, &more)) {
        Slice name;
        if (bracket == '{' && ((at = json_name(at, end, &name, &escaped)) == NULL ||
                               (escaped && !has_good_escapes(name.start, name.start + name.length))))
            return NULL;
        at = value_at(at, end, depth + 1);
        if (at == NULL)
            return NULL;
    }
    return at;
}

const char *json_value(const char *at, const char *end) {
    return value_at(at, end, 0);
}

const char *json_bracketed(const char *at, const char *end) {
    int depth = 0, escaped;
    while (at < end) {
        char c = *at++;
        if (c == '"') {
            at = json_string(at, end, &escaped);
            if (at == NULL)
                return NULL;
            at++;
        } else if (c == '{' || c == '[') {
            depth++;
        } else if ((c == '}' || c == ']') && --depth == 0) {
            return at;
        }
    }
    return NULL;
}

int is_utf8(const char *from, const char *to) {
    const unsigned char *at = (const unsigned char *)from, *end = (const unsigned char *)to;
    while (at < end) {
        uint64_t words[4];
        for (; (size_t)(end - at) >= sizeof words; at += sizeof words) {
            memcpy(words, at, sizeof words);
            if ((words[0] | words[1] | words[2] | words[3]) & 0x8080808080808080u)
                break;
        }
        if (end - at >= 8) {
            memcpy(words, at, 8);
            if (!(words[0] & 0x8080808080808080u)) {
                at += 8;
                continue;
            }
        }
        if (at == end)
            break;
        unsigned char c = *at++;
        if (c < 0x80)
            continue;
        int more = c >= 0xf0 ? 3 : c >= 0xe0 ? 2 : 1;
        if (c < 0xc2 || c > 0xf4 || end - at < more)
            return 0;
        /* No longer form than needed, no halves of surrogate pairs, nothing above U+10FFFF. */
        if ((c == 0xe0 && *at < 0xa0) || (c == 0xed && *at > 0x9f) || (c == 0xf0 && *at < 0x90) || (c == 0xf4 && *at > 0x8f))
            return 0;
        for (; more; more--, at++)
            if ((*at & 0xc0) != 0x80)
                return 0;
    }
    return 1;
}

static int hex_digits(const char *at, const char *end, uint32_t *code) {
    if (end - at < 4)
        return 0;
    *code = 0;
    for (int i = 0; i < 4; i++) {
        char c = at[i];
        uint32_t digit = c >= '0' && c <= '9'   ? (uint32_t)(c - '0')
                         : c >= 'a' && c <= 'f' ? (uint32_t)(c - 'a' + 10)
                         : c >= 'A' && c <= 'F' ? (uint32_t)(c - 'A' + 10)
                                                : 16;
        if (digit == 16)
            return 0;
        *code = *code << 4 | digit;
    }
    return 1;
}

static size_t utf8_of(uint32_t code, char *out) {
    size_t length = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    for (size_t i = length - 1; i > 0; i--, code >>= 6)
        out[i] = (char)(0x80 | (code & 0x3f));
    out[0] = (char)(length == 1 ? code : (0xf00 >> length & 0xff) | code);
    return length;
}

/* The character that an escape stands for, from behind its backslash; behind it, or NULL. */
static const char *escape_at(const char *at, const char *end, uint32_t *code) {
    static const char names[] = "\"\\/bfnrt", stand_for[] = "\"\\/\b\f\n\r\t";
    if (at >= end)
        return NULL;
    char c = *at++;
    if (c != 'u') {
        const char *found = c ? strchr(names, c) : NULL;
        if (found == NULL)
            return NULL;
        *code = (uint32_t)stand_for[found - names];
        return at;
    }
    if (!hex_digits(at, end, code))
        return NULL;
    at += 4;
    if (*code >= 0xd800 && *code < 0xe000) {
        uint32_t low;
        if (*code >= 0xdc00 || end - at < 6 || at[0] != '\\' || at[1] != 'u' || !hex_digits(at + 2, end, &low) ||
            low < 0xdc00 || low >= 0xe000)
            return NULL;
        *code = 0x10000 + ((*code - 0xd800) << 10) + (low - 0xdc00);
        at += 6;
    }
    return at;
}

Verdict json_unescape(Bytes *out, const char *at, const char *end) {
    size_t before = out->size;
    if (bytes_reserve(out, (size_t)(end - at) + 4) < 0) /* an escape is longer than what it stands for */
        return NO_MEMORY;
    while (at < end) {
        const char *next = to_next(at, end);
        memcpy(out->data + out->size, at, (size_t)(next - at));
        out->size += (size_t)(next - at);
        if (next == end)
            return TAKEN;
        uint32_t code;
        at = *next == '\\' ? escape_at(next + 1, end, &code) : NULL;
        if (at == NULL) {
            out->size = before;
            return ODD;
        }
        out->size += utf8_of(code, out->data + out->size);
    }
    return TAKEN;
}

/* The number that some digits are, -1 if they are none. */
static int number_at(const char *at, int count) {
    int number = 0;
    for (; count; count--, at++) {
        if (*at < '0' || *at > '9')
            return -1;
        number = number * 10 + (*at - '0');
    }
    return number;
}

static int days_in(int year, int month) {
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    int leap = month == 2 && year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    return days[month - 1] + leap;
}

int json_stamp(const char *at, const char *end, char *to) {
    enum { SECONDS = 19 }; /* characters up to them */
    if (end - at > SECONDS && end[-1] == 'Z')
        end--;
    if (end - at < SECONDS || at[4] != '-' || at[7] != '-' || (at[10] != 'T' && at[10] != ' ') || at[13] != ':' ||
        at[16] != ':')
        return 0;
    int year = number_at(at, 4), month = number_at(at + 5, 2), day = number_at(at + 8, 2);
    int hour = number_at(at + 11, 2), minute = number_at(at + 14, 2), second = number_at(at + 17, 2);
    if (year < 1 || month < 1 || month > 12 || day < 1 || day > days_in(year, month) || hour < 0 || hour > 23 || minute < 0 ||
        minute > 59 || second < 0 || second > 59)
        return 0;
    memcpy(to, at, SECONDS);
    to[10] = ' ';
    memcpy(to + SECONDS, ".000000", 7);
    at += SECONDS;
    if (at == end)
        return 1;
    if (*at != '.' || end - at < 2 || end - at > 7 || number_at(at + 1, (int)(end - at - 1)) < 0)
        return 0;
    memcpy(to + SECONDS, at, (size_t)(end - at));
    return 1;
}
