/* The numbers of the core that were chosen for the speed of a machine, each
 * with the measurement that it came from.
 *
 * Pages named NAME.md are in bench/notebook, "tuning.md" is in docs/user, "ADR"
 * is docs/adr; the hosts are named there. Most have two CPUs of one socket,
 * November 2026, so a number that depends on more of them may be wrong
 * elsewhere. "Not measured" marks a number that was chosen by reasoning, and
 * tried in a wide range or not at all.
 *
 * NOT HERE  defaults of settings and the choice of algorithms (tuning.md); what
 * a protocol or a data structure needs on any machine; shared-memory
 * collectives (coll/shm/tuning.h); the transport self, which sees the contract
 * only.
 * LEARNT while it runs, within bounds that are here: spins and yields before a
 * sleep, pauses of the progress thread and before a look for an answer.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_TUNING_H
#define WF_TUNING_H

enum {
    /* ---- the lock (os/mutex.c) ---- */

    /* ns between two tries of the next thread in line at an open lock. Two
     * threads made 18, 17 and 21 million messages/s with 1000, 2500 and 5000:
     * threads-of-one-rank.md. */
    WF_MUTEX_OPEN_NS = 2500,
    /* Its tries before it sleeps, spins per look at the clock. Not measured. */
    WF_MUTEX_TRIES_BEFORE_SLEEP = 8,
    WF_MUTEX_SPINS_PER_CLOCK = 16,
    /* Spins of a thread that ends a bias before it sleeps. 400 took 7 us on a
     * Zen 5 (threads-of-one-rank.md); other numbers were not measured. */
    WF_MUTEX_SPINS_FOR_OWNER = 400,
    /* Entries in a row before the first bias, and how often revocations double
     * them: 65536 entries cost some hundred revocations. One is a membarrier,
     * 45 to 50 us on that host; the numbers were not measured. */
    WF_MUTEX_BIAS_AFTER_ENTRIES = 64,
    WF_MUTEX_DOUBLINGS_MAX = 10,

    /* ---- spinning (progress/wait.c) ---- */

    /* The spin budget in ns, at first and at least. A wake-up took 20 to 50 us
     * (tuning.md, `core.spin`); the least was not measured. */
    WF_SPIN_NS = 50000,
    WF_SPIN_MIN_NS = 2000,
    /* The limit to which brief sleeps raise it, and ns of a brief sleep, two
     * wake-ups of a host where one took 90 us. Of 1800 ms 149 were slow before,
     * 27 after: collectives-cells.md. */
    WF_SPIN_MOST_NS = 200000,
    WF_SLEEP_BRIEF_NS = 200000,
    /* Polls between two looks at the clock, and rounds with events for others
     * that make a wait long. Not measured. */
    WF_POLLS_PER_CLOCK = 32,
    WF_EVENTS_LONG = 4096,

    /* ---- giving the CPU away (progress/wait.c) ---- */

    /* Yields before a sleep where ranks outnumber CPUs. 64 take 25 us on an
     * idle CPU. A barrier of 16 processes took 50 us by sleeping, 16 by
     * yielding (ADR 007); the numbers were not measured. */
    WF_YIELDS_MIN = 2,
    WF_YIELDS_MAX = 64,
    /* ns beyond the spin budget after which a yield has found a thread that
     * computes, for the other rank of a CPU may spin as long; and what each
     * further rank of the CPU may take in addition. With 256 processes on a
     * CPU a barrier took 48 ms without the second or with 20 us, and 9 with 50
     * (bench/notebook/growth.md). */
    WF_YIELD_LONG_NS = 200000,
    WF_YIELD_TURN_NS = 50000,
    /* ns after which a yield has found another thread: it took 1.2 us alone,
     * 8.9 beside another process. threads-of-one-rank.md. */
    WF_YIELD_ALONE_NS = 1500,
    /* Waits without a yield after one that was too long. In these a rank does
     * not learn that brief sleeps are worth spinning: 64 after a process that
     * was only about to start were 64 sleeps of two ranks in turn, 8 are over,
     * and the spin is learnt, in 20. The most was not measured. */
    WF_NO_YIELD_MIN = 8,
    WF_NO_YIELD_MAX = 1 << 16,
    /* Waits beside another rank after which a CPU counts as shared: then a byte
     * took 1.71 us instead of 14.3 (tuning.md, "Ranks that are bound"). Yields
     * alone after which it does not. The numbers were not measured. */
    WF_SHARED_WAITS_MIN = 32,
    WF_LONE_YIELDS_MAX = 1000,
    /* Polls before a yield where threads share CPUs, 5 us. A message of four
     * threads took 1 to 35 us with 16 to 64, 0.7 to 2 with 128 to 1024, 7 to 15
     * with none: threads-of-one-rank.md. */
    WF_POLLS_PER_YIELD = 256,
    /* Calls of MPI_Test in vain after which each yields, unless it comes more
     * ns than this after the last. The setup of AMG took 0.02 s instead of 0.35
     * (ADR 007); the numbers were not measured. */
    WF_TESTS_MAX = 3,
    WF_TESTS_APART_NS = 20000,

    /* ---- polling and sleeping (progress/) ---- */

    /* Polls of a receive that has a request, some us, and of one without, and
     * where ranks outnumber CPUs. There each of the latter yields: two pairs
     * made 0.93 million messages/s, before 0.70 (imb.md). The numbers were not
     * measured. */
    WF_SPIN_POLLS = 200,
    WF_SPIN_POLLS_OVERSUBSCRIBED = 2,
    WF_WORDS_POLLS = 50,
    WF_WORDS_POLLS_OVERSUBSCRIBED = 4,
    /* Events of an endpoint per poll; all where ranks outnumber CPUs, where
     * each turn of the run queue counts: tuning.md, "alltoall". 64 was not
     * measured, nor the most that a receive polls for (protocol/request.c). */
    WF_POLL_BUDGET = 64,
    WF_POLL_BUDGET_OVERSUBSCRIBED = 1024,
    WF_RECEIVE_BUDGET_MOST = 64,
    /* Rounds, a power of two, between two polls of the other endpoints, and the
     * ns between them while these are idle. 8 bytes took 0.30 us without, 0.25
     * with up to 100 us: overlap.md, "Two fabrics in one process". */
    WF_OTHERS_EVERY = 256,
    WF_OTHERS_APART_NS = 1000,
    WF_OTHERS_APART_MOST_NS = 100000,
    /* An idle source is polled again after an 8th of the time for which it has
     * been idle, and after 64 times the cost of its poll at the latest. Costly
     * is what takes as long as 4 looks at the clock; there is one in so many
     * rounds, a power of two. In one of so many looks what is not costly is
     * timed again. ADR 017. */
    WF_IDLE_PART = 8,
    WF_IDLE_COSTS = 64,
    WF_IDLE_CLOCKS = 4,
    WF_IDLE_ROUNDS = 16,
    WF_IDLE_TIMED_EVERY = 1024,
    /* Times that endpoints are armed again, within so many ns, that make the
     * leader sleep on its bell. A byte beside a listener took 0.2 us instead of
     * 10 (overlap.md, "Two fabrics"); the numbers were not measured. */
    WF_REARMS_MAX = 16,
    WF_REARMS_NS = 500000,
    /* ms of a sleep on the bell, and with an endpoint that has no descriptor.
     * Not measured. */
    WF_BELL_SLEEP_MS = 1,
    WF_BLIND_SLEEP_MS = 1,
    /* Idle rounds of a serving call until it sleeps; the longest sleep, in ms,
     * of one that has other engines. Not measured. */
    WF_SERVE_ROUNDS = 16,
    WF_SERVE_SLEEP_MS = 10,
    /* Between two polls of a rank's other engines: yields, rounds of a wait, ms
     * of a sleep; tests before a wait in one (p2p/several_engines.c). Not
     * measured. */
    WF_OTHERS_YIELDS = 8,
    WF_OTHERS_LONG = 4096,
    /* ns between two polls of the other engines by a wait on a channel: one
     * start in 10^4 may meet such a poll even if each takes 1 us. Not
     * measured. */
    WF_CHANNEL_OTHERS_NS = 10000000,
    /* The time for which the messages of a channel may be under way, by its
     * rate, and the fewest. Chosen, and documented: real-time-channels.md. */
    WF_CHANNEL_PERIOD_MS = 1,
    WF_CHANNEL_DEPTH_MIN = 8,
    WF_ENGINES_PAUSE_MS = 4,
    WF_ENGINES_PAUSE_MOST_MS = 64,
    WF_ENGINES_TESTS = 200,

    /* ---- the progress thread (protocol/helper.c) ---- */

    /* Bytes of a receive that is left to it, or urgent to it. Not measured. */
    WF_HELP_MIN_BYTES = 64 << 10,
    WF_HELPER_URGENT_BYTES = 1 << 20,
    /* Its pauses in ns while the program polls, for operations that do not
     * depend on it, and what a pause may be too long. A wake-up cost the
     * computation 25 to 30 us (overlap.md); the numbers were not measured. */
    WF_HELPER_PAUSE_NS = 100000,
    WF_HELPER_PAUSE_MOST_NS = 1600000,
    WF_HELPER_PAUSE_QUIESCENT_NS = 10000000,
    WF_HELPER_PAUSE_EXCESS_NS = 300000,
    /* Bytes of a receive that polls for its announcement, and the ns, 1 or 2 %
     * of the transfer; bytes per ns that one side alone copies through the
     * kernel, which took 2.4 ms for 16 MB. overlap.md, "Overlap". */
    WF_ANNOUNCED_BYTES = 4 << 20,
    WF_ANNOUNCED_NS = 2000,
    WF_ONE_SIDE_BYTES_PER_NS = 6,

    /* ---- messages (protocol/, p2p/, instance/memory.c) ---- */

    /* Bytes that a send packs on the stack, inside and outside of the section;
     * of a stored message that is copied outside. Not measured. */
    WF_PACK_SHORT = 1024,
    WF_PACK_OUTSIDE = 1024,
    WF_DEFER_COPY_MIN = 4096,
    /* Polls for room or credit, some us; requests that MPI_Waitall fetches
     * ahead. Not measured. */
    WF_ROOM_POLLS = 256,
    WF_REQUESTS_AHEAD = 8,
    /* Spins for a thread that copies a short message to the same peer, which
     * takes 0.1 us unless it has lost its CPU. Not measured. */
    WF_SIDE_SPINS = 64,
    /* Receives or messages compared without a table. A receive took 3 ns, 10
     * behind others (docs/internals/matching.md); 8 was not measured. */
    WF_SCANNED = 8,
    /* Bytes of a checked container: one is summed while the one before travels
     * (failover.md). The number was not measured. */
    WF_CHECKED_PIECE = 256 << 10,
    /* The most payload bytes of an ordered pair's containers, of striped ones,
     * of sealed ones, of those copied without a request; containers and bytes
     * that make an ACK due. Not measured. */
    WF_ORDER_CHUNK = 256 << 10,
    WF_STRIPE_PIECE = 64 << 10,
    WF_SEAL_CHUNK = 64 << 10,
    WF_ORDER_SHORT = 8 << 10,
    WF_ACK_EVERY = 32,
    WF_ACK_BYTES = 64 << 10,
    /* Bytes of MPI_Alloc_mem that a transport maps: 64 KB took 2.9 us from
     * there, 4.1 sent at once. tuning.md, `transport.shm.eager`. */
    WF_SHARE_FROM = 64 << 10,
    /* The most bytes of blocks that a program has given back to MPI_Free_mem
     * and that are kept for its next MPI_Alloc_mem: some of the largest that a
     * message profits from. Not measured. */
    WF_SPARE_BYTES = 64 << 20,

    /* ---- datatypes (datatype/) ---- */

    /* Bytes of a segment below which copying beats lists: 128 KB of rows of 1
     * to 4 KB took 4.4 us, in lists 5.9. results.md, "Derived types". */
    WF_SMALL_SEGMENT = 4096,
    /* Stores at multiples of so many bytes conflict in a set of the cache, from
     * so many blocks on, at odd ones later. So few at a time brought a face
     * from 2.2 to 3.5 GB/s: datatypes.md. */
    WF_CONFLICT_STEP = 1024,
    WF_CONFLICT_BLOCKS = 64,
    WF_CONFLICT_BLOCKS_ODD = 1024,
    WF_STORES_IN_FLIGHT = 6,
    /* Steps in bytes that are too far to group blocks; bytes of user memory
     * that a block of rows touches. Not measured. */
    WF_STEP_FAR = 512,
    WF_COLUMN_BYTES = 16 << 10,
    /* Segments of a child that is copied into its parent's row, and of a node
     * that is no row any more; how many times more it may have so that they are
     * equal; blocks of a loop that becomes a row. Not measured. */
    WF_FLATTEN_SEGS = 16,
    WF_LONG_LIST = 32,
    WF_MORE_SEGS = 4,
    WF_ROW_LOOP = 8,

    /* ---- partitioned communication (part/) ---- */

    /* Bytes of neighbouring partitions that go in one message, and ns that the
     * first of them waits for the others while its process polls. Not
     * measured. */
    WF_PART_GROUP_BYTES = 16 << 10,
    WF_PART_WAIT_NS = 20000,

    /* ---- collectives by messages (coll/) ---- */

    /* Bytes of a segment of bcast's chain, of reductions by chain and by blocks
     * (two and their sum fit into a second-level cache), and segments of these
     * under way. Not measured. */
    WF_BCAST_SEGMENT = 64 << 10,
    WF_CHAIN_SEGMENT = 64 << 10,
    WF_CHAIN_SLOTS = 4,
    WF_BLOCKS_SEGMENT = 64 << 10,
    WF_BLOCKS_SLOTS_MAX = 16,
    /* Bytes to which each child of a reduce has a buffer; pairwise steps of an
     * alltoall under way. Not measured. */
    WF_REDUCE_EAGER_TEMPS = 4096,
    WF_ALLTOALL_WINDOW = 32,
    /* Bytes from which a message to many goes through the broadcast pool: of 4
     * KB it gains little, of 16 KB a third (tuning.md, "bcast: by the broadcast
     * pool"). */
    WF_BCAST_POOL_MIN = 8 << 10,

    /* ---- files (io/) ---- */

    /* Bytes from one small piece of a file to the next up to which a read
     * fetches the extent. Both ways took as long with 4 KB in tmpfs, with 8 to
     * 16 in ext4, where a call costs more: files.md, as those below. */
    WF_SIEVE_SPACING = 4096,
    /* Collective accesses: bytes of a piece from which each process performs
     * its own write. Both ways took as long with 1 to 4 KB in tmpfs, with 8 to
     * 32 in ext4. Of a file system that is not local, where reads go in two
     * phases, too: not measured. */
    WF_IO_PIECE_LOCAL = 8 << 10,
    WF_IO_PIECE_REMOTE = 64 << 10,
    /* So many bytes of which one is accessed make it independent: both ways
     * took as long with 16 to 32. */
    WF_IO_SPARSE = 16,
    /* Bytes of a gap that an aggregator reads with what is around it. Not
     * measured where two phases are used for reads. */
    WF_IO_GAP_READ = 16 << 10,

    /* ---- ranks that are threads (thread/) ---- */

    /* Looks of a receive at its line: 0.1115 us with 8, 0.118 with 3. Pauses
     * before the first one at an answer: 0.076 with 2, 0.098 with none, 0.084
     * with 3. shared-memory.md. Prompt answers for one less: not measured. */
    WF_MAIL_LOOKS = 8,
    WF_MAIL_ANSWER_PAUSES = 2,
    WF_MAIL_ANSWERS_PROMPT = 32,
    /* Bytes of a message without a request and of one that is fetched, ns until
     * a full mailbox is tried again. Not measured. */
    WF_MAIL_SHORT_MAX = 4096,
    WF_MAIL_GET_MIN = 1024,
    WF_MAIL_RETRY_NS = 1000000,
    /* Costs by which a route chooses: a byte took 57 to 110 ns, 1 MB had 58 to
     * 110 GB/s (rank-threads.md). The overhead was not measured. */
    WF_MAIL_LATENCY_NS = 60,
    WF_MAIL_OVERHEAD_NS = 20,
    WF_MAIL_BANDWIDTH_MBS = 60000,
    /* Bytes of a shared copy's pieces, their number, how much longer the first
     * is: tuning.md, `transport.thread.piece`. Spins for the last piece of the
     * sender, as long as a piece takes: not measured. */
    WF_ASSIST_PIECE_MIN = 32 << 10,
    WF_ASSIST_PIECE_MAX = 256 << 10,
    WF_ASSIST_PIECES = 16,
    WF_ASSIST_LEAD = 8 << 10,
    WF_ASSIST_SPINS = 2000
};

#endif
