/* MPI_Win_post, start, complete and wait: what waits for what, with groups of
 * every size and members that run ahead, and without messages where memory is
 * shared.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "check.h"
#include "sent.h"

enum { TARGET, ORIGIN, WINDOWS = 4, TIMES = 20, ROUNDS = 200, RANKS = 64 };

static _Thread_local int rank, size;
static _Thread_local MPI_Group everybody;

static long *allocate_window(MPI_Win *win)
{
    long *base;

    MPI_Win_allocate(size * (MPI_Aint)sizeof *base, sizeof *base, MPI_INFO_NULL,
                     MPI_COMM_WORLD, &base, win);
    MPI_Win_set_errhandler(*win, MPI_ERRORS_RETURN);
    return base;
}

/* Returns a group of one. */
static MPI_Group group_of(int member)
{
    MPI_Group g;

    MPI_Group_incl(everybody, 1, &member, &g);
    return g;
}

static void send_to(int to)
{
    MPI_Send(NULL, 0, MPI_BYTE, to, 0, MPI_COMM_WORLD);
}

static void receive_from(int from)
{
    MPI_Recv(NULL, 0, MPI_BYTE, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* ---- what waits for what ------------------------------------------------- */

static void put_early(MPI_Win win, long value)
{
    MPI_Group target = group_of(TARGET);

    CHECK(MPI_Win_start(target, 0, win) == MPI_SUCCESS);
    send_to(TARGET);
    MPI_Put(&value, 1, MPI_LONG, TARGET, 0, 1, MPI_LONG, win);
    receive_from(TARGET);
    CHECK(MPI_Win_complete(win) == MPI_SUCCESS);
    MPI_Group_free(&target);
}

static void expose_late(MPI_Win win, long *base, long value)
{
    MPI_Group origin = group_of(ORIGIN);
    int flag = 1;

    receive_from(ORIGIN);
    CHECK(*base == 0);
    CHECK(MPI_Win_post(origin, 0, win) == MPI_SUCCESS);
    CHECK(MPI_Win_test(win, &flag) == MPI_SUCCESS && !flag);
    send_to(ORIGIN);
    CHECK(MPI_Win_wait(win) == MPI_SUCCESS);
    CHECK(*base == value);
    *base = 0;
    MPI_Group_free(&origin);
}

/* An operation takes no effect before MPI_Win_post, and MPI_Win_test does not
 * succeed before MPI_Win_complete: of the first window in some memory, and of
 * those that have it later. */
static void check_waits(void)
{
    for (int i = 0; i < WINDOWS; i++) {
        MPI_Win win;
        long *base = allocate_window(&win);

        for (int k = 1; k <= 3 && size > 1; k++) {
            if (rank == ORIGIN)
                put_early(win, 10 * i + k);
            if (rank == TARGET)
                expose_late(win, base, 10 * i + k);
        }
        MPI_Win_free(&win);
    }
}

/* ---- groups of every size ------------------------------------------------ */

/* Draws which members access whose memory: pairs[origin][target]. */
static void draw_pairs(unsigned *seed, char pairs[RANKS][RANKS])
{
    unsigned part = 1 + draw_from(seed, 4);

    for (int o = 0; o < size; o++)
        for (int t = 0; t < size; t++)
            pairs[o][t] = draw_from(seed, 4) < part;
}

/* Returns the group of those that access this member's memory, or of those
 * whose memory it accesses. */
static MPI_Group make_group(char pairs[RANKS][RANKS], int as_target)
{
    int members[RANKS], n = 0;
    MPI_Group g;

    for (int i = 0; i < size; i++)
        if (as_target ? pairs[i][rank] : pairs[rank][i])
            members[n++] = i;
    MPI_Group_incl(everybody, n, members, &g);
    return g;
}

static void access_targets(MPI_Win win, char pairs[RANKS][RANKS], long value)
{
    MPI_Group targets = make_group(pairs, 0);

    CHECK(MPI_Win_start(targets, 0, win) == MPI_SUCCESS);
    for (int t = 0; t < size; t++)
        if (pairs[rank][t])
            MPI_Put(&value, 1, MPI_LONG, t, rank, 1, MPI_LONG, win);
    CHECK(MPI_Win_complete(win) == MPI_SUCCESS);
    MPI_Group_free(&targets);
}

static void end_exposure(MPI_Win win, int by_test)
{
    int flag = !by_test;

    while (!flag)
        CHECK(MPI_Win_test(win, &flag) == MPI_SUCCESS);
    if (!by_test)
        CHECK(MPI_Win_wait(win) == MPI_SUCCESS);
}

/* Nothing holds the members together but the epochs. */
static void check_groups(void)
{
    char pairs[RANKS][RANKS];
    unsigned seed = 7;
    MPI_Win win;
    long *base = allocate_window(&win);

    for (int round = 1; round <= ROUNDS; round++) {
        MPI_Group origins;

        draw_pairs(&seed, pairs);
        origins = make_group(pairs, 1);
        CHECK(MPI_Win_post(origins, 0, win) == MPI_SUCCESS);
        access_targets(win, pairs, 100L * round + rank);
        end_exposure(win, (round + rank) % 3 == 0);
        for (int o = 0; o < size; o++)
            CHECK(!pairs[o][rank] || base[o] == 100L * round + o);
        MPI_Group_free(&origins);
    }
    MPI_Win_free(&win);
}

/* ---- without messages ---------------------------------------------------- */

static int is_shared(MPI_Win win)
{
    int all = 1;

    for (int r = 0; r < size; r++) {
        MPI_Aint bytes;
        int unit;
        void *there = NULL;

        MPI_Win_shared_query(win, r, &bytes, &unit, &there);
        all &= there != NULL;
    }
    return all;
}

/* A message tells each of two when to call, so that neither waits for the other
 * in a call on the window: MPI_Win_post and MPI_Win_complete send none. */
static void check_messages(void)
{
    MPI_Group target = group_of(TARGET), origin = group_of(size > 1);
    unsigned long long before = 0, sent;
    MPI_Win win;
    long *base = allocate_window(&win), value = 0;
    int counts = is_shared(win) && size > 1;

    for (int k = 0; k <= TIMES && counts; k++) {
        if (k == 1)
            before = messages_sent("shm");
        if (rank == TARGET) {
            MPI_Win_post(origin, 0, win);
            send_to(ORIGIN);
            receive_from(ORIGIN);
            MPI_Win_wait(win);
            CHECK(*base == k);
        } else if (rank == ORIGIN) {
            receive_from(TARGET);
            value = k;
            MPI_Win_start(target, 0, win);
            MPI_Put(&value, 1, MPI_LONG, TARGET, 0, 1, MPI_LONG, win);
            MPI_Win_complete(win);
            send_to(TARGET);
        }
    }
    sent = counts ? messages_sent("shm") - before : 0;
    CHECK(!counts || sent < 3 * TIMES / 2);
    MPI_Group_free(&origin);
    MPI_Group_free(&target);
    MPI_Win_free(&win);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    rank = rank_in(MPI_COMM_WORLD);
    size = size_of(MPI_COMM_WORLD);
    MPI_Comm_group(MPI_COMM_WORLD, &everybody);
    check_waits();
    check_groups();
    check_messages();
    MPI_Group_free(&everybody);
    return job_end();
}
