/* Python's limited API, so that one binary serves all Pythons from 3.10 on.

   A Python without a global lock has no limited API, and gets a binary of its own. */
#ifndef GGFMT_PYTHON_H
#define GGFMT_PYTHON_H

#define PY_SSIZE_T_CLEAN
#include <pyconfig.h>
#ifndef Py_GIL_DISABLED
#define Py_LIMITED_API 0x030A0000
#endif
#include <Python.h>

#if PY_BIG_ENDIAN
#error "The kernels of ggfmt are for little-endian machines: Avro's numbers and hashes of texts are read as memory has them. ggfmt works without kernels."
#endif

/* The buffer protocol is in the limited API since Python 3.11. Python 3.10 has the same struct, functions and slot, and no
   later release of Python 3.10 changes them: https://docs.python.org/3/c-api/buffer.html#c.Py_buffer */
#ifdef Py_LIMITED_API
typedef struct {
    void *buf;
    PyObject *obj;
    Py_ssize_t len;
    Py_ssize_t itemsize;
    int readonly;
    int ndim;
    char *format;
    Py_ssize_t *shape;
    Py_ssize_t *strides;
    Py_ssize_t *suboffsets;
    void *internal;
} Py_buffer;

PyAPI_FUNC(int) PyBuffer_FillInfo(Py_buffer *view, PyObject *owner, void *data, Py_ssize_t size, int readonly, int flags);
PyAPI_FUNC(void) PyBuffer_Release(Py_buffer *view);
#undef Py_bf_getbuffer
#define Py_bf_getbuffer 1
#endif

enum {
    FIXED_TYPE = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
    INTERNAL_TYPE = FIXED_TYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION, /* C alone makes objects */
};

static inline PyObject *none(void) {
    Py_RETURN_NONE;
}

/* Puts an item into a new tuple, which the lack of one frees. */
static inline void put_item(PyObject **tuple, Py_ssize_t place, PyObject *item) {
    if (item == NULL)
        Py_CLEAR(*tuple);
    else
        PyTuple_SetItem(*tuple, place, item);
}

/* A type of objects with methods. */
#define OBJECT_TYPE(type_name, size, type_flags, doc, make, dealloc, methods)                                               \
    {.name = "ggfmt.kernels._native." type_name, .basicsize = size, .flags = type_flags,                                    \
     .slots = (PyType_Slot[]){{Py_tp_doc, doc}, {Py_tp_new, (void *)make}, {Py_tp_dealloc, (void *)dealloc},                \
                              {Py_tp_methods, methods}, {0, NULL}}}

/* Frees an object whose members are freed. Each object of a type that was made at run time holds the type. */
static inline void free_object(PyObject *object) {
    PyTypeObject *type = Py_TYPE(object);
    PyObject_Free(object);
    Py_DECREF(type);
}

#endif
