/* A communicator has a group of members, or two, and context ids, which tell
 * its messages from those of others.
 *
 * A message carries the receiver's context id. For an intracommunicator both
 * ids are the same; for an intercommunicator send_context is the id under which
 * the remote group receives. Point-to-point, collective and internal traffic of
 * one communicator share the id and differ in the envelope's space (wire.h).
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_COMM_H
#define WF_COMM_H

#include "group.h"

/* Tells whether the members share CPUs. The first barrier finds it out for all
 * of them, so that collectives may depend on it (coll/barrier.c). */
struct wf_oversubscription {
    bool known;
    uint8_t any;       /* some member that was heard of shares CPUs */
    uint8_t heard[31]; /* by subtree: the tree of the first barrier */
};

/* Promises of the program about its receives (MPI-5.0 s7.4.4) that are checked:
 * a receive that breaks one is an error. */
enum wf_assert {
    WF_ASSERT_NO_ANY_TAG = 1,
    WF_ASSERT_NO_ANY_SOURCE = 2,
    WF_ASSERT_OVERTAKING = 4, /* its messages may pass each other */
    WF_ASSERT_EXACT = 8       /* core.exact_length: no message is shorter */
};

struct wf_shmcoll;
struct wf_channel;
enum { WF_SHMCOLL_RANKS_MAX = 1024 /* members */ };

/* The functions by which layers above end what they keep with a communicator;
 * registered by the instance. */
struct wf_comm_handlers {
    /* Called when the last reference is gone: gives the context id back and
     * frees what collectives keep. */
    void (*release)(struct wf_comm *);
};

/* An upper layer may keep something with a communicator, which is dropped when
 * the last reference to it is gone. */
struct wf_comm_kept {
    struct wf_comm_kept *next;
    void (*drop)(struct wf_comm_kept *);
};

struct wf_comm {
    struct wf_object object;
    uint32_t contact_end;       /* number of ranks in contacts: 0, or all */
    struct weft_loc **contacts; /* Location of each rank that was talked to */
    uint64_t send_env0, send_env1; /* envelope of sends; dest, tag unset */
    uint64_t recv_env0;            /* envelope of receives */
    struct wf_instance *wf;
    uint32_t context;      /* 24 bits: id under which this process receives */
    uint32_t send_context; /* id under which it sends */
    int rank;              /* of this process in the local group */
    int size;              /* of the local group */
    struct wf_group *local;
    struct wf_group *peers; /* the group that ranks address; remote if inter */
    bool inter;
    uint8_t asserts; /* enum wf_assert: promised by hints, query.c */
    bool freed;      /* MPI_Comm_free was called; pending operations hold it */
    uint32_t coll_tag;     /* next tag of a collective on this communicator */
    uint32_t part_tag;     /* next tag of a partitioned send: part/part.h */
    uint32_t context_hint; /* first word for ids of derived ones: context.h */
    struct wf_errhandler *errhandler;
    bool errhandler_given; /* set by MPI_Comm_set_errhandler on this object */
    struct wf_attr *attrs;
    struct wf_info *info;
    struct wf_comm_kept *kept;
    struct wf_comm *local_comm; /* inter: intracommunicator of the local group,
                                   for collectives and merge */
    struct wf_topo *topo;       /* topo/topo.h; or NULL */
    struct wf_channel *channel; /* comm/channel.h; or NULL */
    struct wf_bsend_buffer *bsend; /* for buffered sends: p2p/buffered.h */
    struct wf_oversubscription oversubscription;
    struct wf_layout *layout; /* its distribution over nodes: coll/layout.h;
                                 or NULL */
    /* shared-memory collectives: coll/shm/shmcoll.h; or NULL */
    struct wf_shmcoll *shmcoll;
    bool path_logged;           /* by coll/path.c */
    /* Rules of routes that are about this communicator: protocol/comm_route.h,
     * of its point-to-point messages and its collectives. */
    bool route_decided, routed;
    uint8_t route_kind; /* enum wf_route_kind of all its messages; 0: they have
                           the kind of their operation */
    uint32_t route_keys[2];
    /* blocking collectives until they are set up; 0: never */
    uint32_t shmcoll_countdown;
    /* A collective step that this process has deferred and the other members
     * have not (wf_shmcoll_count_call), or NULL. */
    void (*catch_up)(struct wf_comm *);
    uint32_t endpoint_mask;    /* result of wf_comm_endpoint_mask */
    uint32_t endpoint_mask_at; /* wf_links.attached + 1 when it was made */
    char name[MPI_MAX_OBJECT_NAME];
    struct wf_comm *next_spare; /* in the list wf_env.spare_comms, when freed */
    bool shmcoll_usable; /* `team` is set up, and this rank has not left it */
    bool dead;        /* a member was found to be dead */
    uint32_t
        losses_checked; /* wf->losses when `dead` was set: protocol/death.h */
    uint64_t origin;  /* how it was made: protocol/death.h; 0: at start */
};

/* The context id of a communicator whose members have not agreed on one yet. */
#define WF_CONTEXT_NONE UINT32_MAX

/* A communicator that has no contacts. */
extern const struct wf_comm wf_comm_without_contacts WF_HIDDEN;
/* Returns the Location of a rank that was talked to, or NULL. Any number may be
 * passed as rank. */
static inline struct weft_loc *wf_contact_of(const struct wf_comm *c, int rank)
{
    return (uint32_t)rank < c->contact_end ? c->contacts[rank] : NULL;
}

/* The same outside of the section of the communicator's engine. */
static inline struct weft_loc *wf_contact_seen(const struct wf_comm *c,
                                               int rank)
{
    /* pairs with wf_contact_add */
    return (uint32_t)rank < wf_read_published(&c->contact_end)
               ? wf_read_published(&c->contacts[rank])
               : NULL;
}

/* Runs the deferred collective step, if there is one. */
static inline void wf_comm_catch_up(struct wf_comm *c)
{
    if (wf_unlikely(c->catch_up != NULL))
        c->catch_up(c);
}
/* Returns the tag of the next collective. All messages of one collective use
 * it. */
static inline int wf_comm_draw_tag(struct wf_comm *c)
{
    wf_comm_catch_up(c);
    return (int)(c->coll_tag++ & INT32_MAX);
}

/* Take and release a reference; the last release destroys the communicator. */
void wf_comm_get(struct wf_comm *);
void wf_comm_put(struct wf_comm *);

/* Makes a communicator over groups whose references it takes over, also on
 * failure (NULL: out of memory). remote NULL: an intracommunicator. The context
 * id is released when the communicator is destroyed. */
struct wf_comm *wf_comm_create(struct wf_instance *, struct wf_group *local,
                               struct wf_group *remote, uint32_t context,
                               uint32_t send_context);
/* Sets the context ids, and all that is computed from them. */
void wf_comm_set_context(struct wf_comm *, uint32_t context,
                         uint32_t send_context);
/* Returns whether a member, or one of the remote group, is of another job. */
bool wf_comm_has_others(const struct wf_comm *);

/* Keep something with a communicator; take it back without dropping it; find
 * that with this function, or NULL. */
void wf_comm_keep(struct wf_comm *, struct wf_comm_kept *);
void wf_comm_take_back(struct wf_comm *, struct wf_comm_kept *);
struct wf_comm_kept *wf_comm_find_kept(const struct wf_comm *,
                                       void (*drop)(struct wf_comm_kept *));

/* Frees the memory of freed communicators that is kept for reuse. */
struct wf_env;
void wf_comm_forget_spares(struct wf_env *);
/* Gives a derived communicator the error handler and the session of its
 * parent. */
void wf_comm_inherit(struct wf_comm *to, struct wf_comm *from);

struct wf_comm *wf_comm_of(struct wf_instance *wf, MPI_Comm handle);

/* Each returns the handle by which the user knows an object: the small constant
 * of a predefined one, else its address. */
MPI_Comm wf_comm_handle(struct wf_comm *);

#endif
