/* The process-wide stack of libusrsctp: its start and end, lock and clock;
 * stack.h says how it is driven.
 *
 * TIMES  These suit a cluster, not the Internet: acknowledgements after 5 ms or
 * two packets, retransmission after 20 to 250 ms, and no limit of attempts,
 * because a peer that computes does not answer and yet is alive.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#if __has_include(<usrsctp.h>)
#include <pthread.h>

#include "user_assoc.h"
#include "weft_transport.h"

enum { MS = 1000000, FAREWELL_ROUNDS = 200 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    const struct wf_sctp_library *lib;
    int users;
    uint64_t ticked; /* the time up to which it has ticked, ns */
} stack;

void wf_sctp_stack_lock(void)
{
    pthread_mutex_lock(&lock);
}

void wf_sctp_stack_unlock(void)
{
    pthread_mutex_unlock(&lock);
}

static void tune_stack(const struct wf_sctp_library *l)
{
    l->enable_crc32c_offload(); /* user_packet.c adds and checks it */
    l->sysctl_set_sctp_ecn_enable(0);
    l->sysctl_set_sctp_pr_enable(0);
    l->sysctl_set_sctp_auth_enable(0);
    l->sysctl_set_sctp_asconf_enable(0);
    l->sysctl_set_sctp_reconfig_enable(0);
    l->sysctl_set_sctp_nrsack_enable(0);
    l->sysctl_set_sctp_pktdrop_enable(0);
    l->sysctl_set_sctp_max_chunks_on_queue(65536);
    l->sysctl_set_sctp_initial_cwnd(32);
    /* a pause must not shrink a window that has grown; bursts fit the
     * receiver's socket, which is larger than the offered window */
    l->sysctl_set_sctp_use_cwnd_based_maxburst(0);
    l->sysctl_set_sctp_max_burst_default(0);
    l->sysctl_set_sctp_fr_max_burst_default(32);
    l->sysctl_set_sctp_rto_initial_default(SCTP_RTO_INITIAL_MS);
    l->sysctl_set_sctp_init_rto_max_default(200);
    l->sysctl_set_sctp_rto_min_default(SCTP_RTO_MIN_MS);
    l->sysctl_set_sctp_rto_max_default(SCTP_RTO_MAX_MS);
    l->sysctl_set_sctp_delayed_sack_time_default(SCTP_SACK_MS);
    l->sysctl_set_sctp_sack_freq_default(SCTP_SACK_PACKETS);
    l->sysctl_set_sctp_init_rtx_max_default(UINT16_MAX);
    l->sysctl_set_sctp_assoc_rtx_max_default(UINT16_MAX);
    l->sysctl_set_sctp_path_rtx_max_default(UINT16_MAX);
    l->sysctl_set_sctp_max_retran_chunk(0); /* no limit for a message either */
}

int wf_sctp_stack_enter(char *why, size_t n)
{
    int rc = WEFT_OK;

    wf_sctp_stack_lock();
    if (stack.users == 0) {
        stack.lib = wf_sctp_load_library(why, n);
        if (stack.lib) {
            stack.lib->init_nothreads(0, wf_sctp_user_output, NULL);
            tune_stack(stack.lib);
            stack.ticked = 0;
        } else {
            rc = WEFT_ENOTSUP;
        }
    }
    stack.users += rc == WEFT_OK;
    wf_sctp_stack_unlock();
    return rc;
}

void wf_sctp_stack_leave(void)
{
    wf_sctp_stack_lock();
    if (--stack.users == 0)
        /* its sockets go with its timers */
        for (int i = 0; i < FAREWELL_ROUNDS && stack.lib->finish() != 0; i++)
            stack.lib->handle_timers(50);
    wf_sctp_stack_unlock();
}

void wf_sctp_stack_tick(uint64_t now)
{
    wf_sctp_stack_lock();
    if (!stack.ticked)
        stack.ticked = now;
    if (now >= stack.ticked + MS) {
        uint64_t ms = (now - stack.ticked) / MS;
        stack.ticked += ms * MS;
        /* after a long computation, packets that have come are read before
         * everything is retransmitted: the stack sees less time pass */
        stack.lib->handle_timers(ms > 10 ? 10 : (uint32_t)ms);
    }
    wf_sctp_stack_unlock();
}

const struct wf_sctp_library *wf_sctp_stack_library(void)
{
    return stack.lib;
}
#endif
