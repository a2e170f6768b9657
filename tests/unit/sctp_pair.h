/* A pair of ends that come up, say something and part. For tests of the stack.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SCTP_PAIR_H
#define SCTP_PAIR_H

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#if __has_include(<usrsctp.h>)
#include "../../plugins/sctp/library.h"
#endif
#include "sctp_clock.h"
#include "sctp_network.h"
#include "weft_transport.h"

enum { STEPS = 400000 };

static inline void close_end(struct end *e)
{
    wf_sctp_user_close(&e->assoc);
    while (e->packets)
        free(e->wire[--e->packets].bytes);
}

static inline void enter_stack(void)
{
    char why[300];

    if (wf_sctp_stack_enter(why, sizeof why) < 0) {
        print_message("left out: %s\n", why);
        skip();
    }
}

static inline void connect_ends(struct end *a, struct end *b,
                                const struct wf_sctp_user_settings *s,
                                const struct network *net)
{
    struct end *both[] = {a, b};
    struct wf_sctp_user_settings setup = *s;

    a->other = b;
    b->other = a;
    a->mtu = b->mtu = s->mtu;
    for (int i = 0; i < 2; i++) {
        both[i]->random = net->seed + 17 + (uint32_t)i + net->trouble;
        both[i]->lost = both[i]->doubled = both[i]->swapped = net->trouble;
        both[i]->assoc.ctx = both[i];
        both[i]->assoc.output = output_packet;
        setup.old = both[i]->old;
        assert_int_equal(wf_sctp_user_open(&both[i]->assoc, &setup), WEFT_OK);
    }
}

static inline void close_ends(struct end *a, struct end *b)
{
    assert_int_equal(a->too_long + b->too_long, 0);
    close_end(a);
    close_end(b);
    free(a);
    free(b);
}

static inline void send_message(struct end *e, uint16_t stream, size_t n)
{
    static const uint8_t zeros[1 << 16];
    struct wf_sctp_message m = {.stream = stream, .kind = 5, .n = n};

    assert_int_equal(wf_sctp_user_send(&e->assoc, &m, zeros, false), WEFT_OK);
}

static inline int count_heard(struct end *e)
{
    static uint8_t bytes[1 << 16];
    struct wf_sctp_message m;
    enum wf_sctp_event what;
    int n = 0;

    while ((what = wf_sctp_user_receive(&e->assoc, bytes, sizeof bytes, &m)) !=
           SCTP_NOTHING) {
        assert_int_not_equal(what, SCTP_DOWN);
        e->up = e->up || what == SCTP_UP;
        n += what == SCTP_MESSAGE && m.n;
    }
    return n;
}

static inline void pass_time(void)
{
    wf_sctp_stack_tick(clock_forward_ms());
}

/* Two ends that have only met, over a good network. */
static inline void come_up(struct end *a, struct end *b,
                           const struct wf_sctp_user_settings *setup)
{
    enter_stack();
    connect_ends(a, b, setup, &(struct network){.mtu = setup->mtu});
    for (int i = 0; i < STEPS && !(a->up && b->up); i++, pass_time()) {
        deliver_packets(a);
        deliver_packets(b);
        count_heard(a);
        count_heard(b);
    }
}

#endif
