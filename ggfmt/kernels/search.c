/* How often a text occurs in data, and where envelopes are. */
#include "search.h"

#include "avro.h"
#include "blocks.h"

/* By the first and last byte of the text, a block at a time. */
const char *search(const char *at, const char *end, const char *text, size_t length) {
    const size_t rest = length - 1;
    if (rest == 0)
        return memchr(at, text[0], (size_t)(end - at));
    for (; (size_t)(end - at) >= sizeof(Block) + rest; at += sizeof(Block)) {
        Found first = block_is(block_load(at), text[0]), last = block_is(block_load(at + rest), text[rest]);
        for (Places places = found_places(found_both(first, last)); places; places &= places - 1) {
            const char *found = at + first_place(places);
            if (memcmp(found, text, length) == 0)
                return found;
        }
    }
    for (; (size_t)(end - at) >= length; at++)
        if (*at == text[0] && memcmp(at, text, length) == 0)
            return at;
    return NULL;
}

/* As `bytes.count`, of which this is the fast form for a text whose first byte is a common one. */
PyObject *kernel_occurrences(PyObject *Py_UNUSED(module), PyObject *args) {
    const char *data, *text;
    Py_ssize_t size, length, count = 0;
    if (!PyArg_ParseTuple(args, "y#y#", &data, &size, &text, &length))
        return NULL;
    if (length == 0)
        return refused("the text is empty");
    for (const char *at = data, *end = data + size; (at = search(at, end, text, (size_t)length)) != NULL; at += length)
        count++;
    return PyLong_FromSsize_t(count);
}

/* To behind bytes of Avro that are UTF-8, or null if they are `optional`; NULL where they are not. */
static const char *past_text(const char *at, const char *end, int optional) {
    Slice text;
    int64_t branch = 1;
    if (at != NULL && optional)
        at = avro_long(at, end, &branch);
    if (at == NULL || branch == 0)
        return at;
    return branch == 1 ? avro_text(at, end, &text) : NULL;
}

/* To behind an envelope as `formats/qlik/envelope.py` has it, without headers; NULL where there is none. */
static const char *past_envelope(const char *at, const char *end) {
    static const char magic[] = {'a', 't', 'M', 'S', 'G'};
    const char *message;
    size_t length;
    int64_t headers;
    if (!starts(at, end, magic, sizeof magic))
        return NULL;
    at = past_text(at + sizeof magic, end, 0);
    if (at == NULL || (at = avro_long(at, end, &headers)) == NULL || headers != 0)
        return NULL;
    at = past_text(past_text(at, end, 1), end, 1);
    return at == NULL ? NULL : avro_bytes(at, end, &message, &length);
}

/* The envelopes of Qlik Replicate from a place on that have at most so many bytes, starts and ends in turns, up to anything
   that is no such one. Line ends between them are passed over. */
PyObject *kernel_envelopes(PyObject *Py_UNUSED(module), PyObject *args) {
    const char *data;
    Py_ssize_t size, place, most;
    if (!PyArg_ParseTuple(args, "y#nn", &data, &size, &place, &most))
        return NULL;
    if (place < 0 || place > size)
        return refused("the place is not in the data");
    Bytes spans = {0};
    const char *end = data + size;
    for (const char *at = data + place; at < end;) {
        if (*at == '\n' || *at == '\r') {
            at++;
            continue;
        }
        const char *behind = past_envelope(at, end);
        if (behind == NULL || behind - at > most)
            break;
        int64_t span[2] = {at - data, behind - data};
        if (bytes_append(&spans, span, sizeof span) < 0) {
            bytes_free(&spans);
            return PyErr_NoMemory();
        }
        at = behind;
    }
    return bytes_take(&spans);
}
