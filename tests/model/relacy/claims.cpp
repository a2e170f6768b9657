/* A transfer that sender and receiver both work on (plugins/shm/claims.h,
 * offer.c, fetch.c): pieces from either end, and a receiver that gives up.
 * CLAIM  Each piece is moved once; when the receiver says that all is there it
 * is; and nobody writes into the buffer of a transfer that was closed.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "machine.h"

enum { PIECES = 3, SHM_FETCHES = 1, CLOSE_WAIT_NS = 1 };
enum { SHM_BLOCK = 1, SHM_BLOCK_MOST = 1 };
#define shm_relax() rl::yield(1, $)
//@ plugins/shm/claims.h: SHM_PIECES_MOST SHM_CLAIMS_CLOSED shm_end shm_claims
//@ plugins/shm/claims.h: shm_claimed shm_unclaimed shm_claim shm_block_pieces

struct shm_share {
    atom<uint64_t> claims[SHM_FETCHES], dones[SHM_FETCHES];
    atom<uint32_t> writing;
};
struct shm_push { /* of what offer.c uses */
    void *mr;
    uint64_t len;
    const char *from;
    uint64_t to;
    uint32_t op, all, at, end, written;
};
struct shm_fetch {
    void *rma;
    uint32_t all, mine, landed;
};
struct shm_fetches {
    struct shm_fetch at[SHM_FETCHES];
    uint32_t first, next;
};
struct shm_pushes {
    uint32_t run;
};
struct host {
    uint64_t (*now_ns)(void *);
};
struct weft_ep {
    struct host *host;
    void *core;
};
struct weft_peer {
    struct {
        struct shm_share *share;
        bool eof;
    } in, out;
    struct {
        uint32_t chunk;
    } geometry;
    struct shm_fetches fetches;
    struct shm_pushes pushes;
    bool write_refused;
    struct weft_ep *ep;
};
static void shm_wake_peer(weft_peer *) {}
static plain<int> *buffer;
static uint64_t wf_shm_cma_write(weft_peer *, const void *, uint64_t to,
                                 uint64_t n)
{
    for (uint64_t i = to; i < to + n; i++)
        buffer[i] = buffer[i] + 1;
    return n;
}

namespace sender {
//@ plugins/shm/ring.h: shm_fence
//@ plugins/shm/offer.c: claims_of count_unclaimed bytes_of_pieces claim_pieces
//@ plugins/shm/offer.c: set_writing is_closed record_written
//@ plugins/shm/offer.c: write_block
}
namespace receiver {
static struct shm_fetch *fetch_of(weft_peer *p, uint32_t op)
{
    return &p->fetches.at[op % SHM_FETCHES];
}
//@ plugins/shm/ring.h: shm_fence
//@ plugins/shm/fetch.c: has_fetches claims_of is_complete wf_shm_fetch_close
}

static uint64_t no_time(void *) { return 0; }

template <bool CLOSED>
struct pieces_move : rl::test_suite<pieces_move<CLOSED>, 2> {
    struct shm_share share;
    struct weft_peer from, to;
    plain<int> bytes[PIECES];
    atom<int> over;

    void before()
    {
        static struct host host = {no_time};
        static struct weft_ep ep = {&host};

        memset(&from, 0, sizeof from);
        memset(&to, 0, sizeof to);
        from.in.share = to.out.share = &share;
        from.geometry.chunk = to.geometry.chunk = 1;
        from.ep = to.ep = &ep;
        to.fetches.next = 1;
        to.fetches.at[0].rma = &to;
        to.fetches.at[0].all = PIECES;
        buffer = bytes;
        share.claims[0].store(shm_claims(0), rl::mo_relaxed, $);
    }

    void send()
    {
        struct shm_push h = {&h, PIECES, NULL, 0, 0, PIECES};

        while (sender::write_block(&from, &h) > 0)
            ;
    }

    /* The receiver's own reads: from the back. */
    void read_one()
    {
        uint32_t first;

        if (!shm_claim(&share.claims[0], 0, PIECES, 1, SHM_BACK, &first))
            return;
        bytes[first] = bytes[first] + 1;
        to.fetches.at[0].mine++;
    }

    void thread(unsigned me)
    {
        if (me == 0) {
            send();
            return;
        }
        read_one();
        if (CLOSED) {
            receiver::wf_shm_fetch_close(&to);
        } else {
            while (!receiver::is_complete(&to, 0))
                rl::yield(1, $);
            for (int i = 0; i < PIECES; i++)
                RL_ASSERT(bytes[i] == 1);
        }
        for (int i = 0; i < PIECES; i++)
            bytes[i] = -1; /* the program's again */
    }

    void after()
    {
        for (int i = 0; i < PIECES; i++)
            RL_ASSERT(bytes[i] == -1);
    }
};

int main(int argc, char **argv)
{
    read_arguments(argc, argv);
    return !(does_hold<pieces_move<false>>() && does_hold<pieces_move<true>>());
}
