/* The hash of all tables of texts that files bring: keyed by a seed that each process draws for itself, so that no
   attacker can write a file whose texts collide. No result depends on the seed: texts are numbered in the order they
   came in. */
#ifndef GGFMT_HASH_H
#define GGFMT_HASH_H

#include "buffer.h"

enum { HASH_SEED_BYTES = 16 };

uint64_t hash_of(const char *data, size_t length);

/* How many places of tables were looked at, of which tests see that texts do not collide. Scans side by side may lose
   counts. */
extern uint64_t hash_work;

/* The first place to look at in a table of a size that is a power of two, and the one behind a place. */
static inline size_t hash_first(uint64_t hash, size_t size) {
    hash_work++;
    return (size_t)hash & (size - 1);
}

static inline size_t hash_next(size_t place, size_t size) {
    hash_work++;
    return (place + 1) & (size - 1);
}

/* Draws the seed from the system; -1, with an exception, on failure. */
int hash_start(void);

#endif
