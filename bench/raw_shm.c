/* This program measures what the machine allows between two processes that
 * share memory.
 *
 *   raw_shm line MS                      one cache line back and forth
 *   raw_shm percentiles STARTS MS        the same, each round trip timed
 *   raw_shm header MS                    the same through a ring of slots, with
 *                                        what any message has: an envelope that
 *                                        the receiver compares, a length, one
 *                                        byte for its buffer, and a status
 *   raw_shm work N PAUSE MS              the same, and N instructions between
 *                                        the arrival of a message and the next;
 *                                        PAUSE 0: poll without a pause
 *   raw_shm rate MS                      one line per message, windows of 64
 *   raw_shm ring FIRST LAST FACTOR MS    two copies, through a ring of chunks
 *   raw_shm direct FIRST LAST FACTOR MS  one copy from the other's memory
 *   raw_shm halves FIRST LAST FACTOR MS  the same, each side copies one half
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "percentiles.h"
#include "raw.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

enum {
    CHUNK = 16 << 10,
    CHUNKS = 64,
    SLOTS = 64, /* messages of a window */
    ROUNDS = 300,
    WINDOW = 4 << 20,
    LARGEST = 16 << 20
};

/* The shared words are written by one side and polled by the other. */
struct shared {
    _Alignas(128) _Atomic unsigned ping;
    _Alignas(128) _Atomic unsigned pong;
    struct {
        _Alignas(128) _Atomic unsigned full;
    } flag[CHUNKS];
    struct {
        _Alignas(64) _Atomic unsigned turn; /* stored last */
        char payload[60];
    } slot[SLOTS];
    _Alignas(4096) char chunk[CHUNKS][CHUNK];
    char source[2 * LARGEST], target[2 * LARGEST];
};

struct test {
    struct shared *s;
    const char *kind;
    long first, last, factor;
    double limit_us;
    unsigned turn;
    uint64_t tag;
    long work; /* instructions that each message costs */
    int busy;  /* look again at once */
    long size; /* under way */
    char *buf; /* private */
};

static inline void relax_cpu(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
}

static void await_value(_Atomic unsigned *word, unsigned value)
{
    while (atomic_load_explicit(word, memory_order_acquire) != value)
        relax_cpu();
}

static void set_value(_Atomic unsigned *word, unsigned value)
{
    atomic_store_explicit(word, value, memory_order_release);
}

/* ---- one line ------------------------------------------------------------ */

static double time_lines(void *what)
{
    struct test *t = what;
    double start = now_us();

    for (int k = 0; k < ROUNDS; k++) {
        set_value(&t->s->ping, ++t->turn);
        await_value(&t->s->pong, t->turn);
    }
    return (now_us() - start) / (2 * ROUNDS);
}

static void echo_lines(struct test *t)
{
    for (unsigned i = 1;; i++) {
        await_value(&t->s->ping, i);
        set_value(&t->s->pong, i);
    }
}

/* Time so many round trips one by one, as long as there is time. */
static void measure_percentiles(struct test *t)
{
    double *v = (double *)(void *)allocate_buffer((size_t)t->size * sizeof *v);
    double began = now_us();
    long n = 0;

    while (n < t->size && has_time(n, began, t->limit_us)) {
        double start = now_us();
        set_value(&t->s->ping, ++t->turn);
        await_value(&t->s->pong, t->turn);
        v[n++] = (now_us() - start) / 2;
    }
    print_percentiles("us", v, n);
    free(v);
}

/* A slot has what a message needs: its kind and its length, stored last, its
 * source and destination, and the payload. */
struct message {
    _Alignas(64) _Atomic uint64_t word;
    uint64_t envelope[2];
    char payload[40];
};

struct outcome {
    uint64_t bytes, source;
};

static void put_message(struct test *t, struct message *ring, const char *from)
{
    struct message *m = &ring[t->turn % SLOTS];

    m->envelope[0] = 7;
    m->envelope[1] = t->tag;
    memcpy(m->payload, from, 1);
    atomic_store_explicit(&m->word, (uint64_t)t->turn << 32 | 1,
                          memory_order_release);
}

/* Execute about n instructions, of which several can be under way together. */
static void spend_instructions(long n, uint64_t x)
{
    uint64_t y = x, z = x, a = 0;

    for (; n > 0; n -= 6) { /* with those of the loop */
        x++, y++, z++, a++;
        __asm__ volatile("" : "+r"(x), "+r"(y), "+r"(z), "+r"(a));
    }
}

static void get_message(struct test *t, struct message *ring, char *to,
                struct outcome *status)
{
    struct message *m = &ring[t->turn % SLOTS];
    uint64_t word;

    while ((word = atomic_load_explicit(&m->word, memory_order_acquire)) >>
               32 != t->turn)
        if (!t->busy)
            relax_cpu();
    if (m->envelope[0] != 7 || m->envelope[1] != t->tag)
        abort();
    memcpy(to, m->payload, (uint32_t)word == 1);
    *status = (struct outcome){(uint32_t)word, m->envelope[1]};
    __asm__ volatile("" ::"r"(to), "r"(status) : "memory");
    spend_instructions(t->work, word);
}

static double time_headers(void *what)
{
    struct test *t = what;
    struct message *out = (void *)t->s->chunk[0], *in = (void *)t->s->chunk[1];
    struct outcome status;
    double start = now_us();
    char byte = 1;

    for (int k = 0; k < ROUNDS; k++) {
        ++t->turn;
        put_message(t, out, &byte);
        get_message(t, in, &byte, &status);
    }
    return (now_us() - start) / (2 * ROUNDS);
}

static void echo_headers(struct test *t)
{
    struct message *in = (void *)t->s->chunk[0], *out = (void *)t->s->chunk[1];
    struct outcome status;
    char byte;

    for (;;) {
        ++t->turn;
        get_message(t, in, &byte, &status);
        put_message(t, out, &byte);
    }
}

/* Send messages of 24 bytes and a turn number that marks them as new. The
 * answer to a window makes all slots free again. */
static double time_messages(void *what)
{
    static char from[24];
    struct test *t = what;
    double start = now_us();

    ++t->turn;
    for (int k = 0; k < SLOTS; k++) {
        memcpy(t->s->slot[k].payload, from, sizeof from);
        set_value(&t->s->slot[k].turn, t->turn);
    }
    await_value(&t->s->pong, t->turn);
    return now_us() - start;
}

static void take_messages(struct test *t)
{
    char to[24];

    for (unsigned i = 1;; i++) {
        for (int k = 0; k < SLOTS; k++) {
            await_value(&t->s->slot[k].turn, i);
            memcpy(to, t->s->slot[k].payload, sizeof to);
            __asm__ volatile("" ::"r"(to) : "memory");
        }
        set_value(&t->s->pong, i);
    }
}

/* ---- copies -------------------------------------------------------------- */

/* Returns as many messages as mpi_stream has in a window. */
static long window_of(long size)
{
    return size < WINDOW / 2 ? WINDOW / size : 2;
}

typedef uint64_t block __attribute__((vector_size(16), aligned(1), may_alias));

/* Copy data that another processor has just written. memcpy, which may be one
 * instruction, mostly reads it at a third of this loop's speed. So the limit of
 * two copies is memcpy into the ring and this loop out of it. */
static void copy_out(char *to, const char *from, size_t n)
{
    for (; n >= 64; n -= 64, to += 64, from += 64) {
        const block *f = (const block *)from;
        block a = f[0], b = f[1], c = f[2], d = f[3], *t = (block *)to;
        t[0] = a;
        t[1] = b;
        t[2] = c;
        t[3] = d;
    }
    memcpy(to, from, n);
}

/* Pass one message through the ring; out: this side fills it. */
static void through_ring(struct test *t, char *buf, int out)
{
    for (long at = 0; at < t->size; at += CHUNK, ++t->turn) {
        unsigned i = t->turn % CHUNKS;
        size_t n = (size_t)(t->size - at < CHUNK ? t->size - at : CHUNK);
        await_value(&t->s->flag[i].full, out ? 0 : 1);
        if (out)
            memcpy(t->s->chunk[i], buf + at, n);
        else
            copy_out(buf + at, t->s->chunk[i], n);
        set_value(&t->s->flag[i].full, (unsigned)out);
    }
}

/* Pass a window of mpi_stream: as many bytes, as many buffers, and an
 * answer. */
static void ring_window(struct test *t, int out)
{
    for (long k = 0; k < window_of(t->size); k++)
        through_ring(t, t->buf + k * t->size, out);
    if (out)
        await_value(&t->s->pong, t->turn);
    else
        set_value(&t->s->pong, t->turn);
}

static void copy_half(struct test *t, long k, int second)
{
    size_t half = (size_t)t->size / 2;
    size_t at = (size_t)(k * t->size) + (second ? half : 0);

    memcpy(t->s->target + at, t->s->source + at, half);
}

static void direct_window(struct test *t)
{
    for (long k = 0; k < window_of(t->size); k++)
        memcpy(t->buf + k * t->size, t->s->source + k * t->size,
               (size_t)t->size);
}

static void halves_window(struct test *t)
{
    for (long k = 0; k < window_of(t->size); k++) {
        set_value(&t->s->ping, ++t->turn);
        copy_half(t, k, 0);
        await_value(&t->s->pong, t->turn);
    }
}

static double one_window(void *what)
{
    struct test *t = what;
    double start = now_us();

    if (strcmp(t->kind, "ring") == 0)
        ring_window(t, 1);
    else if (strcmp(t->kind, "direct") == 0)
        direct_window(t);
    else
        halves_window(t);
    return now_us() - start;
}

static void help_copying(struct test *t)
{
    for (long k = 0;; k = (k + 1) % window_of(t->size)) {
        await_value(&t->s->ping, ++t->turn);
        copy_half(t, k, 1);
        set_value(&t->s->pong, t->turn);
    }
}

/* ---- both sides ---------------------------------------------------------- */

static void measure_side(void *what)
{
    static double v[BATCHES];
    struct test *t = what;

    if (strcmp(t->kind, "line") == 0) {
        print_times("us", 1, v, repeat_batches(time_lines, t, t->limit_us, v));
    } else if (strcmp(t->kind, "percentiles") == 0) {
        measure_percentiles(t);
    } else if (strcmp(t->kind, "header") == 0 ||
               strcmp(t->kind, "work") == 0) {
        print_times("us", 1, v,
                    repeat_batches(time_headers, t, t->limit_us, v));
    } else if (strcmp(t->kind, "rate") == 0) {
        print_rates("mps", 8, v,
                    repeat_batches(time_messages, t, t->limit_us, v), SLOTS);
    } else {
        if (strcmp(t->kind, "direct") == 0)
            await_value(&t->s->pong, 1); /* the source is written */
        print_rates("gbs", t->size, v,
                    repeat_batches(one_window, t, t->limit_us, v),
                    (double)window_of(t->size) * (double)t->size / 1e3);
    }
}

static void answer_side(void *what)
{
    struct test *t = what;

    if (strcmp(t->kind, "line") == 0 || strcmp(t->kind, "percentiles") == 0)
        echo_lines(t);
    else if (strcmp(t->kind, "header") == 0 || strcmp(t->kind, "work") == 0)
        echo_headers(t);
    else if (strcmp(t->kind, "rate") == 0)
        take_messages(t);
    else if (strcmp(t->kind, "halves") == 0)
        help_copying(t);
    while (strcmp(t->kind, "ring") == 0)
        ring_window(t, 0);
    memset(t->s->source, 2, sizeof t->s->source); /* owned by this side */
    set_value(&t->s->pong, 1);
    pause();
}

int main(int argc, char **argv)
{
    struct test t = {.kind = argc > 1 ? argv[1] : ""};
    int sizes = argc == 6, work = strcmp(t.kind, "work") == 0;
    int single = strcmp(t.kind, "percentiles") == 0;

    if (work ? argc != 5 : single ? argc != 4 : argc != 3 && !sizes)
        return 2;
    if (work) {
        t.work = atol(argv[2]);
        t.busy = atol(argv[3]) == 0;
    }
    t.tag = (uint64_t)argc;
    t.limit_us = atof(argv[argc - 1]) * 1e3;
    t.first = sizes || single ? atol(argv[2]) : 1;
    t.last = sizes ? atol(argv[3]) : t.first;
    t.factor = sizes ? atol(argv[4]) : 2;
    t.s = shared_memory(sizes ? sizeof *t.s : offsetof(struct shared, source));
    t.buf = sizes ? allocate_buffer(2 * LARGEST) : NULL;
    for (t.size = t.first; t.size <= t.last;
         t.size = next_size(t.size, t.factor)) {
        memset(t.s, 0, offsetof(struct shared, chunk));
        t.turn = 0;
        if (in_two(measure_side, answer_side, &t) != 0)
            return 1;
    }
    return 0;
}
