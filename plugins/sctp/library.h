/* libusrsctp, which is loaded when the transport is opened rather than linked:
 * a host without it gets a message that says what to install, and a job that
 * uses other transports never notices.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_SCTP_LIBRARY_H
#define WF_SCTP_LIBRARY_H

#include <stddef.h>
#include <sys/types.h>

#include <usrsctp.h>

/* The functions that are used, without the prefix usrsctp_. */
/* clang-format off */
#define SCTP_LIBRARY(F)                                                        \
    F(init_nothreads)                                                          \
    F(finish) F(socket) F(close) F(bind) F(connect) F(sendv) F(recvv)          \
    F(setsockopt) F(getsockopt) F(set_non_blocking) F(register_address)        \
    F(deregister_address) F(conninput) F(handle_timers)                        \
    F(enable_crc32c_offload) F(crc32c) F(sysctl_set_sctp_ecn_enable)           \
    F(sysctl_set_sctp_pr_enable) F(sysctl_set_sctp_auth_enable)                \
    F(sysctl_set_sctp_asconf_enable) F(sysctl_set_sctp_reconfig_enable)        \
    F(sysctl_set_sctp_nrsack_enable) F(sysctl_set_sctp_pktdrop_enable)         \
    F(sysctl_set_sctp_max_chunks_on_queue) F(sysctl_set_sctp_initial_cwnd)     \
    F(sysctl_set_sctp_max_burst_default)                                       \
    F(sysctl_set_sctp_use_cwnd_based_maxburst)                                 \
    F(sysctl_set_sctp_fr_max_burst_default)                                    \
    F(sysctl_set_sctp_rto_min_default) F(sysctl_set_sctp_rto_max_default)      \
    F(sysctl_set_sctp_rto_initial_default)                                     \
    F(sysctl_set_sctp_init_rto_max_default)                                    \
    F(sysctl_set_sctp_delayed_sack_time_default)                               \
    F(sysctl_set_sctp_sack_freq_default)                                       \
    F(sysctl_set_sctp_init_rtx_max_default)                                    \
    F(sysctl_set_sctp_assoc_rtx_max_default)                                   \
    F(sysctl_set_sctp_path_rtx_max_default)                                    \
    F(sysctl_set_sctp_max_retran_chunk)
/* clang-format on */

#define SCTP_MEMBER(name) __typeof__(usrsctp_##name) *name;
struct wf_sctp_library {
    SCTP_LIBRARY(SCTP_MEMBER)
};
#undef SCTP_MEMBER

/* Loads the library. Returns NULL, and stores what is wrong. */
const struct wf_sctp_library *wf_sctp_load_library(char *why, size_t n);

#endif
