#include "escape.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

/* So many bytes of a value are looked at between two looks for room. */
enum { STRETCH = 4096 };

/* The most bytes that one byte becomes. */
static const size_t growth[] = {[JSON] = 6, [JACKSON] = 6, [CDATA] = 17, [ATTRIBUTE] = 6, [DOUBLED] = 2};

/* Bytes that may stand for more than themselves. */
static inline int stands_out(Encoding encoding, unsigned char c) {
    switch (encoding) {
    case JSON:
    case JACKSON:
        return c < 0x20 || c == '"' || c == '\\';
    case CDATA:
        return c == ']' || c == '\r';
    case ATTRIBUTE:
        return c == '&' || c == '<' || c == '\'' || c == '\t' || c == '\n' || c == '\r';
    default:
        return c == '"';
    }
}

#if defined(__SSE2__)
static inline __m128i is(__m128i block, char c) {
    return _mm_cmpeq_epi8(block, _mm_set1_epi8(c));
}

static inline __m128i below(__m128i block, char c) {
    return _mm_cmpeq_epi8(_mm_min_epu8(block, _mm_set1_epi8((char)(c - 1))), block);
}

/* A bit for each of 16 bytes that stands out, or might. */
static inline unsigned standing_out(Encoding encoding, __m128i block) {
    __m128i found;
    switch (encoding) {
    case JSON:
    case JACKSON:
        found = _mm_or_si128(below(block, 0x20), _mm_or_si128(is(block, '"'), is(block, '\\')));
        break;
    case CDATA:
        found = _mm_or_si128(is(block, ']'), is(block, '\r'));
        break;
    case ATTRIBUTE:
        found = _mm_or_si128(below(block, 0x20), _mm_or_si128(is(block, '&'), _mm_or_si128(is(block, '<'), is(block, '\''))));
        break;
    default:
        found = is(block, '"');
    }
    return (unsigned)_mm_movemask_epi8(found);
}
#endif

static char *put(char *to, const char *text, size_t length) {
    memcpy(to, text, length);
    return to + length;
}

#define PUT(to, text) put(to, text, sizeof(text) - 1)

static char *put_json(char *to, unsigned char c, const char *hexadecimal) {
    static const char letters[] = {['\b'] = 'b', ['\t'] = 't', ['\n'] = 'n', ['\f'] = 'f', ['\r'] = 'r', ['"'] = '"', ['\\'] = '\\'};
    *to++ = '\\';
    if (c < sizeof(letters) && letters[c]) {
        *to++ = letters[c];
        return to;
    }
    to = PUT(to, "u00");
    *to++ = hexadecimal[c >> 4];
    *to++ = hexadecimal[c & 15];
    return to;
}

static char *put_attribute(char *to, unsigned char c) {
    switch (c) {
    case '&':
        return PUT(to, "&amp;");
    case '<':
        return PUT(to, "&lt;");
    case '\'':
        return PUT(to, "&apos;");
    case '\t':
        return PUT(to, "&#9;");
    case '\n':
        return PUT(to, "&#10;");
    default:
        return PUT(to, "&#13;");
    }
}

/* Writes what stands out at a place, and tells how many bytes it was. */
static inline size_t put_one(Encoding encoding, char **place, const char *from, size_t left) {
    char *to = *place;
    unsigned char c = (unsigned char)*from;
    size_t taken = 1;
    switch (encoding) {
    case JSON:
        to = put_json(to, c, "0123456789abcdef");
        break;
    case JACKSON:
        to = put_json(to, c, "0123456789ABCDEF");
        break;
    case CDATA:
        if (c == '\r') {
            to = PUT(to, "]]>&#13;<![CDATA[");
        } else if (left > 2 && from[1] == ']' && from[2] == '>') {
            to = PUT(to, "]]]]><![CDATA[>");
            taken = 3;
        } else {
            *to++ = ']';
        }
        break;
    case ATTRIBUTE:
        to = put_attribute(to, c);
        break;
    default:
        to = PUT(to, "\"\"");
    }
    *place = to;
    return taken;
}

/* Escapes the first `stretch` bytes of `length`, and what goes on behind them; returns how many bytes it took. There is
   room for what they become, and SLACK bytes more. */
static inline size_t escape_stretch(Encoding encoding, char **place, const char *from, size_t stretch, size_t length,
                                    size_t readable) {
    char *to = *place;
    size_t at = 0;
    while (at < stretch) {
#if defined(__SSE2__)
        if (readable - at >= SLACK) {
            size_t count = stretch - at < SLACK ? stretch - at : SLACK;
            __m128i block = _mm_loadu_si128((const __m128i *)(const void *)(from + at));
            _mm_storeu_si128((__m128i *)(void *)to, block);
            unsigned found = standing_out(encoding, block) & ((1u << count) - 1);
            if (!found) {
                at += count;
                to += count;
                continue;
            }
            unsigned same = (unsigned)__builtin_ctz(found);
            at += same;
            to += same;
        }
#endif
        if (stands_out(encoding, (unsigned char)from[at]))
            at += put_one(encoding, &to, from + at, length - at);
        else
            *to++ = from[at++];
    }
    *place = to;
    return at;
}

int escape(Bytes *out, Encoding encoding, const char *from, size_t length, size_t readable) {
    if (length == 0)
        return 0;
    if (encoding == AS_IS) {
        if (bytes_reserve(out, length + SLACK) < 0)
            return -1;
        copy_short(out->data + out->size, from, length, readable);
        out->size += length;
        return 0;
    }
    while (length) {
        size_t stretch = length < STRETCH ? length : STRETCH, taken;
        if (bytes_reserve(out, (stretch + 2) * growth[encoding] + SLACK) < 0)
            return -1;
        char *to = out->data + out->size;
        switch (encoding) { /* each has a loop of its own */
        case JSON:
            taken = escape_stretch(JSON, &to, from, stretch, length, readable);
            break;
        case JACKSON:
            taken = escape_stretch(JACKSON, &to, from, stretch, length, readable);
            break;
        case CDATA:
            taken = escape_stretch(CDATA, &to, from, stretch, length, readable);
            break;
        case ATTRIBUTE:
            taken = escape_stretch(ATTRIBUTE, &to, from, stretch, length, readable);
            break;
        default:
            taken = escape_stretch(DOUBLED, &to, from, stretch, length, readable);
        }
        out->size = (size_t)(to - out->data);
        from += taken;
        length -= taken;
        readable -= taken;
    }
    return 0;
}
