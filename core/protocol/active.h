/* Active messages: a message of a chapter that is handed to a handler of that
 * chapter when it arrives, instead of to a receive.
 *
 *   wf_active_send -- header, payload --> wf_active_arrive --> handler
 *
 * Those of one communicator and space take one lane, so they arrive in the
 * order in which they were sent, once, also over a failover, and checked or
 * sealed as all containers are. Neither credit nor the eager limit holds them
 * back: the handler consumes each at once, so that a chapter itself bounds what
 * it keeps.
 *
 * LOCK  the API section.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_PROTOCOL_ACTIVE_H
#define WF_PROTOCOL_ACTIVE_H

#include "protocol/queues.h"

enum {
    WF_ACTIVE_SHORT =
        WF_CONTROL_MAX,    /* bytes that wf_active_send_short takes */
    WF_ACTIVE_MOST = 64000 /* bytes of payload that any lane takes */
};

/* The header of an active message, as a chapter sees it. */
struct wf_active_head {
    uint32_t context; /* of the communicator */
    uint32_t source;  /* ranks in it */
    uint32_t target;
    uint32_t word; /* these three mean what the chapter wants */
    uint64_t c, d;
};

/* The handler of a space. Its functions may send and post operations; they must
 * not wait. */
struct wf_active_handler {
    /* Called with a whole message. The payload has no alignment, and is gone
     * when the function returns. Any process of the job may have sent it, with
     * any bytes in it. */
    void (*arrive)(struct wf_active_handler *, struct weft_loc *from,
                   const struct wf_active_head *, const void *data,
                   size_t bytes);
    /* Called once when the location has failed. */
    void (*lose)(struct wf_active_handler *, struct weft_loc *);
};

/* Register the handler of a space with an engine, or NULL for none. */
void wf_active_register(struct wf_instance *, enum wf_space,
                        struct wf_active_handler *);

/* A message whose payload is too long for wf_active_send_short. */
struct wf_active {
    struct wf_tx tx;
    /* Called once when the payload has been taken, before the message is
     * freed; may be NULL. */
    void (*sent)(struct wf_active *);
    void *context; /* for `sent` */
    uint64_t bytes;
    uint8_t payload[];
};

/* Allocate a message with room for n bytes. NULL: out of memory. */
struct wf_active *wf_active_alloc(size_t n);
/* Let an allocated message have only n bytes. */
void wf_active_shorten(struct wf_active *, size_t n);
/* Where a message goes: to a location, by a lane (protocol/comm_route.h), which
 * is the same for all of a communicator and space. */
struct wf_active_way {
    struct weft_loc *loc;
    unsigned lane;
    enum wf_space space;
};

/* Send an allocated message, which is freed later. */
void wf_active_send(struct wf_active_way, const struct wf_active_head *,
                    struct wf_active *);
/* Send a message of at most WF_ACTIVE_SHORT bytes, which are copied. */
void wf_active_send_short(struct wf_active_way, const struct wf_active_head *,
                          const void *data, size_t n);

/* Handle a container of type ACTIVE; as wf_arrive. */
int wf_active_arrive(struct weft_loc *from, const struct wf_wire *,
                     const void *data, size_t have, weft_sink **sink);
/* Tell the handlers that a location has failed. */
void wf_active_lose(struct weft_loc *);

#endif
