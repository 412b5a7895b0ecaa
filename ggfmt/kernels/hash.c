#include "hash.h"

/* SipHash-1-3 (Aumasson and Bernstein, "SipHash: a fast short-input PRF"). Python's own hash would do as well, but for
   its seed: Spark sets PYTHONHASHSEED=0 for its workers. */

static uint64_t seed[2];
static int in_use;
uint64_t hash_work;

typedef struct {
    uint64_t a, b, c, d;
} State;

static inline uint64_t turned(uint64_t value, int bits) {
    return value << bits | value >> (64 - bits);
}

static inline void mix(State *s) {
    s->a += s->b;
    s->c += s->d;
    s->b = turned(s->b, 13) ^ s->a;
    s->d = turned(s->d, 16) ^ s->c;
    s->a = turned(s->a, 32);
    s->c += s->b;
    s->a += s->d;
    s->b = turned(s->b, 17) ^ s->c;
    s->d = turned(s->d, 21) ^ s->a;
    s->c = turned(s->c, 32);
}

static inline void take_block(State *s, uint64_t block) {
    s->d ^= block;
    mix(s);
    s->a ^= block;
}

uint64_t hash_of(const char *data, size_t length) {
    State s = {seed[0] ^ 0x736f6d6570736575u, seed[1] ^ 0x646f72616e646f6du, seed[0] ^ 0x6c7967656e657261u,
               seed[1] ^ 0x7465646279746573u};
    uint64_t block, last = (uint64_t)length << 56;
    in_use = 1;
    for (; length >= sizeof block; data += sizeof block, length -= sizeof block) {
        memcpy(&block, data, sizeof block);
        take_block(&s, block);
    }
    for (size_t i = 0; i < length; i++)
        last |= (uint64_t)(unsigned char)data[i] << (8 * i);
    take_block(&s, last);
    s.c ^= 0xff;
    mix(&s);
    mix(&s);
    mix(&s);
    return s.a ^ s.b ^ s.c ^ s.d;
}

static int take_seed(PyObject *bytes) {
    if (!PyBytes_Check(bytes) || PyBytes_Size(bytes) != HASH_SEED_BYTES) {
        PyErr_Format(PyExc_ValueError, "a seed is %d bytes", HASH_SEED_BYTES);
        return -1;
    }
    memcpy(seed, PyBytes_AsString(bytes), sizeof seed);
    return 0;
}

int hash_start(void) {
    PyObject *os = PyImport_ImportModule("os");
    PyObject *drawn = os == NULL ? NULL : PyObject_CallMethod(os, "urandom", "i", HASH_SEED_BYTES);
    int taken = drawn == NULL ? -1 : take_seed(drawn);
    Py_XDECREF(os);
    Py_XDECREF(drawn);
    return taken;
}

PyObject *kernel_seed_hashes(PyObject *Py_UNUSED(module), PyObject *bytes) {
    if (in_use) { /* what tables hold would not be found again */
        PyErr_SetString(PyExc_RuntimeError, "hashes are in use");
        return NULL;
    }
    if (take_seed(bytes) < 0)
        return NULL;
    Py_RETURN_NONE;
}

PyObject *kernel_hash_work(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(none)) {
    return PyLong_FromUnsignedLongLong(hash_work);
}
