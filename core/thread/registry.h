/* The registry of the mailboxes of this process, by index: ranks find each
 * other's mailboxes here.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_THREAD_REGISTRY_H
#define WF_THREAD_REGISTRY_H

#include "base.h"

struct mail_address;
struct mail_claim;
struct mailbox;

/* Marks the claimed lines up to the end of the ring as padding, and claims n
 * lines behind them. */
bool wf_mail_claim_after_pad(struct mailbox *, uint32_t n, uint32_t lines,
                    uint64_t *seen, uint32_t from, struct mail_claim *);

/* Wakes the owner if it sleeps and no other thread has woken it yet. */
void wf_mail_wake(struct mailbox *);

/* Rings the bell of the owner, which sleeps. */
void wf_mail_ring_bell(const struct mailbox *);

/* Makes and registers a mailbox of that many lines, rounded up. Returns NULL
 * and sets *error if it cannot. */
struct mailbox *wf_mail_open(uint32_t loc_id, uint32_t lines, int *error);

/* Removes the mailbox from the registry and drops its owner's reference. */
void wf_mail_close(struct mailbox *);
void wf_mail_address(const struct mailbox *, struct mail_address *);

/* Returns a reference to the mailbox of an address, or NULL if it is gone. */
struct mailbox *wf_mail_find(const struct mail_address *);

/* Touches the pages of its ring. */
void wf_mail_populate(struct mailbox *);
/* Drops a reference. */
void wf_mail_release(struct mailbox *);

/* Returns the location id of a sender, or -1 if it is gone. */
int64_t wf_mail_loc_id(uint32_t index);

/* Tells a sender that its messages are not taken, if there is room. */
void wf_mail_refuse(uint32_t index, uint32_t me);

/* Wakes the owner of the mailbox with that index, if it sleeps. */
void wf_mail_wake_index(uint32_t index);

/* Returns how many owners have gone without leaving first (MAIL_LEAVING). */
uint32_t wf_mail_count_deaths(void);

#endif
