/* Put in front of every C file of the kernels by `tests/tools/fuzz_kernels.py`: allocations, of which one can be had fail. */
#include <stdlib.h>

void *failing_malloc(size_t size);
void *failing_calloc(size_t count, size_t size);
void *failing_realloc(void *block, size_t size);

#define malloc(size) failing_malloc(size)
#define calloc(count, size) failing_calloc(count, size)
#define realloc(block, size) failing_realloc(block, size)
