/* The partition that Kafka's Java producer chooses for a key: MurmurHash2 by Austin Appleby, with Kafka's seed. */
#include "arrow.h"

static uint32_t murmur2(const uint8_t *data, uint32_t length) {
    const uint32_t factor = 0x5bd1e995;
    uint32_t hash = 0x9747b28c ^ length, word;
    for (; length >= sizeof word; data += sizeof word, length -= sizeof word) {
        memcpy(&word, data, sizeof word);
        word *= factor;
        word = (word ^ word >> 24) * factor;
        hash = hash * factor ^ word;
    }
    for (uint32_t i = 0; i < length; i++)
        hash ^= (uint32_t)data[i] << 8 * i;
    if (length)
        hash *= factor;
    hash = (hash ^ hash >> 13) * factor;
    return hash ^ hash >> 15;
}

/* Of keys and a number of partitions; of a NULL any number. */
PyObject *kernel_partitions(PyObject *Py_UNUSED(module), PyObject *args) {
    PyObject *keys;
    unsigned int count;
    ArrowView view;
    Bytes found = {0};
    if (!PyArg_ParseTuple(args, "OI", &keys, &count))
        return NULL;
    if (count == 0)
        return refused("no partitions");
    if (arrow_view(keys, "z", &view) < 0)
        return NULL;
    if (bytes_start(&found, (size_t)view.length * sizeof(uint32_t) + 1) < 0) {
        arrow_release(&view);
        return PyErr_NoMemory();
    }
    for (int64_t row = 0; row < view.length; row++) {
        const uint32_t hash = murmur2((const uint8_t *)view.data + view.ends[row], (uint32_t)(view.ends[row + 1] - view.ends[row]));
        const uint32_t partition = (hash & 0x7fffffff) % count;
        memcpy(found.data + (size_t)row * sizeof partition, &partition, sizeof partition);
    }
    found.size = (size_t)view.length * sizeof(uint32_t);
    arrow_release(&view);
    return bytes_take(&found);
}
