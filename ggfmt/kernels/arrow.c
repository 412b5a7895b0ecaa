#include "arrow.h"

#include <stdlib.h>

struct ArrowSchema {
    const char *format;
    const char *name;
    const char *metadata;
    int64_t flags;
    int64_t n_children;
    struct ArrowSchema **children;
    struct ArrowSchema *dictionary;
    void (*release)(struct ArrowSchema *);
    void *private_data;
};

struct ArrowArray {
    int64_t length;
    int64_t null_count;
    int64_t offset;
    int64_t n_buffers;
    int64_t n_children;
    const void **buffers;
    struct ArrowArray **children;
    struct ArrowArray *dictionary;
    void (*release)(struct ArrowArray *);
    void *private_data;
};

static int unlike(const char *what) {
    PyErr_Format(PyExc_TypeError, "an array of a kind that the kernel does not take: %s", what);
    return -1;
}

static int view_of(const struct ArrowSchema *schema, const struct ArrowArray *array, const char *kinds, ArrowView *view) {
    static const int32_t no_ends[1] = {0};
    static const char no_data[SLACK];
    const char *format = schema->format;
    int is_list = strcmp(format, "+l") == 0 || strcmp(format, "+m") == 0;
    if (strchr(kinds, format[0]) == NULL || schema->dictionary != NULL || array->length < 0 || array->offset < 0)
        return unlike(format);
    view->kind = (ArrowKind)format[0];
    view->length = array->length;
    view->first = array->offset;
    if (array->n_buffers > 0 && array->null_count != 0)
        view->valid = array->buffers[0];
    if (is_list || strcmp(format, "u") == 0 || strcmp(format, "z") == 0) {
        if (array->n_buffers != (is_list ? 2 : 3))
            return unlike(format);
        const int32_t *ends = array->buffers[1];
        view->ends = ends == NULL ? no_ends : ends + array->offset;
        view->data = is_list || array->buffers[2] == NULL ? no_data : array->buffers[2];
        return ends == NULL && array->length ? unlike(format) : 0;
    }
    if (array->n_buffers != 2 || (array->buffers[1] == NULL && array->length))
        return unlike(format);
    if (strcmp(format, "b") == 0) {
        view->bits = array->buffers[1];
        return 0;
    }
    view->width = strcmp(format, "l") == 0 ? 8 : strncmp(format, "w:", 2) == 0 ? atoi(format + 2) : 0;
    if (view->width <= 0)
        return unlike(format);
    view->data = array->buffers[1] == NULL ? no_data : (const char *)array->buffers[1] + array->offset * view->width;
    return 0;
}

int arrow_view(PyObject *object, const char *kinds, ArrowView *view) {
    static PyObject *method;
    *view = (ArrowView){0};
    if (method == NULL && (method = PyUnicode_InternFromString("__arrow_c_array__")) == NULL)
        return -1;
    view->owner = PyObject_CallMethodObjArgs(object, method, NULL);
    if (view->owner == NULL)
        return -1;
    if (PyTuple_Check(view->owner) && PyTuple_Size(view->owner) == 2) {
        const struct ArrowSchema *schema = PyCapsule_GetPointer(PyTuple_GetItem(view->owner, 0), "arrow_schema");
        const struct ArrowArray *array =
            schema == NULL ? NULL : PyCapsule_GetPointer(PyTuple_GetItem(view->owner, 1), "arrow_array");
        if (array != NULL && view_of(schema, array, kinds, view) == 0)
            return 0;
    } else {
        unlike("no Arrow array");
    }
    arrow_release(view);
    return -1;
}

void arrow_release(ArrowView *view) {
    Py_CLEAR(view->owner);
}
