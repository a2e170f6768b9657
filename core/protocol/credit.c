/* Flow control of eager data: it limits what a sender leaves unread at a
 * receiver.
 *
 * Each process grants every other one `credits` bytes. An eager message costs
 * its payload plus WF_MESSAGE_OVERHEAD; the cost comes back when the receiver
 * has consumed the message, collected until half of the grant is owed. Without
 * credit a standard send becomes a rendezvous: its memory stays at the sender.
 * So unexpected memory is bounded and receivers never have to stop reading.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "protocol/credit.h"

#include "protocol/message.h"
#include "protocol/queues.h"
#include "protocol/send_side.h"

void wf_credit_return(struct weft_loc *loc)
{
    struct wf_wire w;

    wf_wire_init(&w, WF_CREDIT, 0);
    w.c = wf_le64(loc->owed);
    loc->owed = 0;
    wf_message_send_control(loc, &w, true);
}

void wf_credit_received(struct weft_loc *loc, uint64_t bytes)
{
    uint64_t limit;

    wf_side_take_back(loc);
    limit = loc->wf->engine->credits - (uint64_t)loc->credit;
    WF_ASSERT(loc->credit <= (int64_t)loc->wf->engine->credits);
    /* the credit never exceeds the grant */
    wf_credit_change(loc, (int64_t)(bytes < limit ? bytes : limit));
    WF_ASSERT(loc->credit <= loc->credit_whole);
}
