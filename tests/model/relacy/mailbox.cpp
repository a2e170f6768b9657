/* The mailbox of a rank that is a thread (core/thread/mailbox.h), and its
 * sleep.
 * CLAIM  Containers of each sender arrive whole and in order, a line is written
 * again only when it has been read, and an owner that sleeps is woken, by a
 * death, too.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "machine.h"

enum { SENDERS = 2, EACH = 2, LINES = 4, WEFT_OK = 0, WEFT_EAGAIN = -1 };
enum { WF_MAIL_RETRY_NS = 1 };
typedef void weft_event;
struct weft_ep;
static futex_word *bell_of_owner;

#define __builtin_expect(x, y) (x)
//@ core/thread/mailbox.h: MAIL_ASLEEP
enum { MAIL_LINE = 64, MAIL_FIRST = 40, MAIL_PAD = 0xF0 };
enum mail_end { MAIL_OPEN, MAIL_LEAVING, MAIL_GONE };
//@ core/thread/mailbox.h: mail_line{env data} mail_job mailbox
//@ core/thread/mailbox.h: mail_claim
//@ core/thread/mailbox.h: mail_line_at mail_make_word mail_sender_of
static bool wf_mail_claim_after_pad(struct mailbox *, uint32_t, uint32_t,
                                    uint64_t *, uint32_t, struct mail_claim *);
static void wf_mail_ring_bell(const struct mailbox *)
{
    bell_of_owner->store(1, rl::mo_relaxed, $);
    wf_futex_wake(bell_of_owner);
}
//@ core/thread/mailbox.h: mail_claim_lines() mail_publish mail_peek
//@ core/thread/mailbox.h: mail_release_lines
//@ core/thread/registry.c: wf_mail_claim_after_pad wf_mail_wake

struct weft_ep {
    struct mailbox *box;
    uint64_t head;
    bool armed, stalled, peer_died;
    uint32_t wants, seen_deaths;
    void *rma, *core;
    struct {
        uint64_t (*now_ns)(void *);
    } *host;
};

static struct registry {
    wf_atomic_u32 deaths;
} *registry_now;
#define registry (*registry_now)
//@ core/thread/registry.c: wf_mail_count_deaths
#undef registry
static bool has_any_space_again(const weft_ep *) { return false; }
static bool wf_assist_is_done(const weft_ep *) { return false; }
static int read_bell()
{
    bell_of_owner->store(0, rl::mo_relaxed, $);
    return 8;
}
#define read(bell, to, n) read_bell()
//@ core/thread/transport.c: disarm_endpoint thread_arm
#undef read

/* Two senders of a container of one line and one of two each, through four
 * lines: room runs out, and one goes around the end. */
struct mail_arrives : rl::test_suite<mail_arrives, SENDERS + 1> {
    struct mailbox box;
    struct mail_line lines[LINES];
    struct weft_ep owner;
    futex_word bell;
    struct registry deaths;
    int last[SENDERS];

    void before()
    {
        box.lines = lines;
        box.mask = LINES - 1;
        bell_of_owner = &bell;
        registry_now = &deaths;
        owner = weft_ep();
        owner.box = &box;
        for (int i = 0; i < SENDERS; i++)
            last[i] = 0;
    }

    void send(uint32_t me, uint64_t *seen, int i)
    {
        uint32_t n = 1 + i % 2;
        struct mail_claim c;

        while (!mail_claim_lines(&box, n, seen, me, &c))
            rl::yield(1, $);
        for (uint32_t k = 0; k < n; k++)
            c.first[k].env[1] = 10 * (me + 1) + i;
        mail_publish(&box, &c, mail_make_word(n, me));
    }

    int receive(uint64_t word)
    {
        struct mail_line *l = mail_line_at(&box, owner.head);
        uint32_t from = mail_sender_of(word);

        if ((word & 0xff) == MAIL_PAD) {
            mail_release_lines(&box, &owner.head,
                               (uint32_t)(uint64_t)l->env[0]);
            return 0;
        }
        RL_ASSERT(from < SENDERS);
        last[from]++;
        for (uint32_t k = 0; k < (word & 0xff); k++)
            RL_ASSERT(mail_line_at(&box, owner.head + k)->env[1] ==
                      10 * (from + 1) + last[from]);
        mail_release_lines(&box, &owner.head, word & 0xff);
        return 1;
    }

    void own()
    {
        for (int n = 0; n < SENDERS * EACH || !wf_mail_count_deaths();) {
            uint64_t word = mail_peek(&box, owner.head);
            if (word)
                n += receive(word);
            else if (!owner.armed && thread_arm(&owner, NULL) == WEFT_OK)
                wf_futex_wait(&bell, 0, NULL);
            else if (owner.armed)
                disarm_endpoint(&owner);
            else
                rl::yield(1, $);
        }
    }

    void thread(unsigned me)
    {
        uint64_t seen = 0;

        if (me == SENDERS) {
            own();
            return;
        }
        for (int i = 1; i <= EACH; i++)
            send(me, &seen, i);
        if (me == 0) { /* goes without a word: wf_mail_close */
            wf_add_acq_rel(0, &deaths.deaths, 1);
            wf_mail_wake(&box);
        }
    }
};

int main(int argc, char **argv)
{
    read_arguments(argc, argv);
    return !does_hold<mail_arrives>();
}
