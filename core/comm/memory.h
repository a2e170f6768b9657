/* Memory that members of a communicator share: one of them takes it from a
 * transport, the others map it.
 *
 *   the first    wf_memory_offer     memory of a transport that peers may map
 *                                    (mem_alloc, mr_pack), and its keys
 *   caller       carries the offer to the others
 *   the others   wf_memory_accept    rkey_open, rkey_map over the transport
 *                                    that reaches the first
 *   caller       has all agree that every one of them has it
 *   the first    wf_memory_settle    frees the transport's memory
 *
 * DESIGN  The memory is mapped once more, and the transport's freed when all
 * have it: from then on it depends neither on the connection nor on the first
 * member, and has no descriptor. A transport says from which descriptor the
 * memory is mapped (weft_ops.map_fd). Of one that does not, and where ranks are
 * threads, the mapping is repeated by an mremap of no bytes, which Linux has
 * for shared memory, and tools that supervise a program's memory (valgrind) do
 * not know.
 *
 * Members may reach the first by two transports, as threads of its process and
 * processes of its node do. Then the memory belongs to the one whose peers can
 * map nothing else, and the other, which takes any (WEFT_CAP_NO_MR), makes a
 * key too.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_COMM_MEMORY_H
#define WF_COMM_MEMORY_H

#include "base.h"

enum {
    WF_MEMORY_KEY_MAX = 64,
    WF_MEMORY_KEYS = 2, /* transports that join members to the first */
    WF_MEMORY_NAME_MAX = 24
};

struct wf_comm;

/* The key by which peers of one transport map the memory. */
struct wf_memory_key {
    char transport[WF_MEMORY_NAME_MAX]; /* "": there is no key */
    uint64_t len;
    unsigned char bytes[WF_MEMORY_KEY_MAX];
};

/* The message of the first member. */
struct wf_memory_offer {
    uint64_t address, bytes; /* bytes 0: there is no memory */
    int64_t fd;              /* of its process, for threads of it; or -1 */
    struct wf_memory_key key[WF_MEMORY_KEYS];
};

/* A set-up under way. The caller sets the first part, the rest being 0. */
struct wf_memory {
    struct wf_comm *comm;
    /* The engine whose connections count; NULL: comm's. The functions are
     * called inside the section of that, and enter this one's meanwhile. */
    struct wf_instance *wf;
    const int *ranks; /* of those that share; NULL: all of comm */
    int count;        /* of them */
    unsigned space;   /* enum wf_space: whose routes count */
    /* bytes in all; bytes at the end whose pages are taken when used */
    size_t bytes, lazy_bytes;

    struct wf_memory_offer offer;
    void *base; /* the memory, a mapping of the caller's own; or NULL */
    struct weft_core *core;
    const struct wf_memory_key *key; /* that of this member's transport */
    weft_mem mem;                    /* of the first member */
    weft_peer *peer;                 /* to the first member */
    weft_rkey *rkey;
    char why[160]; /* why this member has no memory; "": it has */
};

/* Records why there is no memory here; the first reason counts. Returns
 * false. */
bool wf_memory_give_reason(struct wf_memory *, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Makes the memory and m->offer. */
void wf_memory_offer(struct wf_memory *);
/* Maps the memory of m->offer. */
void wf_memory_accept(struct wf_memory *);
/* Frees the transport's memory; every member has mapped it, or never will. */
void wf_memory_settle(struct wf_memory *);
/* Makes the key by which peers of this transport map memory that it gave. */
bool wf_memory_make_key(struct wf_memory_key *, const struct weft_core *,
                        const weft_mem *);
/* Returns whether peers of this transport use the key. */
bool wf_memory_is_key_of(const struct wf_memory_key *,
                         const struct weft_core *);

#endif
