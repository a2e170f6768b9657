/* The launcher's word on a peer: whether its process has ended, and whether it
 * is in MPI. See carrier.c.
 *
 * ENDED  A refusal says that there is no listener, and not that there is no
 * process: a socket that was ended from outside is opened again only when its
 * process is in MPI, which may compute or wait for a CPU; a listener that lacks
 * descriptors is replaced; and a firewall between two hosts refuses as well.
 * The launcher, which has started the process, knows. It is asked repeatedly,
 * for a process may be dead before the launcher has seen it. While the launcher
 * says that the process runs, refusals mean nothing, and the route's timeout
 * counts. Without an answer the process counts as gone when it has refused
 * several calls and nothing has contradicted them for GONE_NS: the calls alone
 * are too quick, and the time alone is no proof if this process itself had no
 * CPU.
 *
 * PRESENT  A host that answers on a path while its process does not leaves two
 * cases: the process computes, or what it and this one send each other is
 * dropped on that path. Asked by this process, the launcher asks the peer. One
 * that is in MPI reads that about once a second at least, and answers. The
 * launcher counts the answers, and tells the count with each state.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "protocol/carrier_launcher.h"

#include "protocol/order.h"
#include "route/location.h"

#define GONE_NS    1000000000u
#define ASK_NS     100000000u
#define PRESENT_NS 2000000000u /* a process in MPI answers in less */
enum { REFUSED = 5 };          /* calls */

/* Note answers of the peer. Those before the first reply in this silence may be
 * old. */
static void note_reply(struct wf_ordered *o, const struct wf_boot_word *before,
                       uint64_t now)
{
    if (!o->asked_since || o->word.replies == before->replies)
        return;
    if (!o->replied_at)
        o->replied_at = now;
    else if (o->word.answers != before->answers)
        o->present_at = now;
}

/* Hear the launcher, and ask it anew if that is due. false: no launcher can
 * tell. */
static bool ask_launcher(struct wf_ordered *o, uint64_t now)
{
    struct wf_boot_word before = o->word;
    bool due = now >= o->ask_at;

    if (due)
        o->ask_at = now + ASK_NS;
    if (!wf_launcher_ask(o->loc->wf, o->loc->id, due, &o->word))
        return false;
    note_reply(o, &before, now);
    return true;
}

enum wf_presence wf_carrier_presence(struct wf_ordered *o, uint64_t now)
{
    if (!o->asked_since) {
        o->asked_since = now;
        o->replied_at = o->present_at = o->excused_at = 0;
    }
    if (!ask_launcher(o, now))
        return WF_PRESENCE_UNKNOWN;
    if (o->replied_at && o->word.state != WF_BOOT_CALLED)
        return WF_PRESENCE_UNKNOWN;
    if (o->present_at && now < o->present_at + PRESENT_NS)
        return WF_PRESENT;
    if (now < o->asked_since + PRESENT_NS)
        return WF_PRESENCE_UNDECIDED;
    return o->replied_at ? WF_ABSENT : WF_PRESENCE_UNKNOWN;
}

static bool has_refused(const struct wf_ordered *o)
{
    for (int k = 0; k < o->carriers; k++)
        if (o->carrier[k].gone && o->carrier[k].failed_tries >= REFUSED)
            return true;
    return false;
}

bool wf_carrier_gone(struct wf_ordered *o, uint64_t now)
{
    if (!o->gone_at && !o->asked_since)
        return false;
    ask_launcher(o, now);
    if (o->word.state != WF_BOOT_UNKNOWN)
        return o->word.state == WF_BOOT_ENDED;
    return o->gone_at && now >= o->gone_at + GONE_NS && has_refused(o);
}
