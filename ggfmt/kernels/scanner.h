/* The scanner: takes regular records of a format into columns, in one pass over their bytes.

   A scanner has tables, and the caller binds each table to identities: the texts by which a record names its table. Each
   kind of scanner has a ScannerKind, with what differs between formats. All else is in scanner.c: tables and identities,
   the loop over records, and the Python methods.

   A scanner leaves every decision on errors to the exact reader. A record with anything out of the ordinary is ODD: it
   leaves no trace in the columns and ends the scan, so that the caller can read the record exactly and scan on behind it. */
#ifndef GGFMT_SCANNER_H
#define GGFMT_SCANNER_H

#include "keys.h"
#include "rows.h"

/* A table of any kind of scanner. The struct of a kind's tables starts with it. */
typedef struct {
    int is_bound;
    int first_key;             /* an identity that is bound to the table, -1 for none */
    int64_t max_rows;          /* a scan ends when the table has so many rows; 0 for no limit */
    const uint8_t *only_before; /* the columns of before images that `take` returns; NULL for all */
    Memory memory;
    Rows rows;
} Table;

enum { UNBOUND = -1, REFUSED = -2 };

typedef struct {
    int table; /* the number of the identity's table, UNBOUND, or REFUSED: its records are odd */
    int next;  /* another identity of the same table, -1 for none */
    void *detail; /* what the kind knows of the identity */
} Binding;

/* A scanner of any kind. The struct of a kind's scanners starts with it. */
typedef struct {
    PyObject_HEAD
    const struct ScannerKind *kind;
    Memory memory;
    Keys keys;         /* the identities */
    Binding *bindings; /* of the identities */
    int last;          /* the identity that was found last, which had a table then; -1 for none */
    char *tables;
    int table_count;
    int first_free; /* all tables before it are bound */
    Bytes identity;
    Bytes text; /* of the kind, for the record in hand */
    Bytes notes; /* int64: what the kind notes for the caller during a scan */
    const char *data;
    int in_span; /* the record is alone in its bytes */
    int routes;  /* scans make no rows, and only note the table of each record; see `route` in scanner.c */
    int is_busy; /* a scan of another thread is going on */
    /* the record in hand */
    Table *table;     /* NULL while it is not known */
    int64_t row;      /* of the record in its table */
    int is_unbound;   /* the record is odd because no table is bound to `identity` */
} Scanner;

typedef struct ScannerKind {
    PyType_Spec spec;
    PyTypeObject *type; /* once the module is loaded */
    size_t table_size;
    /* Reads the arguments of the constructor; -1, with an exception, on failure. */
    int (*make)(Scanner *scanner, PyObject *args, PyObject *keywords);
    void (*free)(Scanner *scanner); /* what the scanner has outside of its memory; NULL for nothing */
    /* Fills a table of zeros from the arguments of `bind` behind the identity; -1, with an exception, on failure. */
    int (*make_table)(Scanner *scanner, Table *table, int key, PyObject *description);
    void (*free_table)(Table *table); /* what the table has outside of its memory; NULL for nothing */
    /* Reads the context of a scan, None if there is none; -1, with an exception, on failure. NULL: the kind has no contexts. */
    int (*begin)(Scanner *scanner, PyObject *context);
    const char *(*skip)(const char *at, const char *end); /* past what may be between records; NULL for nothing */
    /* Takes a record from its start to behind it; reads nothing at or beyond `end`. */
    Verdict (*record)(Scanner *scanner, const char **place, const char *end, int64_t ordinal);
    int without_python; /* `record` calls nothing of Python, so that other threads may run meanwhile */
} ScannerKind;

extern ScannerKind *const scanner_kinds[]; /* all kinds, and NULL; in module.c */

/* The type of all scanners. It is the base of the types of the kinds. */
extern PyType_Spec scanner_spec;

PyObject *scanner_new(PyTypeObject *type, PyObject *args, PyObject *keywords);
void scanner_dealloc(PyObject *scanner);

extern PyMethodDef no_methods[]; /* of a kind that has those of all scanners alone */

/* The type of a kind. */
#define SCANNER_TYPE(type_name, size, methods, doc)                                                                        \
    .spec = OBJECT_TYPE(type_name, size, FIXED_TYPE, doc, scanner_new, scanner_dealloc, methods)

/* The number of an identity that is bound to no table yet; -1, with an exception, on failure. */
int scanner_key(Scanner *scanner, PyObject *identity);
void scanner_bind_key(Scanner *scanner, int key, int number);

/* In the middle of a scan by another thread, nothing may be taken or changed: 0, with an exception. */
int scanner_idle(const Scanner *s);

/* The bound table of a number; NULL, with an exception, if there is none. */
Table *scanner_table(Scanner *scanner, PyObject *number);

/* The number of a table of the scanner. */
int scanner_number(const Scanner *scanner, const Table *table);

/* Makes a table that of the record in hand. */
static inline void scanner_use(Scanner *scanner, Table *table) {
    scanner->table = table;
    scanner->row = table->rows.count;
}

/* The table of the identity that was found last; NULL if there is none. */
Table *scanner_last_table(const Scanner *scanner);

/* Makes the table of an identity that of the record in hand. If the identity is bound to no table, the record is ODD, and
   the scan returns its identity. */
Verdict scanner_find(Scanner *scanner, const char *identity, size_t length);

enum { MAX_OP_WORDS = 64 };

/* The words for types of operations, each with its letter. */
typedef struct {
    Keys words;
    char letters[MAX_OP_WORDS];
} OpWords;

/* Reads a dict of bytes, with one letter for each word; -1, with an exception, on failure. */
int op_words_read(OpWords *ops, Memory *memory, PyObject *dict);

/* The letter of a word; 0 if it has none. */
static inline char op_letter(const OpWords *ops, const char *word, size_t length) {
    for (int i = 0; i < ops->words.count; i++)
        if (key_is(&ops->words, i, word, length))
            return ops->letters[i];
    return 0;
}

/* Whether operations of a type, by letter, may have a before image and an after image: -1 not allowed, 1 required. */
typedef struct {
    signed char of[128][2];
} ImageRules;

/* Reads a dict with (before, after) for each letter; -1, with an exception, on failure. */
int image_rules_read(ImageRules *rules, PyObject *dict);

static inline int image_rules_break(const ImageRules *rules, char op, int has_before, int has_after) {
    const signed char *rule = rules->of[op & 127];
    return (has_before ? rule[0] < 0 : rule[0] > 0) || (has_after ? rule[1] < 0 : rule[1] > 0);
}

#endif
