#include "buffer.h"

#include <stdlib.h>

int bytes_grow(Bytes *bytes, size_t more) {
    if (more > SIZE_MAX / 4 || bytes->size > SIZE_MAX / 4)
        return -1;
    size_t capacity = bytes->capacity < 256 ? 256 : bytes->capacity;
    while (capacity - bytes->size < more)
        capacity *= 2;
    char *data = realloc(bytes->data, capacity);
    if (data == NULL)
        return -1;
    bytes->data = data;
    bytes->capacity = capacity;
    return 0;
}

void bytes_free(Bytes *bytes) {
    free(bytes->data);
    *bytes = (Bytes){0};
}

typedef struct {
    PyObject_HEAD
    Bytes bytes;
} Buffer;

static void buffer_dealloc(PyObject *self) {
    bytes_free(&((Buffer *)self)->bytes);
    Py_TYPE(self)->tp_free(self);
}

static int buffer_get(PyObject *self, Py_buffer *view, int flags) {
    static char nothing[1];
    Bytes *bytes = &((Buffer *)self)->bytes;
    return PyBuffer_FillInfo(view, self, bytes->data ? bytes->data : nothing, (Py_ssize_t)bytes->size, 1, flags);
}

static PyBufferProcs buffer_procs = {.bf_getbuffer = buffer_get};

PyTypeObject BufferType = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "ggfmt.kernels._native.Buffer",
    .tp_doc = "Bytes that a kernel made; read-only.",
    .tp_basicsize = sizeof(Buffer),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_dealloc = buffer_dealloc,
    .tp_as_buffer = &buffer_procs,
};

PyObject *bytes_take(Bytes *bytes) {
    Buffer *buffer = PyObject_New(Buffer, &BufferType);
    if (buffer == NULL)
        return NULL;
    if (bytes->size + 4096 < bytes->capacity) { /* a batch is held for a while, and what it does not need is others' */
        char *less = realloc(bytes->data, bytes->size ? bytes->size : 1);
        if (less != NULL) {
            bytes->data = less;
            bytes->capacity = bytes->size ? bytes->size : 1;
        }
    }
    buffer->bytes = *bytes;
    *bytes = (Bytes){0};
    return (PyObject *)buffer;
}
