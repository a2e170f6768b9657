/* The numbers of this transport that were measured, each with its measurement.
 *
 * "shared-memory.md" and "overlap.md" are in bench/notebook, "tuning.md" is in
 * docs/user; the machines are named there. Most have two processors, so a
 * number that depends on more of them may be wrong elsewhere. "Not measured"
 * marks a number that was chosen by reasoning, and tried in a wide range or not
 * at all.
 *
 * MEASURED AT START  These are no constants: the size of the second-level cache
 * (copy.c), membarrier (bell.c). WHILE IT RUNS  the way of copying into the
 * ring (way.c), ring or kernel for large messages (cma.c), pauses before the
 * first look for an answer (receive.c).
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_SHM_TUNING_H
#define WF_SHM_TUNING_H

/* ---- short messages (ring.h, send.c, receive.c) -------------------------- */

enum {
    /* Slots that a receiver and a sender fetch ahead. 2 to 16 and 0 to 4 were
     * alike; a sender asks early enough for a line that the receiver owns:
     * shared-memory.md, "Short messages in a row". */
    SHM_AHEAD = 2,
    SHM_AHEAD_OUT = 4,
    /* Looks of a blocking receive at its slot. Half a round trip of 1 byte took
     * 0.0953 us with 3, 0.103 with 5 or 8, 0.108 with 1: shared-memory.md, "One
     * byte over shared memory". */
    SHM_RECEIVE_LOOKS = 3,
    /* The most pauses before the first look for an answer, and the prompt
     * answers in a row that take one away: 0.076 us with two pauses, 0.098 with
     * none, 0.084 with three; 32 was not measured. shared-memory.md, "When an
     * answer is looked for". */
    SHM_ANSWER_PAUSES = 2,
    SHM_ANSWERS_PROMPT = 32,
    /* Short messages in a row, without one in return, after which the receiver
     * writes to the slots that it has taken, and its pauses when it has caught
     * up, some 200 ns. 4, 12 and 24 pauses: 39.5, 37 and 40 ns per message; the
     * row was not measured. shared-memory.md, "Short messages in a row". */
    SHM_ROW = 3,
    SHM_ROW_PAUSES = 12,
    /* Messages of a sender with a processor of its own that bring the large
     * ring of slots. Where ranks share CPUs its pages cost ibcast of 16 ranks
     * 65 to 139 us around that, 60 without; tuning.md, `ring`. */
    SHM_LARGE_RING_AFTER = 256
};

/* ---- polling (progress.c, bell.c) ---------------------------------------- */

enum {
    /* Rings of a round-robin poll per progress call, recent peers that every
     * call polls besides, slots of one peer before others are polled, and peers
     * beyond which callers set a byte (SHM_MANY). Not measured. */
    SHM_RINGS_PER_POLL = 8,
    SHM_RECENT = 4,
    SHM_PEER_BUDGET = 64,
    SHM_FEW_PEERS = 32,
    /* Every 256th call may poll the sockets, after a pause of so many ns at
     * most; every 8th does while connections are being made. Without a pause 8
     * bytes took 0.30 us, with up to 100 us 0.25: overlap.md, "Two fabrics in
     * one process". */
    SHM_SOCKETS_IDLE = 255,
    SHM_SOCKETS_APART = 100000,
    SHM_SOCKETS_BUSY = 7
};

/* ---- large messages through the ring (copy.c, way.c, send.c) ------------- */

enum {
    /* Bytes from which the loop prefetches, and how far ahead. Not measured
     * since it carries cells only. */
    SHM_LOOP_MIN = 1024,
    SHM_LOOP_AHEAD = 1024,
    /* The bulk ring has twice the second-level cache: 20 to 23 GB/s through 256
     * KB, 30 through 1 MB on a Zen 3 with 512 KB; tuning.md, `chunks`. The
     * bounds and the size of an unknown cache were not measured. */
    SHM_L2_UNKNOWN = 512 << 10,
    SHM_BULK_MIN = 128 << 10,
    SHM_BULK_MAX = 4 << 20,
    /* The bulk ring where ranks share CPUs: 4 ranks on two CPUs, ialltoall of
     * 256 KB through 1 MB 401 us, through 256 KB 185; tuning.md, `chunks`. */
    SHM_BULK_OVERSUBSCRIBED = 256 << 10,
    /* Of all peers of a process together. Not measured: it bounds memory. */
    SHM_BULK_SHARE = 64 << 20,
    /* How often, in pages of the large bulk ring, the first one must have been
     * full where ranks share CPUs. A large one that came by bytes sent cost
     * ialltoall of 64 KB of 16 ranks 5000 to 9000 us instead of 1080 to 2040;
     * tuning.md, `chunks`. */
    SHM_FULL_PER_PAGE = 4,
    /* The large bulk ring comes in steps: a part of the bytes that were sent,
     * and so many bytes when the first one was full in so many polls. On a
     * guest whose page tables are shadowed a page takes 5 us and its first
     * access 5, 16 KB take 7 and 17; 64 KB go back and forth in 9. The numbers
     * were not measured. */
    SHM_GROW_PART = 16,
    SHM_GROW_FULL = 16 << 10,
    SHM_FULL_POLLS = 64,
    /* Bytes that a side copies in one piece while the other one sends, too: 5
     * to 12 % less time than chunk by chunk. shared-memory.md, "Both directions
     * at once in a slow phase". */
    SHM_TOGETHER_MAX = 128 << 10,
    /* The trial of the two ways of copying: MB of a round, bytes before the
     * first trial, for pages are new, and between two; the most, to which
     * hopeless trials raise that. shared-memory.md, "Phases in which a cache
     * line takes 0.24 us", has the ways; the bytes were not measured. */
    SHM_TRIAL_MB = 4,
    SHM_TRIAL_FIRST = 4 << 20,
    SHM_TRIAL_REST = 256 << 20,
    SHM_TRIAL_REST_MAX = 1 << 30
};

/* ---- one copy (direct.c, memory.c, cma.c) -------------------------------- */

enum {
    /* Bytes of an allocation that peers may map, and of a transfer that both
     * sides copy, at least; bytes of its pieces. Not measured. */
    SHM_AREA_MIN = 64 << 10,
    SHM_HELP_MIN = 64 << 10,
    SHM_HELP_PIECE = 16 << 10,
    /* Bytes from which the kernel's copy is considered, and messages that race
     * each way: the kernel made 4.0 and 6.4 GB/s of 1 MB, the ring 24.6 and
     * 26.2: shared-memory.md, "What bounds a stream in a slow phase". */
    SHM_CMA_MIN = 1 << 20,
    SHM_CMA_RACES = 4,
    /* Bytes that one progress call reads. Not measured. */
    SHM_CMA_READ_MAX = 4 << 20
};

/* ---- either side moves it (fetch.c, offer.c, claims.h) ------------------- */

enum {
    /* Bytes from which memory is offered: the word that a receiver is through
     * costs 1.5 us, 3 to 5 % of 1 MB, 1 to 2 % of 4 MB. overlap.md, "Overlap".
     */
    SHM_EITHER_SIDE_MIN = 4 << 20,
    /* ns after which a receiver reads, and a sender writes: ten times the
     * answer of a side that polls, 1 to 2 us. tuning.md, `cma`. */
    SHM_FETCH_STALL_NS = 15000,
    SHM_OFFER_STALL_NS = 20000,
    /* The first, for the receiver's helper thread: a sender in MPI_Wait sleeps
     * after 50 us, and one whose program sleeps has to be woken. With 15 us the
     * helper read 60 % of the bytes itself: overlap.md, "Overlap". */
    SHM_HELPER_STALL_NS = 60000,
    SHM_WAKE_STALL_NS = 1000000,
    /* Bytes in the ring before the receiver is seen to take some: the whole
     * ring was no better. overlap.md, "Overlap". */
    SHM_OFFER_FIRST = 128 << 10,
    /* Bytes that one side moves alone at a time, and the most after a while. A
     * call of the kernel costs as much as copying 10 KB; blocks of 64 KB to 16
     * MB took 3.2 to 3.8 ms for 16 MB. overlap.md, "Overlap". */
    SHM_BLOCK = 256 << 10,
    SHM_BLOCK_MOST = 1024 << 10,
    /* Polls of the ring for each of the claims, pieces that are claimed for the
     * ring at a time. Not measured. */
    SHM_POLLS_BEFORE_CLAIMS = 32,
    SHM_PIECES_PER_PUSH = 8
};

#endif
