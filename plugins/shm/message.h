/* The messages on the socket of a pair: their form, sending and receiving.
 *
 *   message   magic 4, type 2, length of the body 2, body
 *
 *   HELLO     secret of the called (struct shm_address), step of the handshake
 *   AUTH      step of the handshake
 *   SETUP, READY          struct shm_setup
 *   REFUSE                code 4, reason as text
 *   WANT, MEMORY, FORGET  struct shm_area_message
 *   REPEAT                nothing
 *
 * Both sides run on one machine, so numbers have its byte order.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_SHM_MESSAGE_H
#define WF_SHM_MESSAGE_H

#include "layout.h"

/* The types of the messages on the socket of a pair. The first ones come before
 * the rings exist. */
enum shm_message_type {
    SHM_HELLO = 1, /* secret of the called, first step of the key handshake */
    SHM_AUTH,      /* further steps */
    SHM_SETUP,     /* listener: segment, page, bell */
    SHM_READY,     /* dialler: page, bell */
    SHM_REFUSE,    /* listener: code, reason */
    SHM_WANT,      /* once the rings exist: memory.c */
    SHM_MEMORY,
    SHM_FORGET,
    SHM_REPEAT /* listener: READY came without its descriptors */
};
enum { SHM_MESSAGE_MAGIC = 0x316d6873, SHM_BODY = 256, SHM_FDS = 3 };
enum { SHM_BARRIER = 1 }; /* bit of shm_setup.flags: I sleep with membarrier */

struct shm_message {
    uint32_t magic;
    uint16_t type, len;
    unsigned char body[SHM_BODY];
};

struct shm_setup {
    struct shm_geometry geometry; /* SETUP only */
    uint32_t byte;                /* the other side's in my page */
    uint32_t flags;
};

/* The codes of SHM_REFUSE: what the caller should do, or why it was refused. */
enum shm_refusal {
    SHM_CROSSED,  /* wait: my own call to you stands */
    SHM_LATER,    /* dial again */
    SHM_NEVER,    /* give up; a reason follows */
    SHM_NO_FILES, /* dial again for a while: I have no descriptor */
    SHM_NO_MEMORY /* dial again for a while: I have no memory */
};

/* The body of SHM_WANT, SHM_MEMORY and SHM_FORGET. */
struct shm_area_message {
    uint64_t id;
    uint64_t at, bytes; /* SHM_MEMORY only: address in the owner, size */
};

/* Both sides may come from builds of different compilers. */
_Static_assert(sizeof(struct shm_message) == 8 + SHM_BODY, "no gaps");
_Static_assert(sizeof(struct shm_setup) == 24, "no gaps");
_Static_assert(sizeof(struct shm_area_message) == 24, "no gaps");

int wf_shm_message_send(int fd, unsigned type, const void *body, size_t len,
                        const int *fds, int fds_n);
int wf_shm_message_receive(int fd, struct shm_message *, int *fds);

#endif
