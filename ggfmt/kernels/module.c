/* The extension module: what there is in it, which revision of the sources it was built from, and how (blocks.h). */
#include "blocks.h"
#include "hash.h"
#include "revision.h"
#include "scanner.h"
#ifdef __GLIBC__
#include <malloc.h>
#endif

extern PyType_Spec avro_columns_spec, avro_to_json_spec, binlog_rows_spec;
extern ScannerKind avro_scanner, delimited_scanner, dts_scanner, json_scanner, xml_scanner;

ScannerKind *const scanner_kinds[] = {&avro_scanner, &delimited_scanner, &dts_scanner, &json_scanner, &xml_scanner, NULL};

PyObject *kernel_join(PyObject *module, PyObject *args);
PyObject *kernel_fits(PyObject *module, PyObject *args);
PyObject *kernel_digits(PyObject *module, PyObject *array);
PyObject *kernel_count(PyObject *module, PyObject *args);
PyObject *kernel_occurrences(PyObject *module, PyObject *args);
PyObject *kernel_envelopes(PyObject *module, PyObject *args);
PyObject *kernel_differ(PyObject *module, PyObject *args);
PyObject *kernel_partitions(PyObject *module, PyObject *args);
PyObject *kernel_csv_rows(PyObject *module, PyObject *args);
PyObject *kernel_csv_to_json(PyObject *module, PyObject *args);
PyObject *kernel_seed_hashes(PyObject *module, PyObject *seed);
PyObject *kernel_hash_work(PyObject *module, PyObject *none);
PyObject *kernel_binlog_commits(PyObject *module, PyObject *args);
PyObject *kernel_binlog_records(PyObject *module, PyObject *args);
void binlog_start(void);

enum { KEPT_BYTES = 256 << 20, GROWTH_BYTES = 16 << 20 };

/* Without this, glibc returns the buffers of each chunk to the system, and gets them again, with all pages to be cleared:
   an eighth of the time of a run. */
static PyObject *kernel_keep_memory(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(none)) {
#ifdef __GLIBC__
    mallopt(M_TRIM_THRESHOLD, KEPT_BYTES);
    mallopt(M_TOP_PAD, GROWTH_BYTES);
#endif
    Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    {"join", kernel_join, METH_VARARGS, "join(pieces, rows, kinds) -> (rows, offsets, data) of messages; see join.c"},
    {"fits", kernel_fits, METH_VARARGS, "fits(texts, form) -> whether all values are of a form; see fits.c"},
    {"digits", kernel_digits, METH_O, "digits(texts) -> the most digits before and after the point, how many are no such numbers"},
    {"differ", kernel_differ, METH_VARARGS, "differ(texts, others, rows, other_rows) -> bits of where they differ; see fits.c"},
    {"count", kernel_count, METH_VARARGS, "count(texts, parts, wholes) -> how many values hold each part, and are each whole"},
    {"occurrences", kernel_occurrences, METH_VARARGS, "occurrences(data, text) -> how often a text stands in data"},
    {"envelopes", kernel_envelopes, METH_VARARGS, "envelopes(data, place, most) -> spans of envelopes of Qlik Replicate"},
    {"partitions", kernel_partitions, METH_VARARGS, "partitions(keys, count) -> the partition (int32) of each key; see partition.c"},
    {"csv_rows", kernel_csv_rows, METH_VARARGS, "csv_rows(data, place, more, most, delimiter, quote, backslash) -> (spans, place)"},
    {"csv_to_json", kernel_csv_to_json, METH_VARARGS, "csv_to_json(...) -> (text, ends) of rows; see csv_rows.c"},
    {"seed_hashes", kernel_seed_hashes, METH_O, "seed_hashes(seed): of all hashes, before the first of them"},
    {"hash_work", kernel_hash_work, METH_NOARGS, "hash_work() -> how many places of hash tables were looked at so far"},
    {"binlog_commits", kernel_binlog_commits, METH_VARARGS, "binlog_commits(...) -> end of transactions; see binlog_events.c"},
    {"binlog_records", kernel_binlog_records, METH_VARARGS, "binlog_records(...) -> (place, text, events, lines); see binlog_events.c"},
    {"keep_memory", kernel_keep_memory, METH_NOARGS, "keep_memory(): keep memory that is freed, for this process"},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "ggfmt.kernels._native",
    .m_doc = "Native kernels of ggfmt.",
    .m_size = -1,
    .m_methods = functions,
};

/* Adds a type to the module. The type, which the module holds, or NULL, with an exception, on failure. */
static PyTypeObject *add_type(PyObject *module, PyType_Spec *spec, PyTypeObject *base) {
    PyObject *type = PyType_FromSpecWithBases(spec, (PyObject *)base);
    int failed = type == NULL || PyModule_AddType(module, (PyTypeObject *)type) < 0;
    Py_XDECREF(type);
    return failed ? NULL : (PyTypeObject *)type;
}

static int add_types(PyObject *module) {
    PyTypeObject *scanner = add_type(module, &scanner_spec, NULL);
    buffer_type = (PyTypeObject *)PyType_FromSpec(&buffer_spec);
    int failed = scanner == NULL || buffer_type == NULL || add_type(module, &avro_columns_spec, NULL) == NULL ||
                 add_type(module, &avro_to_json_spec, NULL) == NULL || add_type(module, &binlog_rows_spec, NULL) == NULL;
    for (ScannerKind *const *kind = scanner_kinds; !failed && *kind != NULL; kind++)
        failed = ((*kind)->type = add_type(module, &(*kind)->spec, scanner)) == NULL;
    return failed ? -1 : 0;
}

PyMODINIT_FUNC PyInit__native(void) {
    if (hash_start() < 0)
        return NULL;
    binlog_start();
    PyObject *module = PyModule_Create(&definition);
    if (module == NULL)
        return NULL;
    if (PyModule_AddIntConstant(module, "REVISION", GGFMT_REVISION) < 0 ||
        PyModule_AddIntConstant(module, "BLOCK_BYTES", sizeof(Block)) < 0 || add_types(module) < 0) {
        Py_DECREF(module);
        return NULL;
    }
    return module;
}
