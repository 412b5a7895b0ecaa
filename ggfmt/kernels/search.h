/* Texts in bytes. */
#ifndef GGFMT_SEARCH_H
#define GGFMT_SEARCH_H

#include "buffer.h"

/* Where a text that is not empty occurs first; NULL if nowhere. */
const char *search(const char *at, const char *end, const char *text, size_t length);

static inline int starts(const char *at, const char *end, const char *text, size_t length) {
    return (size_t)(end - at) >= length && memcmp(at, text, length) == 0;
}
#define STARTS(at, end, text) starts(at, end, text, sizeof(text) - 1)

#endif
