/* What the machine allows between two processes that share memory: one cache
 * line back and forth, one line per message, and two copies through a ring.
 *
 *   raw_shm latency MILLISECONDS
 *   raw_shm rate MILLISECONDS          windows of 64, then an answer
 *   raw_shm stream SIZE MILLISECONDS
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "clock.h"

#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    CHUNK = 16 << 10,
    CHUNKS = 64,
    SLOTS = 64,
    WINDOW = 64,
    BATCHES = 400,
    ROUNDS = 300,
    ROOM = 4 << 20
};

struct shared {
    _Alignas(128) _Atomic unsigned ping;
    _Alignas(128) _Atomic unsigned pong;
    _Alignas(128) _Atomic unsigned stop;
    struct {
        _Alignas(128) _Atomic unsigned full;
    } flag[CHUNKS];
    struct {
        _Alignas(64) _Atomic unsigned turn; /* stored last */
        char payload[60];
    } slot[SLOTS];
    _Alignas(4096) char chunk[CHUNKS][CHUNK];
};

static inline void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
}

static void await(_Atomic unsigned *word, unsigned value)
{
    while (atomic_load_explicit(word, memory_order_acquire) != value)
        relax();
}

static void echo(struct shared *s)
{
    for (unsigned i = 1; !atomic_load_explicit(&s->stop, memory_order_relaxed);
         i++) {
        while (atomic_load_explicit(&s->ping, memory_order_acquire) != i)
            if (atomic_load_explicit(&s->stop, memory_order_relaxed))
                return;
        atomic_store_explicit(&s->pong, i, memory_order_release);
    }
}

static void latency(struct shared *s, double limit_us)
{
    static double v[BATCHES];
    double begin = now_us();
    unsigned i = 0;
    int n = 0;

    while (n < BATCHES && now_us() - begin < limit_us) {
        double start = now_us();
        for (int k = 0; k < ROUNDS; k++) {
            atomic_store_explicit(&s->ping, ++i, memory_order_release);
            while (atomic_load_explicit(&s->pong, memory_order_acquire) != i)
                ;
        }
        v[n++] = (now_us() - start) / (2 * ROUNDS);
    }
    atomic_store_explicit(&s->stop, 1, memory_order_relaxed);
    print_times("half_round_trip_us", 1, v, n);
}

/* The receiver of rate(): takes each message, answers each window. */
static void take_windows(struct shared *s)
{
    char to[24];

    for (unsigned i = 0;; i++) { /* until the parent kills us */
        while (atomic_load_explicit(&s->slot[i % SLOTS].turn,
                                    memory_order_acquire) != i / SLOTS + 1)
            ;
        memcpy(to, s->slot[i % SLOTS].payload, sizeof to);
        __asm__ volatile("" ::"r"(to) : "memory");
        if (i % WINDOW == WINDOW - 1)
            atomic_store_explicit(&s->pong, i + 1, memory_order_release);
    }
}

/* One line per message: 24 bytes and a turn that says they are new. The
 * answer to a window makes all slots free again. */
static void rate(struct shared *s, double limit_us)
{
    static double v[BATCHES];
    char from[24] = {1};
    double begin = now_us();
    unsigned i = 0;
    int n = 0;

    while (n < BATCHES && now_us() - begin < limit_us) {
        double start = now_us();
        for (int k = 0; k < WINDOW; k++, i++) {
            memcpy(s->slot[i % SLOTS].payload, from, sizeof from);
            atomic_store_explicit(&s->slot[i % SLOTS].turn, i / SLOTS + 1,
                                  memory_order_release);
        }
        while (atomic_load_explicit(&s->pong, memory_order_acquire) != i)
            ;
        v[n++] = now_us() - start;
    }
    qsort(v, (size_t)n, sizeof *v, ascending);
    printf("rate_mps 8 %.6g %.6g\n", WINDOW / v[0], WINDOW / v[n / 2]);
}

/* One message through the ring; out: this side fills it. */
static void move(struct shared *s, char *buf, long size, unsigned *turn,
                 int out)
{
    for (long at = 0; at < size; at += CHUNK, ++*turn) {
        unsigned i = *turn % CHUNKS;
        size_t n = (size_t)(size - at < CHUNK ? size - at : CHUNK);
        await(&s->flag[i].full, out ? 0 : 1);
        if (out)
            memcpy(s->chunk[i], buf + at, n);
        else
            memcpy(buf + at, s->chunk[i], n);
        atomic_store_explicit(&s->flag[i].full, (unsigned)out,
                              memory_order_release);
    }
}

static void stream(struct shared *s, long size, double limit_us, int out)
{
    static double v[BATCHES];
        long per = size < ROOM / 2 ? ROOM / size : 2; /* like mpi_stream */
    size_t room = ((size_t)(per * size) + 4095) & ~(size_t)4095;
    char *buf = aligned_alloc(4096, room);
    double begin = now_us();
    unsigned turn = 0;
    int n = 0;

    memset(buf, 1, room);
    for (long k = 0; !out; k++) /* until the parent kills us */
        move(s, buf + k % per * size, size, &turn, 0);
    while (n < BATCHES && (n < 3 || now_us() - begin < limit_us)) {
        double start = now_us();
        for (long k = 0; k < per; k++)
            move(s, buf + k * size, size, &turn, 1);
        v[n++] = (now_us() - start) / (double)per;
    }
    print_rates("stream_gbs", size, v, n, (double)size);
    free(buf);
}

static int run(struct shared *s, int argc, char **argv, int first)
{
    bind_rank(!first);
    if (argc == 3 && strcmp(argv[1], "latency") == 0) {
        if (first)
            latency(s, atof(argv[2]) * 1e3);
        else
            echo(s);
        return 0;
    }
    if (argc == 3 && strcmp(argv[1], "rate") == 0) {
        if (first)
            rate(s, atof(argv[2]) * 1e3);
        else
            take_windows(s);
        return 0;
    }
    if (argc == 4 && strcmp(argv[1], "stream") == 0 && atol(argv[2]) > 0) {
        stream(s, atol(argv[2]), atof(argv[3]) * 1e3, first);
        return 0;
    }
    return 2;
}

int main(int argc, char **argv)
{
    struct shared *s = mmap(NULL, sizeof *s, PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t child;
    int rc;

    if (s == MAP_FAILED)
        return 2;
    memset(s, 0, sizeof *s);
    child = fork();
    if (child < 0)
        return 2;
    if (child == 0)
        _exit(run(s, argc, argv, 0));
    rc = run(s, argc, argv, 1);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    return rc;
}
