/* Communicators.
 *
 * A message carries the receiver's context id. For an intracommunicator both
 * ids are the same; for an intercommunicator send_context is what the remote
 * group receives on. Point-to-point, collective and internal traffic of one
 * communicator share the id and differ in the envelope's space (wire.h).
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_COMM_H
#define WF_COMM_H

#include "group.h"

/* Do the members share CPUs? What the first barrier finds out for all, so that
 * collectives may depend on it (coll/barrier.c). */
struct wf_oversubscription {
    bool known;
    uint8_t any;       /* some member that was heard of says so */
    uint8_t heard[31]; /* by round of the dissemination */
};

/* Promises of the program about its receives (MPI-5.0 s7.4.4) that are looked
 * at: a receive that breaks one is an error. */
enum wf_assert {
    WF_ASSERT_NO_ANY_TAG = 1,
    WF_ASSERT_NO_ANY_SOURCE = 2,
    WF_ASSERT_OVERTAKING = 4, /* its messages may pass each other */
    WF_ASSERT_EXACT = 8       /* core.exact_length: no message is shorter */
};

struct wf_shmcoll;
enum { WF_SHMCOLL_RANKS_MAX = 64 /* members */ };

struct wf_comm {
    struct wf_object object;
    uint32_t contact_end;       /* ranks in contacts: none, or all */
    struct weft_loc **contacts; /* whom it has talked to, by rank */
    uint64_t send_env0, send_env1; /* of its messages; without dest and tag */
    uint64_t recv_env0;            /* of the messages that it receives */
    struct wf_instance *wf;
    uint32_t context;      /* 24 bits: what this process receives on */
    uint32_t send_context; /* what it sends on */
    int rank;              /* of this process in the local group */
    int size;              /* of the local group */
    struct wf_group *local;
    struct wf_group *peers; /* whom ranks address: remote group if inter */
    bool inter;
    uint8_t asserts; /* enum wf_assert: what hints promise, query.c */
    bool freed; /* MPI_Comm_free was called; pending operations hold it */
    uint32_t coll_tag; /* next tag of a collective on this communicator */
    uint32_t part_tag; /* next tag of a partitioned send: part/part.h */
    uint32_t context_hint; /* where to look for a derived one's id: context.h */
    struct wf_errhandler *errhandler;
    bool errhandler_given; /* by MPI_Comm_set_errhandler on this very one */
    struct wf_attr *attrs;
    struct wf_info *info;
    struct wf_comm *local_comm; /* inter: intracommunicator of the local group,
                                   for collectives and merge */
    struct wf_topo *topo;          /* NULL: none; topo/topo.h */
    struct wf_bsend_buffer *bsend; /* of buffered sends: p2p/buffered.h */
    struct wf_oversubscription oversubscription;
    struct wf_layout *layout; /* of nodes, once asked for: coll/layout.h */
    struct wf_shmcoll *shmcoll; /* its members share a segment: coll/shm/shmcoll.h; or NULL */
    uint32_t shmcoll_countdown; /* blocking collectives until they do; 0: never */
    /* A collective step that this process put off and the others did not, or NULL:
     * wf_shmcoll_count_call. */
    void (*catch_up)(struct wf_comm *);
    uint32_t need, need_at; /* wf_comm_need, and wf->links + 1 of then */
    char name[MPI_MAX_OBJECT_NAME];
    struct wf_comm *next_spare; /* when freed: wf_env.spare_comms */
    bool shmcoll_usable; /* there is a team, and this rank has not left it */
    bool dead;        /* a member is gone, as was found ... */
    uint32_t dead_at; /* ... with so many of wf->losses: protocol/death.h */
    uint64_t origin;  /* protocol/death.h: how it was made; 0: at the start */
};

/* Of a communicator whose members have not agreed on an id yet. */
#define WF_CONTEXT_NONE UINT32_MAX

extern const struct wf_comm wf_comm_nobody WF_HIDDEN; /* has no contacts */
/* The Location of a rank that was talked to, or NULL; of any number. */
static inline struct weft_loc *wf_contact(const struct wf_comm *c, int rank)
{
    return (uint32_t)rank < c->contact_end ? c->contacts[rank] : NULL;
}
/* Make a connected peer a contact. */
void wf_contact_add(struct wf_comm *, int rank, struct weft_loc *);
void wf_contacts_drop(struct wf_comm *);

/* Endpoints that messages of its members can come through: need.c. */
uint32_t wf_comm_need(struct wf_comm *);

/* coll/cleanup.c */
void wf_shmcoll_free(struct wf_comm *);
/* Do the step that was put off, if there is one. */
static inline void wf_comm_catch_up(struct wf_comm *c)
{
    if (wf_unlikely(c->catch_up != NULL))
        c->catch_up(c);
}
/* The tag of the next collective: every message of one goes under it. */
static inline int wf_comm_draw_tag(struct wf_comm *c)
{
    wf_comm_catch_up(c);
    return (int)(c->coll_tag++ & INT32_MAX);
}

void wf_comm_get(struct wf_comm *);
void wf_comm_put(struct wf_comm *);

/* World and self exist between these. The second may be called without the
 * first; final: nothing uses the instance any more, not even a request that
 * the program left unfinished. */
int wf_world_begin(struct wf_instance *);
void wf_world_end(struct wf_instance *, bool final);

/* A new communicator over groups whose references are taken over, also on
 * failure (NULL: out of memory). remote NULL: an intracommunicator. The context
 * id is given back when the communicator goes. */
struct wf_comm *wf_comm_create(struct wf_instance *, struct wf_group *local,
                               struct wf_group *remote, uint32_t context,
                               uint32_t send_context);
void wf_comm_set_context(struct wf_comm *, uint32_t context,
                         uint32_t send_context);
/* Free the memory of freed communicators that is kept for reuse. */
struct wf_env;
void wf_comm_forget_spares(struct wf_env *);
/* info holds what the communicator now has for hints. */
void wf_comm_hinted(struct wf_comm *);
/* What a derived communicator has from its parent: the error handler, and the
 * session. */
void wf_comm_inherit(struct wf_comm *to, struct wf_comm *from);

#endif
