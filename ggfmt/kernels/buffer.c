#include "buffer.h"

#include <stdlib.h>

/* Large blocks that are free, for the next batch: memory that is new to a process costs as much as what is written
   there. There are few of them, and the thread that holds the interpreter's lock has them alone. */
enum { MAX_SPARE = 4 };
static const size_t LARGE = 64 << 10, LARGEST_SPARE = 8 << 20;
static Bytes spare[MAX_SPARE];

static int take_spare(Bytes *bytes, size_t capacity) {
    Bytes *best = NULL;
    for (int i = 0; capacity >= LARGE && i < MAX_SPARE; i++)
        if (spare[i].capacity >= capacity && (best == NULL || spare[i].capacity < best->capacity))
            best = &spare[i];
    if (best == NULL || best->capacity / 4 > capacity)
        return 0;
    *bytes = *best;
    *best = (Bytes){0};
    return 1;
}

/* Keeps a block in place of the smallest spare one. */
static void put_by(Bytes *bytes) {
    Bytes *least = &spare[0];
    for (int i = 1; i < MAX_SPARE; i++)
        if (spare[i].capacity < least->capacity)
            least = &spare[i];
    if (bytes->capacity >= LARGE && bytes->capacity <= LARGEST_SPARE && bytes->capacity > least->capacity) {
        Bytes given = *bytes;
        *bytes = *least;
        *least = given;
        least->size = 0;
    }
}

int bytes_start(Bytes *bytes, size_t capacity) {
    *bytes = (Bytes){0};
    if (take_spare(bytes, capacity))
        return 0;
    bytes->data = malloc(capacity);
    bytes->capacity = bytes->data == NULL ? 0 : capacity;
    return bytes->data == NULL ? -1 : 0;
}

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
    put_by(bytes);
    free(bytes->data);
    *bytes = (Bytes){0};
}

void *room_for_one(void *items, size_t count, size_t size) {
    if (items != NULL && (count & (count - 1)) != 0) /* there is room for the next power of two */
        return items;
    size_t room = count ? 2 * count : 1;
    return room > SIZE_MAX / 2 / size ? NULL : realloc(items, room * size);
}

typedef struct Piece {
    struct Piece *before;
    max_align_t content[];
} Piece;

void *memory_make(Memory *memory, size_t count, size_t size) {
    Piece *piece = count > SIZE_MAX / 4 / size ? NULL : calloc(1, sizeof(Piece) + count * size);
    if (piece == NULL)
        return PyErr_NoMemory();
    piece->before = memory->last;
    memory->last = piece;
    return piece->content;
}

void memory_free(Memory *memory) {
    while (memory->last != NULL) {
        Piece *piece = memory->last;
        memory->last = piece->before;
        free(piece);
    }
}

int text_read(Memory *memory, PyObject *from, Slice *text) {
    char *data, *copy;
    Py_ssize_t length;
    if (PyBytes_AsStringAndSize(from, &data, &length) < 0 || (copy = memory_make(memory, (size_t)length + 1, 1)) == NULL)
        return -1;
    memcpy(copy, data, (size_t)length);
    *text = (Slice){copy, (size_t)length};
    return 0;
}

int optional_text_read(Memory *memory, PyObject *from, Slice *text) {
    *text = (Slice){0};
    return from == Py_None ? 0 : text_read(memory, from, text);
}

int refuse(const char *reason) {
    PyErr_SetString(PyExc_ValueError, reason);
    return -1;
}

typedef struct {
    PyObject_HEAD
    Bytes bytes;
} Buffer;

static void buffer_dealloc(PyObject *self) {
    bytes_free(&((Buffer *)self)->bytes);
    free_object(self);
}

static int buffer_get(PyObject *self, Py_buffer *view, int flags) {
    static char nothing[1];
    Bytes *bytes = &((Buffer *)self)->bytes;
    return PyBuffer_FillInfo(view, self, bytes->data ? bytes->data : nothing, (Py_ssize_t)bytes->size, 1, flags);
}

static PyType_Slot buffer_slots[] = {
    {Py_tp_doc, "Bytes that a kernel made; read-only."},
    {Py_tp_dealloc, (void *)buffer_dealloc},
    {Py_bf_getbuffer, (void *)buffer_get},
    {0, NULL},
};

PyTypeObject *buffer_type;
PyType_Spec buffer_spec = {
    .name = "ggfmt.kernels._native.Buffer",
    .basicsize = sizeof(Buffer),
    .flags = INTERNAL_TYPE,
    .slots = buffer_slots,
};

PyObject *bytes_take(Bytes *bytes) {
    Buffer *buffer = PyObject_New(Buffer, buffer_type);
    if (buffer == NULL) {
        bytes_free(bytes);
        return NULL;
    }
    if (bytes->size < bytes->capacity / 2) { /* a batch is held for a while, and what it does not need is others' */
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

PyObject *bits_take(const char *bytes, int64_t count, int64_t rows, char least, char most) {
    Bytes bits = {0};
    size_t length = ((size_t)rows + 7) / 8;
    if (bytes_reserve(&bits, length + 1) < 0)
        return PyErr_NoMemory();
    memset(bits.data, 0, length);
    for (int64_t row = 0; row < count; row++)
        bits.data[row >> 3] |= (char)((bytes[row] >= least && bytes[row] <= most) << (row & 7));
    bits.size = length;
    return bytes_take(&bits);
}
