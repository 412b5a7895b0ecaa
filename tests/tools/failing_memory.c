/* Allocations of the kernels under test: the one that a countdown says fails. */
#include "failing_memory.h"

#undef malloc
#undef calloc
#undef realloc

long failing_countdown;   /* how many allocations are left up to the one that fails; none does from 0 on downwards */
long failing_allocations; /* how many there were */

static int fails(void) {
    failing_allocations++;
    return failing_countdown > 0 && --failing_countdown == 0;
}

void *failing_malloc(size_t size) {
    return fails() ? NULL : malloc(size);
}

void *failing_calloc(size_t count, size_t size) {
    return fails() ? NULL : calloc(count, size);
}

void *failing_realloc(void *block, size_t size) {
    return fails() ? NULL : realloc(block, size);
}
