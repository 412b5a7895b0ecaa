/* The scanner of DTS's records, between its files: values (dts_values.c), and records and tables (dts_scan.c). */
#ifndef GGFMT_DTS_SCAN_H
#define GGFMT_DTS_SCAN_H

#include "avro.h"
#include "scanner.h"

enum { MAX_TAGS = 32, MAX_STAMPS = 16, OPERATIONS = 17, MAX_COLUMNS = 1 << 16, MAX_LENGTH = 1 << 26, MAX_PREFIX = 7 };

/* Seconds since 1970 of the years 1 to 9999. */
#define FIRST_SECOND INT64_C(-62135596800)
#define LAST_SECOND INT64_C(253402300799)

/* What the values of a column become. */
enum Mode { TEXTS, BYTES, BOOLEANS };

/* What an operation is, besides a letter for a change: a row of a first load, a record that is counted, one left alone. */
enum { FIRST_LOAD = 'L', COUNTED = '-', LEFT = '?' };

/* The words that the caller gives, in this order: names of tokens, those of texts of a record first; the text of the token
   W_SNAPSHOT; the tag with the key of a table; and how names start that the exact reader gives to tags. */
enum Word { W_SOURCE_TYPE, W_VERSION, W_ID, W_BORN, W_SAFE_POSITION, W_TRANSACTION, W_SOURCE_VERSION, W_PROCESS, W_SNAPSHOT,
            W_TRUE, W_KEYS, W_MORE, WORDS };

typedef struct {
    Table base;
    int digits;     /* of a fraction of a second */
    int cells;      /* the number of values of an image */
    int32_t *place; /* of each value, its column */
    uint8_t *mode;
} DtsTable;

/* The `text` of the base has the times at which the record in hand was processed, as JSON. */
typedef struct {
    Scanner base;
    Keys words;
    Keys source_types;
    Keys unicode; /* charsets that are UTF-8, in lower case */
    Keys ascii;   /* charsets in which ASCII is ASCII */
    int last_unicode; /* of `unicode` that a value had last; -1 for none */
    char ops[OPERATIONS];
    ImageRules rules;
    int row_only;
    int with_tokens;
    Slice last_fields; /* of the identity that was found last, within its key */
    int64_t counts[OPERATIONS];
    /* of the data in hand */
    int born;   /* whether records have a time of birth: 1, 0, or -1 for a record that has bytes left for it */
    int prefix; /* the number of bytes with the length of a record, in front of it */
    /* the record in hand */
    int64_t version, id, stamp, born_at;
    Slice position, safe_position, transaction, source_version, name;
    Slice keys; /* the text of the tag; of none the start is NULL */
    int source;
    int operation;
    int tags;
    Slice tag_name[MAX_TAGS];
    Slice tag_text[MAX_TAGS];
} DtsScanner;

/* The branch of a union, which is one byte: an even number below 128, halved. */
static inline const char *dts_branch(const char *at, const char *end, int *branch) {
    if (at == NULL || at >= end || (*at & 0x81))
        return NULL;
    *branch = *at >> 1;
    return at + 1;
}

/* Puts one value into its column. */
Verdict dts_cell(DtsScanner *s, Column *column, enum Mode mode, int digits, const char **place, const char *end);

#endif
