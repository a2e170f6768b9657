/* This rig runs transfers between two endpoints of plugins/shm.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SHM_TRANSFER_H
#define SHM_TRANSFER_H

#include "shm_two_nodes.h"

enum { NO_CPU = 2, BYTES = 5 << 20, LIMIT_S = 120, SEVERAL = 20 };

static unsigned char source[BYTES + 64], target[BYTES + 64];

/* Returns the real time for limits; the clock of the transports may stand. */
static inline uint64_t read_clock(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static inline int start_case(void **state)
{
    (void)state;
    fake_stands = 0;
    fake_pair(&a, &b, NULL);
    fake_connect(&a, &b, 8, 6);
    while (b.loc[0].got < 1)
        progress_both();
    fake_fill(source, 3, sizeof source);
    memset(target, 0xee, sizeof target);
    return 0;
}

struct transfer {
    weft_mr *mr;
    weft_rkey *key;
    weft_get rma;
};

/* Let a offer its memory and b ask for it. */
static inline void begin_transfer(struct transfer *t, uint64_t from,
                                  uint64_t len)
{
    unsigned char key[64];
    size_t n = sizeof key;
    memset(t, 0, sizeof *t);
    assert_int_equal(OPS->mr_reg(a.ep, source, BYTES, &t->mr), WEFT_OK);
    assert_int_equal(OPS->mr_pack(a.ep, t->mr, key, &n), WEFT_OK);
    if (OPS->rkey_open(b.loc[0].peer, key, n, &t->key) != WEFT_OK)
        skip();
    t->rma = (weft_get){.one = {target + from, len},
                        .raddr = (uintptr_t)source + from,
                        .rkey = t->key};
    int rc = OPS->get(b.loc[0].peer, &t->rma);
    if (rc == WEFT_ENOTSUP) {
        print_message("the kernel does not let processes read each other\n");
        skip();
    }
    assert_true(rc == WEFT_OK || rc == WEFT_DONE);
    if (rc == WEFT_DONE)
        t->rma.priv[5] = 1000 + WEFT_OK;
}

static inline bool has_ended(const struct transfer *t)
{
    return t->rma.priv[5] != 0;
}

static inline void end_transfer(struct transfer *t)
{
    OPS->rkey_close(b.loc[0].peer, t->key);
    OPS->mr_dereg(a.ep, t->mr);
}

static inline void check_transfer(const struct transfer *t)
{
    assert_int_equal(t->rma.priv[5], 1000 + WEFT_OK);
    uint64_t from = t->rma.raddr - (uintptr_t)source;
    assert_true(fake_same(target + from, 3, from, t->rma.one.iov_len));
    assert_int_equal(target[from + t->rma.one.iov_len], 0xee);
}

/* Drive one node, or both where other is given, until the transfer ends. */
static inline void run_transfer(const struct transfer *t, struct fake_node *one,
                                struct fake_node *other)
{
    uint64_t limit = read_clock() + LIMIT_S * UINT64_C(1000000000);
    while (!has_ended(t)) {
        fake_progress(one);
        if (other)
            fake_progress(other);
        assert_true(read_clock() < limit);
    }
}

#endif
