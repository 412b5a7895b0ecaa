/* Bytes compared many at a time: 16 by SSE2, 8 by 64-bit integers where there is no SSE2. The latter is tried everywhere by
   a build with GGFMT_PORTABLE.

   The first byte that is found is certain. Of the bytes behind it, all that should be found are, and perhaps others. */
#ifndef GGFMT_BLOCKS_H
#define GGFMT_BLOCKS_H

#include <stdint.h>
#include <string.h>

#if defined(__SSE2__) && !defined(GGFMT_PORTABLE)
#include <emmintrin.h>

typedef __m128i Block;
typedef __m128i Found; /* bytes of ones */
typedef unsigned Places; /* a bit for each byte that is found */

static inline Block block_load(const char *from) {
    return _mm_loadu_si128((const __m128i *)(const void *)from);
}

static inline void block_store(char *to, Block block) {
    _mm_storeu_si128((__m128i *)(void *)to, block);
}

/* Bytes that are `c`. */
static inline Found block_is(Block block, char c) {
    return _mm_cmpeq_epi8(block, _mm_set1_epi8(c));
}

/* Bytes below `c`, which is from 1 to 127. */
static inline Found block_below(Block block, unsigned char c) {
    return _mm_cmpeq_epi8(_mm_min_epu8(block, _mm_set1_epi8((char)(c - 1))), block);
}

static inline Found block_beyond_bmp(Block block) {
    return _mm_cmpeq_epi8(_mm_max_epu8(block, _mm_set1_epi8((char)0xF0)), block);
}

static inline Found found_either(Found one, Found other) {
    return _mm_or_si128(one, other);
}

static inline Found found_both(Found one, Found other) {
    return _mm_and_si128(one, other);
}

static inline Places found_places(Found found) {
    return (unsigned)_mm_movemask_epi8(found);
}

/* The place of the first byte that is found; there is one. */
static inline size_t first_place(Places places) {
    return (size_t)__builtin_ctz(places);
}

#else

typedef uint64_t Block;
typedef uint64_t Found; /* the high bit of each byte */
typedef uint64_t Places; /* the same */

#define EACH_BYTE(c) (0x0101010101010101u * (uint64_t)(unsigned char)(c))

static inline Block block_load(const char *from) {
    Block block;
    memcpy(&block, from, sizeof block);
    return block;
}

static inline void block_store(char *to, Block block) {
    memcpy(to, &block, sizeof block);
}

/* Bytes below `c`, which is from 1 to 127. A byte that is below borrows from the next one, which may be `c` itself. */
static inline Found block_below(Block block, unsigned char c) {
    return (block - EACH_BYTE(c)) & ~block & EACH_BYTE(0x80);
}

/* Bytes that are `c`. */
static inline Found block_is(Block block, char c) {
    return block_below(block ^ EACH_BYTE(c), 1);
}

/* Bytes that begin a character beyond the BMP: those from 0xF0 on. */
static inline Found block_beyond_bmp(Block block) {
    return block & block << 1 & block << 2 & block << 3 & EACH_BYTE(0x80);
}

static inline Found found_either(Found one, Found other) {
    return one | other;
}

static inline Found found_both(Found one, Found other) {
    return one & other;
}

static inline Places found_places(Found found) {
    return found;
}

/* The place of the first byte that is found; there is one. */
static inline size_t first_place(Places places) {
    return (size_t)__builtin_ctzll(places) / 8;
}

#endif

#endif
