#include "keys.h"

#include "names.h"

#include <stdlib.h>

static int find(const Keys *keys, const char *text, size_t length, uint64_t hash) {
    if (keys->places_size == 0)
        return -1;
    size_t mask = keys->places_size - 1;
    for (size_t place = hash & mask; keys->places[place] >= 0; place = (place + 1) & mask) {
        int number = keys->places[place];
        if (keys->all[number].hash == hash && key_is(keys, number, text, length))
            return number;
    }
    return -1;
}

int keys_find(const Keys *keys, const char *text, size_t length) {
    return find(keys, text, length, hash_of(text, length));
}

static void place_key(Keys *keys, int number) {
    size_t mask = keys->places_size - 1, place = keys->all[number].hash & mask;
    while (keys->places[place] >= 0)
        place = (place + 1) & mask;
    keys->places[place] = number;
}

/* Makes room for one key more; at least half of the places stay free. */
static int grow(Keys *keys) {
    if (keys->count == keys->capacity) {
        if (keys->capacity > INT32_MAX / 4)
            return -1;
        int capacity = keys->capacity ? keys->capacity * 2 : 32;
        Key *all = realloc(keys->all, (size_t)capacity * sizeof(Key));
        if (all == NULL)
            return -1;
        keys->all = all;
        keys->capacity = capacity;
    }
    if (((size_t)keys->count + 1) * 2 <= keys->places_size)
        return 0;
    size_t size = keys->places_size ? keys->places_size * 2 : 64;
    int32_t *places = malloc(size * sizeof(int32_t));
    if (places == NULL)
        return -1;
    free(keys->places);
    keys->places = places;
    keys->places_size = size;
    memset(places, 0xff, size * sizeof(int32_t));
    for (int number = 0; number < keys->count; number++)
        place_key(keys, number);
    return 0;
}

int keys_number(Keys *keys, const char *text, size_t length) {
    uint64_t hash = hash_of(text, length);
    int number = find(keys, text, length, hash);
    if (number >= 0)
        return number;
    if (grow(keys) < 0)
        return -1;
    char *copy = malloc(length + 1);
    if (copy == NULL)
        return -1;
    if (length)
        memcpy(copy, text, length);
    keys->all[keys->count] = (Key){copy, length, hash};
    place_key(keys, keys->count);
    return keys->count++;
}

void keys_free(Keys *keys) {
    for (int i = 0; i < keys->count; i++)
        free(keys->all[i].text);
    free(keys->all);
    free(keys->places);
    *keys = (Keys){0};
}
