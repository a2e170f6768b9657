/* The numbers of the transports over IP that were measured, each with its
 * measurement.
 *
 * "datagrams.md" and "results.md" are in bench/notebook, "tuning.md" is in
 * docs/user; the machines are named there and have two processors. "Not
 * measured" marks a number that was chosen by reasoning, and tried in a wide
 * range or not at all. Times that a protocol needs (repetitions, limits of
 * silence) stand where they are used: they do not depend on a machine.
 *
 * MEASURED WHILE IT RUNS  These are no constants: round trips, windows, losses
 * and packet sizes of a flow (udp-reliable/flow_*.c), how often epoll and quiet
 * sockets are asked (between 1 and the numbers below).
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_IP_TUNING_H
#define WF_IP_TUNING_H

/* ---- costs, by which a route chooses among transports -------------------- */

/* Half a round trip over loopback took 3.5 us by tcp and 2.9 by udp-reliable,
 * 4 MB in flight 7.3 and 8.0 GB/s (datagrams.md), so they are upper limits of a
 * busy host; what counts is their order. Subnets and routed ways were not
 * measured: they are loopback with the time of a cable and of a router. */
/* clang-format off */
#define WF_TCP_COSTS                                                           \
    {.overhead_ns = 1800, /* system call and stack, each side */               \
     .loopback_ns = 5000, .subnet_ns = 15000, .routed_ns = 50000,              \
     .loopback_mbs = 5000, .usual_mbs = 1000, .link_percent = 100}
#define WF_UDP_COSTS                                                           \
    {.overhead_ns = 1500,                                                      \
     .loopback_ns = 4000, .subnet_ns = 14000, .routed_ns = 49000,              \
     .loopback_mbs = 3000, .usual_mbs = 1000, .link_percent = 90}
#define WF_SCTP_COSTS                                                          \
    {.overhead_ns = 3000,                                                      \
     .loopback_ns = 6000, .subnet_ns = 17000, .routed_ns = 52000,              \
     .loopback_mbs = 1500, .usual_mbs = 1000, .link_percent = 80}
/* clang-format on */

/* ---- unknown callers (budget.h) ------------------------------------------ */

enum {
    /* Calls in a row that are answered at once; one over TCP counts twice. As
     * many ranks of a job that begins do not wait. */
    IP_UNKNOWN_CALLERS = 128,
    IP_UNKNOWN_CALLER_NS = 2000000, /* until one more call is free */
    /* Calls that are answered together, and the pause between two bundles, in
     * ns. Answered one by one half-open calls over TCP brought the 99th
     * percentile of a round trip to 2.1 and 2.4 times that of peace, in bundles
     * to 1.55 and 1.98: datagrams.md, "Strangers". */
    IP_BUNDLE = 16,
    IP_PAUSE_NS = 4000000
};

/* ---- tcp ----------------------------------------------------------------- */

enum {
    /* Bytes of the stage that the core may pack data into. In parts of 16 KB
     * packing took twice as long, for the kernel did not work meanwhile:
     * results.md, "Derived types against packing by hand". Pages that were
     * never packed into are not allocated. */
    TCP_PACKED = 256 << 10,
    /* The most polls of the hot socket between two calls of epoll. To notify
     * epoll of an arrival costs a local sender more than all code of the
     * transport; the number was not measured. */
    TCP_POLLS = 16,
    /* Bytes up to which copying is cheaper than one piece more for the kernel:
     * rows of 1 to 4 KB as lists took longer than copying them (results.md);
     * 512 itself was not measured. */
    TCP_COPY_MAX = 512,
    /* Payload from which, and bytes to which, the read-ahead shrinks: what is
     * read ahead is copied once more. Not measured. */
    TCP_BULK_MIN = 8 << 10,
    TCP_WINDOW_BULK = 4 << 10
};

/* ---- udp-reliable -------------------------------------------------------- */

enum {
    /* Data bytes of packets that are copied behind their head: a call with one
     * buffer costs less than one with two. The number was not measured. */
    UDP_LINEAR = 2 << 10,
    /* Packets of one peer in a row that give it the connected socket: 1 byte
     * took 2.90 us with it, 3.15 without (datagrams.md); it saves 0.25 us of
     * each, and costs some system calls. Twice as many the next time. */
    UDP_IN_A_ROW = 32,
    UDP_IN_A_ROW_MAX = 1 << 20,
    /* Productive polls after which a socket leaves epoll: 3.74 us became 3.61
     * for one byte. The number was not measured. */
    UDP_PAYS_OFF = 16,
    /* The most poll rounds between two polls of a quiet socket: a poll of one
     * without a link cost 0.4 us each round (datagrams.md). */
    UDP_INTERVAL_MAX = 16,
    /* Packets between two reports of one gap, with 1 % lost: every 4 reached
     * 0.47 to 0.63 of the rate without loss, every 16 0.67 to 0.82, every 64
     * 2 % more (datagrams.md). */
    UDP_GAP_ACK = 16
};

#endif
