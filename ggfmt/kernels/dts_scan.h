/* The scanner of DTS's records, between its files: values (dts_values.c), tables (dts_tables.c), tokens (dts_tokens.c), and
   whole records with what Python sees of the scanner (dts_scan.c). */
#ifndef GGFMT_DTS_SCAN_H
#define GGFMT_DTS_SCAN_H

#include "avro.h"
#include "scanner.h"

enum { MAX_TAGS = 32, MAX_STAMPS = 16, OPERATIONS = 17, MAX_COLUMNS = 1 << 16, MAX_LENGTH = 1 << 26, MAX_PREFIX = 7 };

/* What the values of a column become. */
enum Mode { TEXTS, BYTES, BOOLEANS };

/* What an operation is, besides a letter for a change: a row of a first load, a record that is counted, one left alone. */
enum { FIRST_LOAD = 'L', COUNTED = '-', LEFT = '?' };

/* The words that the caller gives, in this order. */
enum Word { W_SOURCE_TYPE, W_VERSION, W_ID, W_BORN, W_SAFE_POSITION, W_TRANSACTION, W_SOURCE_VERSION, W_PROCESS, W_SNAPSHOT,
            W_TRUE, W_KEYS, W_MORE, WORDS };

typedef struct {
    Table base;
    int digits;     /* of a fraction of a second */
    int cells;      /* the number of values of an image */
    int32_t *place; /* of each value, its column */
    uint8_t *mode;
} DtsTable;

/* The parts of an identity. */
typedef struct {
    Slice name;
    Slice keys;
    Slice fields; /* in Avro, from their branch on */
    int64_t source;
} Identity;

typedef struct {
    Scanner base;
    Keys words;
    Keys source_types;
    Keys unicode; /* charsets that are UTF-8, in lower case */
    Keys ascii;   /* charsets in which ASCII is ASCII */
    char ops[OPERATIONS];
    ImageRules rules;
    int row_only;
    int with_tokens;
    Identity last_identity; /* the parts of the identity that was found last, within its key */
    int64_t counts[OPERATIONS];
    /* of the data in hand */
    int born;   /* whether records have a time of birth: 1, 0, or -1 for a record that has bytes left for it */
    int prefix; /* the number of bytes with the length of a record, in front of it */
    /* the record in hand */
    int64_t version, id, stamp, born_at;
    Slice position, safe_position, transaction, source_version;
    Identity of;
    int operation;
    Slice process; /* the list, behind its branch */
    int stamps;    /* -1 for no list */
    int tags;
    Slice tag_name[MAX_TAGS];
    Slice tag_text[MAX_TAGS];
} DtsScanner;

static inline int dts_is_word(const DtsScanner *s, const Slice *text, enum Word word) {
    return key_is(&s->words, (int)word, text->start, text->length);
}

/* The branch of a union, which is one byte: an even number below 128, halved. */
static inline const char *dts_branch(const char *at, const char *end, int *branch) {
    if (at == NULL || at >= end || (*at & 0x81))
        return NULL;
    *branch = *at >> 1;
    return at + 1;
}

/* Puts one value into its column. */
Verdict dts_cell(DtsScanner *s, Column *column, enum Mode mode, int digits, const char **place, const char *end);

/* Passes over the columns of a record, and finds its table by its identity. */
Verdict dts_find_table(DtsScanner *s, const char **place, const char *end);
int dts_make_table(Scanner *base, Table *table, int key, PyObject *description);
void dts_free_table(Table *table);

/* Read the times at which a record was processed, and its tags; NULL where the scanner does not take them. */
const char *dts_process(DtsScanner *s, const char *at, const char *end);
const char *dts_tags(DtsScanner *s, const char *at, const char *end);

/* Puts all that a record has besides its values, its time and its position. */
Verdict dts_put_tokens(DtsScanner *s);

#endif
