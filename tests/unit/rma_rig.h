/* Members of a window as threads or processes over one shared mapping: their
 * headers, bells to sleep on, and counts of what happened.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_TEST_RMA_RIG_H
#define WF_TEST_RMA_RIG_H

#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <linux/futex.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rma/lock_word.h"
#include "rma/stripe.h"

enum { RIG_MEMBERS = 8, RIG_WINDOW = 1 << 17, RIG_HEADER = 16384 };

struct rig_shared {
    wf_atomic_u32 bells[RIG_MEMBERS];
    wf_atomic_u32 gone[RIG_MEMBERS];
    wf_atomic_u32 entries, exclusive_entries, stop;
    wf_atomic_u64 sum;
    _Alignas(64) char headers[RIG_MEMBERS][RIG_HEADER];
    _Alignas(4096) char window[RIG_WINDOW];
};

/* One member, as its process or thread sees things. */
struct rig_member {
    struct rig_shared *shared;
    struct wf_rma_waiting waiting;
    uint32_t me;
    bool waited; /* since this was reset */
    /* entries at the first wait of that time */
    uint32_t first_wait, first_exclusive;
};

static inline struct rig_shared *rig_map(void)
{
    struct rig_shared *s =
        mmap(NULL, sizeof *s, PROT_READ | PROT_WRITE,
             MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    assert_ptr_not_equal(s, MAP_FAILED);
    assert_true(wf_rma_header_bytes(RIG_MEMBERS) <= RIG_HEADER);
    for (uint32_t i = 0; i < RIG_MEMBERS; i++)
        wf_rma_header_init((void *)s->headers[i], RIG_MEMBERS);
    return s;
}

static inline void rig_unmap(struct rig_shared *s)
{
    munmap(s, sizeof *s);
}

static inline struct wf_rma_header *rig_header(struct rig_shared *s,
                                               uint32_t member)
{
    return (void *)s->headers[member];
}

/* Sleeps on the member's bell: a wake-up that the code under test forgets is a
 * test that never ends. */
static inline int rig_wait(void *arg, const wf_atomic_u32 *word,
                           uint32_t value, uint32_t on)
{
    struct rig_member *m = arg;
    wf_atomic_u32 *bell = &m->shared->bells[m->me];
    uint32_t seen = wf_load_acquire(bell);

    if (!m->waited) {
        m->waited = true;
        m->first_wait = wf_load_relaxed(&m->shared->entries);
        m->first_exclusive = wf_load_relaxed(&m->shared->exclusive_entries);
    }
    if (wf_load_acquire(word) == value)
        syscall(SYS_futex, bell, FUTEX_WAIT, seen, NULL, NULL, 0);
    return MPI_SUCCESS;
}

static inline void rig_wake(void *arg, uint32_t member)
{
    struct rig_member *m = arg;
    wf_atomic_u32 *bell = &m->shared->bells[member];

    (void)wf_add_acq_rel(bell, 1);
    syscall(SYS_futex, bell, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

static inline void rig_join(struct rig_member *m, struct rig_shared *s,
                            uint32_t me)
{
    *m = (struct rig_member){.shared = s, .me = me};
    m->waiting = (struct wf_rma_waiting){rig_wait, rig_wake, m};
}

static inline struct wf_rma_lock rig_lock(struct rig_member *m, uint32_t target)
{
    return wf_rma_lock_of(rig_header(m->shared, target), m->me, &m->waiting);
}

static inline struct wf_rma_lock rig_all(struct rig_member *m)
{
    return wf_rma_lock_of_all(rig_header(m->shared, 0), m->me, &m->waiting);
}

static inline bool rig_is_gone(void *arg, uint32_t member)
{
    struct rig_shared *s = arg;

    return wf_load_acquire(&s->gone[member]);
}

static inline struct wf_rma_domain rig_domain(struct rig_shared *s,
                                              uint32_t me, bool bulk)
{
    return (struct wf_rma_domain){.base = (uintptr_t)s->window,
                                  .stripes = rig_header(s, 0)->stripes,
                                  .me = me + 1,
                                  .bulk = bulk,
                                  .is_dead = rig_is_gone,
                                  .arg = s};
}

/* Every process of this test has one of its own: a number in a row. */
static inline uint64_t rig_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* A member that fails says so by its status. */
#define RIG_CHECK(x)                                                           \
    ((x) ? (void)0                                                             \
         : (void)(fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #x),      \
                  abort()))

struct rig_start {
    struct rig_shared *shared;
    uint32_t me;
    void (*run)(struct rig_member *);
};

static inline void *rig_run_thread(void *arg)
{
    struct rig_start *start = arg;
    struct rig_member m;

    rig_join(&m, start->shared, start->me);
    start->run(&m);
    return NULL;
}

static inline pid_t rig_fork(struct rig_shared *s, uint32_t me,
                             void (*run)(struct rig_member *))
{
    struct rig_start start = {s, me, run};
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0) {
        signal(SIGABRT, SIG_DFL);
        alarm(600); /* the others of a failed member */
        rig_run_thread(&start);
        _exit(0);
    }
    return pid;
}

static inline void rig_expect_exit(pid_t pid)
{
    int status;

    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static inline void rig_run_processes(struct rig_shared *s, uint32_t n,
                                     void (*run)(struct rig_member *))
{
    pid_t pids[RIG_MEMBERS];

    for (uint32_t i = 0; i < n; i++)
        pids[i] = rig_fork(s, i, run);
    for (uint32_t i = 0; i < n; i++)
        rig_expect_exit(pids[i]);
}

static inline void rig_run_threads(struct rig_shared *s, uint32_t n,
                                   void (*run)(struct rig_member *))
{
    pthread_t threads[RIG_MEMBERS];
    struct rig_start starts[RIG_MEMBERS];

    for (uint32_t i = 0; i < n; i++) {
        starts[i] = (struct rig_start){s, i, run};
        assert_int_equal(
            pthread_create(&threads[i], NULL, rig_run_thread, &starts[i]), 0);
    }
    for (uint32_t i = 0; i < n; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
}

#endif
