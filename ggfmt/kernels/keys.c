#include "keys.h"

#include "hash.h"

int keys_find(const Keys *keys, const char *text, size_t length) {
    const uint64_t hash = hash_of(text, length);
    if (keys->index_size == 0)
        return -1;
    size_t size = keys->index_size, place = hash_first(hash, size);
    for (; keys->index[place] >= 0; place = hash_next(place, size)) {
        const Key *key = &keys->all[keys->index[place]];
        if (key->hash == hash && key->length == length && (length == 0 || memcmp(key->text, text, length) == 0))
            return keys->index[place];
    }
    return -1;
}

static void enter(Keys *keys, int number) {
    size_t place = hash_first(keys->all[number].hash, keys->index_size);
    while (keys->index[place] >= 0)
        place = hash_next(place, keys->index_size);
    keys->index[place] = number;
}

/* Makes room for twice as many texts, and leaves what was used before to the owner of the memory. */
static int grow(Keys *keys, Memory *memory) {
    const int room = keys->room ? 2 * keys->room : 8;
    Key *all = keys->room > INT32_MAX / 4 ? PyErr_NoMemory() : memory_make(memory, (size_t)room, sizeof(Key));
    int32_t *index = all == NULL ? NULL : memory_make(memory, 2 * (size_t)room, sizeof(int32_t));
    if (index == NULL)
        return -1;
    if (keys->count)
        memcpy(all, keys->all, (size_t)keys->count * sizeof(Key));
    memset(index, 0xff, 2 * (size_t)room * sizeof(int32_t));
    keys->all = all;
    keys->room = room;
    keys->index = index;
    keys->index_size = 2 * (size_t)room;
    for (int i = 0; i < keys->count; i++)
        enter(keys, i);
    return 0;
}

int keys_append(Keys *keys, Memory *memory, PyObject *from) {
    Slice text;
    if (text_read(memory, from, &text) < 0 || (keys->count == keys->room && grow(keys, memory) < 0))
        return -1;
    keys->all[keys->count] = (Key){text.start, text.length, hash_of(text.start, text.length)};
    enter(keys, keys->count);
    return keys->count++;
}

int keys_read(Keys *keys, Memory *memory, PyObject *tuple) {
    for (Py_ssize_t i = 0; i < PyTuple_Size(tuple); i++)
        if (keys_append(keys, memory, PyTuple_GetItem(tuple, i)) < 0)
            return -1;
    return 0;
}
