#include "escape.h"

#include "blocks.h"

/* So many bytes of a value are looked at between two looks for room. */
enum { STRETCH = 4096 };

/* The most bytes that one byte becomes. */
static const size_t growth[] = {[JSON] = 6, [JACKSON] = 6, [CONNECT] = 6, [CDATA] = 17, [ATTRIBUTE] = 6, [DOUBLED] = 2};

/* The bytes of a block that need an escape, or might. */
static inline Places standing_out(Encoding encoding, Block block) {
    Found found;
    switch (encoding) {
    case JSON:
    case JACKSON:
        found = found_either(block_below(block, 0x20), found_either(block_is(block, '"'), block_is(block, '\\')));
        break;
    case CONNECT:
        found = found_either(found_either(block_below(block, 0x20), block_is(block, '"')),
                             found_either(block_is(block, '\\'), block_beyond_bmp(block)));
        break;
    case CDATA:
        found = found_either(block_is(block, ']'), block_is(block, '\r'));
        break;
    case ATTRIBUTE:
        found = found_either(found_either(block_below(block, 0x20), block_is(block, '&')),
                             found_either(block_is(block, '<'), block_is(block, '\'')));
        break;
    default:
        found = block_is(block, '"');
    }
    return found_places(found);
}

static char *put(char *to, const char *text, size_t length) {
    memcpy(to, text, length);
    return to + length;
}

#define PUT(to, text) put(to, text, sizeof(text) - 1)

static const char CAPITALS[] = "0123456789ABCDEF";

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

/* A character of four bytes as the escapes of its two UTF-16 units. */
static char *put_surrogates(char *to, const unsigned char *from) {
    uint32_t code = (from[0] & 7u) << 18 | (from[1] & 63u) << 12 | (from[2] & 63u) << 6 | (from[3] & 63u);
    uint32_t units[] = {0xD7C0 + (code >> 10), 0xDC00 + (code & 0x3FF)};
    for (int unit = 0; unit < 2; unit++) {
        to = PUT(to, "\\u");
        for (int shift = 12; shift >= 0; shift -= 4)
            *to++ = CAPITALS[units[unit] >> shift & 15];
    }
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
    case '\r':
        return PUT(to, "&#13;");
    default:
        *to = (char)c;
        return to + 1;
    }
}

/* Writes the escape at a place, and returns how many bytes it replaces. */
static inline size_t put_one(Encoding encoding, char **place, const char *from, size_t left) {
    char *to = *place;
    unsigned char c = (unsigned char)*from;
    size_t taken = 1;
    switch (encoding) {
    case JSON:
        to = put_json(to, c, "0123456789abcdef");
        break;
    case JACKSON:
        to = put_json(to, c, CAPITALS);
        break;
    case CONNECT:
        if (c < 0xF0) {
            to = put_json(to, c, CAPITALS);
        } else if (left > 3) {
            to = put_surrogates(to, (const unsigned char *)from);
            taken = 4;
        } else {
            *to++ = (char)c;
        }
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

static Block load_few(const char *from, size_t count) {
    char bytes[sizeof(Block)] = {0};
    memcpy(bytes, from, count);
    return block_load(bytes);
}

/* Escapes the first `stretch` bytes of `length`, and what goes on behind them; returns how many bytes it took. There is
   room for what they become, and SLACK bytes more. */
static inline size_t escape_stretch(Encoding encoding, char **place, const char *from, size_t stretch, size_t length,
                                    size_t readable) {
    char *to = *place;
    size_t at = 0;
    while (at < stretch) {
        size_t count = stretch - at < sizeof(Block) ? stretch - at : sizeof(Block);
        Block block = readable - at >= sizeof(Block) ? block_load(from + at) : load_few(from + at, count);
        block_store(to, block);
        Places places = standing_out(encoding, block);
        size_t same = places ? first_place(places) : sizeof(Block);
        if (same > count)
            same = count;
        at += same;
        to += same;
        if (same < count)
            at += put_one(encoding, &to, from + at, length - at);
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
#define ESCAPE(ENCODING) case ENCODING: taken = escape_stretch(ENCODING, &to, from, stretch, length, readable); break
        switch (encoding) { /* each has a loop of its own */
            ESCAPE(JSON);
            ESCAPE(JACKSON);
            ESCAPE(CONNECT);
            ESCAPE(CDATA);
            ESCAPE(ATTRIBUTE);
        default:
            taken = escape_stretch(DOUBLED, &to, from, stretch, length, readable);
        }
#undef ESCAPE
        out->size = (size_t)(to - out->data);
        from += taken;
        length -= taken;
        readable -= taken;
    }
    return 0;
}
