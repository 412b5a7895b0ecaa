/* Programs: how to read data of an Avro schema, as a tree of nodes (see formats/avro/programs.py). */
#ifndef GGFMT_AVRO_PROGRAM_H
#define GGFMT_AVRO_PROGRAM_H

#include "avro.h"
#include "keys.h"

enum AvroType { A_NULL, A_BOOLEAN, A_LONG, A_FLOAT, A_DOUBLE, A_BYTES, A_STRING, A_ENUM, A_FIXED, A_UNION, A_RECORD, A_ARRAY,
                A_MAP };

/* How a value is shown. DATE: days since 1970. TIME of day and STAMP, since 1970: numbers of `size` microseconds. */
enum AvroShow { PLAIN, AS_TEXT, DATE, TIME, STAMP, DECIMAL };

enum { AVRO_MAX_FIELDS = 1 << 16, AVRO_MAX_NAMES = 64 };

typedef struct Node {
    uint8_t type;
    uint8_t show;
    uint8_t action; /* what the scanner does with the value; see avro_scan.c */
    uint8_t acts;   /* the node or one below it has an action */
    int place;      /* what the action is about */
    int64_t size;   /* of a FIXED; the microseconds that a TIME or a STAMP counts; the scale of a DECIMAL */
    size_t least;   /* the number of bytes that a value has at least; of an ARRAY, that an item has */
    Keys texts;     /* of a record its names, each as a JSON string and a colon; of an ENUM its symbols as JSON */
    int count;
    struct Node *children; /* of BYTES that hold another datum, its node */
} Node;

/* Checks a node of a program, whose children were checked; -1, with an exception, if it cannot run. */
typedef int NodeCheck(Node *node, const void *limits);

/* Reads a program from tuples of Python; -1, with an exception, on failure. A `check` gets the `limits`. */
int node_read(Node *node, Memory *memory, PyObject *tuple, NodeCheck *check, const void *limits);

#endif
