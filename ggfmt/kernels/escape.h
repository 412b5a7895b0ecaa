/* Texts as messages have them: what each encoding makes of the bytes of a value. */
#ifndef GGFMT_ESCAPE_H
#define GGFMT_ESCAPE_H

#include "buffer.h"

/* As ggfmt/columnar/pieces.py has them. */
typedef enum { AS_IS, JSON, JACKSON, CONNECT, CDATA, ATTRIBUTE, DOUBLED, DIGITS, MILLIS, NANOS, SIZED, VARINT, LONG, FLOAT, DOUBLE, BOOLEAN, ENCODINGS } Encoding;

/* Appends a value of which `readable` bytes can be read; -1 if there is no memory. For encodings of texts up to DOUBLED. */
int escape(Bytes *out, Encoding encoding, const char *from, size_t length, size_t readable);

#endif
