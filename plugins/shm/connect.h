/* Connections: from the address of a peer to the rings of a pair.
 *
 *   dial.c     the call, and when it is made again
 *   connect.c  the handshake, up to the proof of identity
 *   listen.c   the socket that is called
 *   adopt.c    from the proof to the rings
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_SHM_CONNECT_H
#define WF_SHM_CONNECT_H

#include <sys/socket.h>
#include <sys/types.h>
#include <sys/un.h>

#include "direction.h"
#include "message.h"

#define SHM_MS 1000000ull /* ns */
enum {
    SHM_SHORTAGE_MAX_MS = 10000, /* a shortage is an error after this */
    SHM_RETRY_FIRST_MS = 1       /* a call is made again after this */
};

/* The object that an epoll event points at. It is never freed while a batch of
 * events is handled. */
enum shm_watch_kind { SHM_LISTENER, SHM_BELL, SHM_CONN, SHM_PEER, SHM_DEAD };
struct shm_watch {
    enum shm_watch_kind kind;
    int fd;
};

/* The address of an endpoint, which travels as the opaque address. Name and
 * secret are random, or the two halves of a seed. */
struct shm_address {
    uint32_t version, pid;    /* pid 0: not known yet */
    uint64_t machine;         /* equal in processes that can share memory */
    unsigned char name[16];   /* of the abstract socket */
    unsigned char secret[16]; /* shown by callers, so that a stale name of a
                                 process that has ended is noticed */
};
_Static_assert(sizeof(struct shm_address) == 48, "no gaps");

/* A connection that does not yet belong to a peer. */
struct shm_conn {
    struct shm_watch watch;
    struct shm_conn *next;
    weft_ep *ep;
    weft_peer *peer; /* dialler: from the start; listener: after the proof */
    weft_auth *auth;
    uint32_t loc_id; /* the process that the handshake expects or has proved */
    bool dialled, proved;
    bool ask_again; /* READY came without its descriptors */
};

enum shm_state {
    SHM_IDLE,    /* no connection; the next send dials */
    SHM_WAITING, /* dials again at retry_at, or is called before */
    SHM_DIALLED, /* my call is being answered */
    SHM_CALLED,  /* their call is being answered; the segment exists */
    SHM_UP,
    SHM_DOWN
};

/* ---- connect.c: the handshake, up to the proof of identity ---- */

socklen_t wf_shm_socket_name(const struct shm_address *, struct sockaddr_un *);
/* The process that made the other end of a socket. */
struct shm_maker {
    pid_t pid; /* 0: in a namespace that is not seen from here */
    uid_t user;
};
/* Says whether that is one of the own user. */
bool wf_shm_same_user(int fd, struct shm_maker *);
/* Notes the number of the peer's process, which a derived address lacks. */
void wf_shm_note_pid(weft_peer *, const struct shm_maker *);
int wf_shm_watch_socket(weft_ep *, struct shm_watch *, uint32_t events);
/* Returns NULL without memory. The descriptor then stays the caller's. */
struct shm_conn *wf_shm_conn_new(weft_ep *, int fd, bool dialled);
/* Sends READY again because its descriptors did not reach the other side. */
void wf_shm_resend_ready(weft_peer *);
/* Asks diallers to repeat a READY whose descriptors could not be received. */
void wf_shm_request_ready(weft_ep *);
int wf_shm_poll_sockets(weft_ep *);
void wf_shm_hang_up(struct shm_conn *);
void wf_shm_free_dead_conns(weft_ep *);

/* ---- dial.c: the call, and when it is made again ---- */

/* Names the limit to raise, if this errno is a shortage of descriptors. */
const char *wf_shm_remedy_of(int err);
void wf_shm_dial(weft_peer *);
void wf_shm_dial_later(weft_peer *, uint64_t after_ns);
/* Dials again later. Returns false when calls have failed for too long. */
bool wf_shm_dial_again(weft_peer *);

/* ---- listen.c ---- */

int wf_shm_listen(weft_ep *); /* 0 or an errno */
int wf_shm_accept(weft_ep *);
void wf_shm_pause_accept(weft_ep *, const char *why);
void wf_shm_resume_accept(weft_ep *);
void wf_shm_stop_listening(weft_ep *);

/* ---- adopt.c: from the proof to the rings ---- */

void wf_shm_handle_proof(struct shm_conn *);
bool wf_shm_handle_setup(struct shm_conn *, const struct shm_message *,
                         int *fds);
bool wf_shm_handle_ready(struct shm_conn *, const struct shm_message *,
                         int *fds);
bool wf_shm_handle_refusal(struct shm_conn *, const struct shm_message *);
/* Ends the pair with the reason in this SHM_REFUSE, which the core is told. */
void wf_shm_report_refusal(weft_peer *, const struct shm_message *);
void wf_shm_refuse(struct shm_conn *, uint32_t code, const char *why);
/* Sends a refusal on a socket without a connection, which stays open. */
void wf_shm_refuse_on(int fd, uint32_t code, const char *why);
/* The SHM_REFUSE code of a shortage of this process. */
static inline enum shm_refusal wf_shm_shortage_code(int err)
{
    return wf_shm_shortage_status(err) == WEFT_ENOMEM ? SHM_NO_MEMORY
                                                      : SHM_NO_FILES;
}

#endif
