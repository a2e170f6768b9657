/* Business cards: a process publishes one so that others can reach it.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_ROUTE_CARD_H
#define WF_ROUTE_CARD_H

#include "base.h"

struct weft_core;
struct weft_loc;
struct wf_instance;
struct wf_rank;

enum { WF_CARD_MAX = 8192 }; /* bytes of a card */

/* A card source knows the business cards of the processes of a job. */
struct wf_card_source {
    /* Fill card and card_len with malloc'ed or lent (card_lent) bytes, or host
     * and node where there are no cards. 0 or WEFT_E*, with the cause
     * recorded. */
    int (*fetch)(struct weft_loc *);
};

/* The cards of the own job, which its bootstrap passes on. They are fetched
 * when they are needed, and the launcher may make the caller wait for one. */
extern const struct wf_card_source wf_card_bootstrap;
/* Give the bootstrap the card of this engine. */
int wf_card_hand_out(struct wf_instance *, const void *card, size_t);

/* Make the business card of this engine: malloc'ed bytes. 0 or WEFT_ENOMEM. */
int wf_card_make(struct wf_instance *, unsigned char **card, size_t *n);

/* Publish the business card of this process under "weft.card.<id>". */
int wf_card_publish(struct wf_instance *);

/* Whether the next lower rank has its business card published, and the user
 * wants configurations to be compared. */
bool wf_card_is_comparable(const struct wf_instance *);

/* Compare the configuration with that of the next lower rank: if any two ranks
 * of a job differ, two neighbours do. WEFT_EINVAL: they differ, and this has
 * been printed. */
int wf_card_compare(struct weft_loc *below);

/* Fetch the business card from the source of the peer's job and check it, which
 * fills node and host. 0 or WEFT_E*, with the cause recorded by wf_error.
 * Without a card (static bootstrap) the addresses of mpi.ini are used. */
int wf_card_fetch(struct weft_loc *);

/* Free what was fetched. */
void wf_card_release(struct weft_loc *);

/* Find the peer's address for an endpoint, in the plugin's form: in its card,
 * in mpi.ini, or derived from the job key if mpi.ini has it on this host.
 * WEFT_EUNREACH: there is none. */
int wf_card_address(struct weft_loc *, const struct weft_core *, void *buf,
                    size_t *len);

/* Whether endpoints of this rank have seeds, of which peers that have heard
 * nothing of it derive its addresses: in a static start, if mpi.ini gives every
 * rank a host. */
bool wf_card_has_seeds(const struct wf_rank *);

/* Compute the seed (weft_open.seed) that this endpoint has in a process. */
void wf_card_seed(const struct weft_core *, uint32_t rank,
                  unsigned char seed[WEFT_SEED]);

/* The node id that stands for a host named in mpi.ini, when there are no
 * cards. */
uint64_t wf_card_host_node(const char *host);

#endif
