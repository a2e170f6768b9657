/* This file has the kernels of kernels.h.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "datatype/kernels.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "os/tuning.h"

enum { NARROW = 64 /* blocks up to this are moved without a call */ };

typedef uint32_t four __attribute__((vector_size(16)));
typedef uint64_t two __attribute__((vector_size(16)));

static inline uint32_t load_u32(const char *s)
{
    uint32_t x;

    memcpy(&x, s, sizeof x);
    return x;
}

static inline uint64_t load_u64(const char *s)
{
    uint64_t x;

    memcpy(&x, s, sizeof x);
    return x;
}

/* ---- steps ------------------------------------------------------------ */

/* Copies w bytes as two moves of H bytes that overlap in the middle: H <= w <=
 * 2H. */
#define TWO_MOVES(d, s, w, H)                                                  \
    do {                                                                       \
        memcpy((d), (s), (H));                                                 \
        memcpy((d) + (w) - (H), (s) + (w) - (H), (H));                         \
    } while (0)

#define FOR_EACH(MOVE)                                                         \
    for (int64_t i = 0; i < n; i++, d += ds, s += ss)                          \
    MOVE

/* Copies values of type T between steps: four are loaded before one is
 * stored. */
#define SPREAD(NAME, T)                                                        \
    static void NAME(char *restrict d, int64_t ds, const char *restrict s,     \
                     int64_t ss, int64_t n)                                    \
    {                                                                          \
        for (; n >= 4; n -= 4, d += 4 * ds, s += 4 * ss) {                     \
            T a, b, c, e;                                                      \
                                                                               \
            memcpy(&a, s, sizeof a);                                           \
            memcpy(&b, s + ss, sizeof b);                                      \
            memcpy(&c, s + 2 * ss, sizeof c);                                  \
            memcpy(&e, s + 3 * ss, sizeof e);                                  \
            memcpy(d, &a, sizeof a);                                           \
            memcpy(d + ds, &b, sizeof b);                                      \
            memcpy(d + 2 * ds, &c, sizeof c);                                  \
            memcpy(d + 3 * ds, &e, sizeof e);                                  \
        }                                                                      \
        FOR_EACH(memcpy(d, s, sizeof(T)));                                     \
    }
SPREAD(spread_1_byte, uint8_t)
SPREAD(spread_2_bytes, uint16_t)
SPREAD(spread_4_bytes, uint32_t)
SPREAD(spread_8_bytes, uint64_t)
#undef SPREAD

/* Copies blocks of 4 or 8 bytes into contiguous memory, 16 bytes with each
 * store. */
static void collect_4_bytes(char *restrict d, const char *restrict s,
                            int64_t ss, int64_t n)
{
    for (; n >= 4; n -= 4, d += 16, s += 4 * ss) {
        four v = {load_u32(s), load_u32(s + ss), load_u32(s + 2 * ss),
                  load_u32(s + 3 * ss)};

        memcpy(d, &v, sizeof v);
    }
    for (; n > 0; n--, d += 4, s += ss)
        memcpy(d, s, 4);
}

static void collect_8_bytes(char *restrict d, const char *restrict s,
                            int64_t ss, int64_t n)
{
    for (; n >= 4; n -= 4, d += 32, s += 4 * ss) {
        two a = {load_u64(s), load_u64(s + ss)};
        two b = {load_u64(s + 2 * ss), load_u64(s + 3 * ss)};

        memcpy(d, &a, sizeof a);
        memcpy(d + 16, &b, sizeof b);
    }
    for (; n > 0; n--, d += 8, s += ss)
        memcpy(d, s, 8);
}

/* ---- regular places --------------------------------------------------- */

/* The processor predicts larger steps only where one instruction makes all
 * accesses: blocks are not grouped then. */
static bool is_far(int64_t step)
{
    return step >= WF_STEP_FAR || step <= -WF_STEP_FAR;
}

static void copy_narrow(char *restrict d, int64_t ds, const char *restrict s,
                        int64_t ss, int64_t n, int64_t w)
{
    switch (w) {
    case 1:
        spread_1_byte(d, ds, s, ss, n);
        break;
    case 2:
        spread_2_bytes(d, ds, s, ss, n);
        break;
    case 3:
        FOR_EACH(memcpy(d, s, 3));
        break;
    case 4:
        if (ds == 4 && !is_far(ss))
            collect_4_bytes(d, s, ss, n);
        else
            spread_4_bytes(d, ds, s, ss, n);
        break;
    case 8:
        if (is_far(ss) || is_far(ds))
            FOR_EACH(memcpy(d, s, 8));
        else if (ds == 8)
            collect_8_bytes(d, s, ss, n);
        else
            spread_8_bytes(d, ds, s, ss, n);
        break;
    case 16:
        FOR_EACH(memcpy(d, s, 16));
        break;
    case 24:
        FOR_EACH(memcpy(d, s, 24));
        break;
    case 32:
        FOR_EACH(memcpy(d, s, 32));
        break;
    case 64:
        FOR_EACH(memcpy(d, s, 64));
        break;
    default:
        if (w < 8)
            FOR_EACH(TWO_MOVES(d, s, w, 4));
        else if (w < 16)
            FOR_EACH(TWO_MOVES(d, s, w, 8));
        else if (w <= 32)
            FOR_EACH(TWO_MOVES(d, s, w, 16));
        else
            FOR_EACH(TWO_MOVES(d, s, w, 32));
    }
}

/* Returns whether the stores of n blocks conflict. Lines a multiple of 1 KB
 * apart share a few sets of the first-level cache. The stores that a processor
 * has in flight then evict each other's lines before they are written, each
 * several times; with fewer in flight they do not. Steps of 1 KB have twice the
 * sets, and gain only where the second-level cache is short of them, too. */
static bool has_set_conflicts(int64_t step, int64_t n)
{
    return step % WF_CONFLICT_STEP == 0 &&
           n >= (step % (2 * WF_CONFLICT_STEP) ? WF_CONFLICT_BLOCKS_ODD
                                               : WF_CONFLICT_BLOCKS);
}

static void copy_with_set_conflicts(char *restrict d, int64_t ds,
                                    const char *restrict s, int64_t ss,
                                    int64_t n, int64_t w)
{
    for (int64_t some; n > 0; n -= some, d += some * ds, s += some * ss) {
        some = n < WF_STORES_IN_FLIGHT ? n : WF_STORES_IN_FLIGHT;
        wf_copy_blocks(d, ds, s, ss, some, w);
#ifdef __SSE2__
        _mm_lfence(); /* later stores begin when these have completed */
#endif
    }
}

void wf_copy_blocks(char *restrict d, int64_t ds, const char *restrict s,
                    int64_t ss, int64_t n, int64_t w)
{
    if (w > NARROW)
        FOR_EACH(memcpy(d, s, (size_t)w));
    else if (wf_unlikely(has_set_conflicts(ds, n)))
        copy_with_set_conflicts(d, ds, s, ss, n, w);
    else
        copy_narrow(d, ds, s, ss, n, w);
}

/* ---- listed places ---------------------------------------------------- */

#define AT(i) ((const char *)(user + (uintptr_t)disps[i]))
#define TO(i) ((char *)(user + (uintptr_t)disps[i]))

static void gather_8_bytes(char *restrict out, uintptr_t user,
                           const int64_t *disps, int64_t n)
{
    int64_t i = 0;

    for (; i + 4 <= n; i += 4) {
        two a = {load_u64(AT(i)), load_u64(AT(i + 1))};
        two b = {load_u64(AT(i + 2)), load_u64(AT(i + 3))};

        memcpy(out + 8 * i, &a, sizeof a);
        memcpy(out + 8 * i + 16, &b, sizeof b);
    }
    for (; i < n; i++)
        memcpy(out + 8 * i, AT(i), 8);
}

/* Sources of a gather may coincide; destinations of a scatter are distinct. */
static void scatter_8_bytes(const char *restrict in, uintptr_t user,
                            const int64_t *disps, int64_t n)
{
    int64_t i = 0;

    for (; i + 4 <= n; i += 4) {
        uint64_t a = load_u64(in + 8 * i), b = load_u64(in + 8 * i + 8);
        uint64_t c = load_u64(in + 8 * i + 16), e = load_u64(in + 8 * i + 24);

        memcpy(TO(i), &a, 8);
        memcpy(TO(i + 1), &b, 8);
        memcpy(TO(i + 2), &c, 8);
        memcpy(TO(i + 3), &e, 8);
    }
    for (; i < n; i++)
        memcpy(TO(i), in + 8 * i, 8);
}

void wf_copy_gather(char *restrict out, uintptr_t user, const int64_t *disps,
                    int64_t n, int64_t w)
{
#define CASE(W)                                                                \
    case W:                                                                    \
        for (int64_t i = 0; i < n; i++)                                        \
            memcpy(out + i * W, AT(i), W);                                     \
        break
    switch (w) {
        CASE(1);
        CASE(2);
        CASE(4);
    case 8:
        gather_8_bytes(out, user, disps, n);
        break;
        CASE(12);
        CASE(16);
        CASE(24);
        CASE(32);
    default:
        for (int64_t i = 0; i < n; i++)
            memcpy(out + i * w, AT(i), (size_t)w);
    }
#undef CASE
}

void wf_copy_scatter(const char *restrict in, uintptr_t user,
                     const int64_t *disps, int64_t n, int64_t w)
{
#define CASE(W)                                                                \
    case W:                                                                    \
        for (int64_t i = 0; i < n; i++)                                        \
            memcpy(TO(i), in + i * W, W);                                      \
        break
    switch (w) {
        CASE(1);
        CASE(2);
        CASE(4);
    case 8:
        scatter_8_bytes(in, user, disps, n);
        break;
        CASE(12);
        CASE(16);
        CASE(24);
        CASE(32);
    default:
        for (int64_t i = 0; i < n; i++)
            memcpy(TO(i), in + i * w, (size_t)w);
    }
#undef CASE
}
