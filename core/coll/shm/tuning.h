/* The numbers of shared-memory collectives that were chosen for the speed of a
 * machine, each with the measurement that it came from.
 *
 * Pages named NAME.md are in bench/notebook; the hosts are named there. Most
 * have two CPUs, so a number that depends on more of them may be wrong
 * elsewhere. "Not measured" marks a number that was chosen by reasoning, and
 * tried in a wide range or not at all.
 *
 * NOT HERE  the layout of lines and chunks, which is the same on any machine
 * (shmcoll.h). LEARNT while it runs: the way of copying into the ring
 * (staging.c).
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_SHMCOLL_TUNING_H
#define WF_SHMCOLL_TUNING_H

enum {
    /* ---- lines and blocks (shmcoll.h, sizes.h, setup.c) ---- */

    /* Lines of a member, used in turn, a power of two; where ranks outnumber
     * CPUs; at least in a scan. Reduce_scatter of 4 bytes on 16 ranks took 3.03
     * us with 8, 1.85 with 16, 1.19 with 32, 0.75 with 128, a barrier of two
     * ranks with CPUs of their own 0.050 with 8, 0.056 with 32: collectives.md,
     * "Lines". The number of a scan was not measured. */
    WF_SHMCOLL_LINES = 8,
    WF_SHMCOLL_LINES_MAX = 128,
    WF_SHMCOLL_LINES_SCAN = 32,
    /* Blocks of a member, used in turn; where ranks outnumber CPUs, and in a
     * scan; bytes of one, and of those of all members. Not measured. There
     * blocks have as many pieces as there are lines: 64 bytes took gatherv of
     * 16 ranks 1.3 us instead of 6.7. Elsewhere eight pieces instead of two
     * blocks took two ranks up to a fifth longer: collectives-cells.md. */
    WF_SHMCOLL_BLOCKS = 2,
    WF_SHMCOLL_BLOCKS_MAX = 8,
    WF_SHMCOLL_BLOCK_MOST = 16 << 10,
    WF_SHMCOLL_ALL_BLOCKS = 2 << 20,
    /* Bytes of pages that all members together take at once: page tables take
     * time, too. collectives.md, "First use of shared memory"; the number was
     * not measured. */
    WF_SHMCOLL_PAGES_TAKEN_MOST = 256 << 20,

    /* Members each of which reads the lines of all in a barrier or allreduce;
     * of more, one reads them (by_leader.c). A call took each rank of 128 so
     * many us of its CPU: by all 7 to 17, by one 6 to 11; of 256: 28 to 41, 12
     * to 14; of 512: 32 to 45, 21 to 32. Fewer ranks were not measured. */
    WF_SHMCOLL_READ_BY_ALL_MOST = 64,
    /* The same for each CPU of a node on which ranks outnumber CPUs: who reads
     * all lines waits for every rank that is behind, who reads one for rank 0
     * alone. Medians in us of an allreduce of 4 bytes on two CPUs beside other
     * work, three rounds, read by all/by one: 16 ranks 711/250, 18992/14597,
     * 164/372; 48 ranks 711/789, 18104/11069, 662/1241; 64 ranks 8307/1868,
     * 16147/4320, 1563/1036; of 96 and more one reader was always faster. */
    WF_SHMCOLL_READ_BY_ALL_PER_CPU = 24,

    /* ---- waiting (wait.c) ---- */

    /* Polls of a flag before the engine is driven. Not measured. */
    WF_SHMCOLL_POLLS = 64,

    /* ---- staging ring (sizes.h, staging.c) ---- */

    /* Bytes of a chunk: alltoall of 256 KB on 16 ranks took 3356 us with chunks
     * of 256 KB, 4788 with pieces of 8.7 KB; collectives.md, "What a collective
     * of 16 ranks costs". Bytes of a ring with three chunks for each member:
     * not measured. */
    WF_SHMCOLL_CHUNK_MOST = 256 << 10,
    WF_SHMCOLL_ALL_CHUNKS = 12 << 20,
    /* Bytes of a ring that chunks wrap around. Two ranks, 128 KB: 10.9 us with
     * 256 KB for each, 6.9 with 512 KB, 4.5 with 1 to 4 MB. collectives.md,
     * "Lines that the other processor has read". */
    WF_SHMCOLL_ALL_RINGS = 4 << 20,
    /* Least bytes of a piece that is timed, such pieces from one trial to the
     * next, and how many times faster non-temporal stores must be: more than
     * their reader loses, 2.4 to 6.1 us. Bcast of 64 KB took 8 to 11 us instead
     * of 18 to 87 in a slow phase: shared-memory.md, "Phases in which a cache
     * line takes 0.24 us". The first two were not measured. */
    WF_SHMCOLL_TIMED_MIN = 8 << 10,
    WF_SHMCOLL_TRIAL_PERIOD = 64,
    WF_SHMCOLL_TIMES_FASTER = 3,
    /* Calls from a root that are under way, of one chunk each, and of several.
     * Without agreement bcast of 64 KB of 16 ranks took 17 us instead of 36:
     * collectives-cells.md. The numbers were not measured. */
    WF_SHMCOLL_AHEAD = 4,
    WF_SHMCOLL_LONG_AHEAD = 2,

    /* ---- the set-up (path.c) */

    /* Members from which on the first alltoall sets up the segment. Of 16 ranks
     * on two CPUs it took 12 ms of CPU each by messages of 1 KB, and 4.5 with
     * the set-up; of 8, of 64 bytes, 4.3 and 2.9: growth.md. */
    WF_SHMCOLL_HASTE_RANKS = 16,

    /* ---- the ring or messages (from_root.c, large.c, large_fold.c,
     * scan_lines.c) */

    /* Members for each CPU, and bytes for all of them, from which a scatter
     * goes by one copy for each reader: 16 ranks on two CPUs, 1 MB for each,
     * 1190 to 1890 us instead of 4970 to 7040; nine ranks alike.
     * collectives.md, "Large messages where many ranks share a CPU". */
    WF_SHMCOLL_RANKS_PER_CPU = 4,
    WF_SHMCOLL_SCATTER_RING_MOST = 8 << 20,
    /* Fewer ranks reduce vectors of so many bytes and more by messages, which
     * was faster for 2 MB on 4 ranks: collectives.md. The number of ranks was
     * not measured. */
    WF_SHMCOLL_REDUCE_FEW = 8,
    WF_SHMCOLL_REDUCE_FEW_MOST = 1 << 20,
    /* Bytes from which a scan of two ranks is a message: 4 MB took 357 us, 691
     * through the ring, for one copy of all of it does not go through the
     * cache; collectives-cells.md. Of an exclusive scan it is one message, and
     * there is nothing to compute; that limit was not measured. */
    WF_SHMCOLL_SCAN_PAIR_MOST = 2 << 20,
    WF_SHMCOLL_EXSCAN_PAIR_MOST = 64 << 10,
    /* Parts of alltoallv go through the ring if the longest one is at most so
     * many times as long as they are on average, and, of so few ranks, if it
     * has so many bytes: 4 ranks took 17 us for parts of 16 KB either way, 39
     * instead of 62 for 64 KB; collectives-cells.md. The first was not
     * measured. */
    WF_SHMCOLL_VARIED_SHORT = 4,
    WF_SHMCOLL_VARIED_FEW = 4,
    WF_SHMCOLL_VARIED_FEW_MIN = 48 << 10
};

#endif
