/* Arrow arrays seen from C, by the Arrow C data interface (https://arrow.apache.org/docs/format/CDataInterface.html). */
#ifndef GGFMT_ARROW_H
#define GGFMT_ARROW_H

#include "buffer.h"

/* What the values of an array are, by the first letter of its format. */
typedef enum { TEXTS = 'u', BINARIES = 'z', LONGS = 'l', BITS = 'b', WIDE = 'w', LISTS = '+' } ArrowKind;

/* One array, as long as its owner lives. Rows are counted from the start of the slice that the array is. */
typedef struct {
    PyObject *owner;
    ArrowKind kind;
    int64_t length;
    int64_t first;         /* the place of row 0 in the bits */
    const uint8_t *valid;  /* bits, NULL where no value is null */
    const int32_t *ends;   /* of texts, binaries and lists: row i goes from ends[i] to ends[i + 1] */
    const char *data;      /* bytes, or the values of row 0 and on */
    const uint8_t *bits;   /* of booleans */
    int64_t width;         /* of WIDE, in bytes */
} ArrowView;

/* Makes a view of an array. -1, with an exception, for what is no array of one of the kinds. */
int arrow_view(PyObject *array, const char *kinds, ArrowView *view);
void arrow_release(ArrowView *view);

static inline int bit_at(const uint8_t *bits, int64_t place) {
    return bits[place >> 3] >> (place & 7) & 1;
}

static inline int arrow_is_null(const ArrowView *view, int64_t row) {
    return view->valid != NULL && !bit_at(view->valid, view->first + row);
}

#endif
