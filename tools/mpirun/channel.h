/* A channel connects an agent with the process that started it: it carries
 * frames over two descriptors, which never block.
 *
 *   type 1 | 3 zero bytes | node 4 | rank 4 | length 4 | payload | newline
 *
 * Numbers are little-endian. The newline makes a frame consist of whole lines,
 * because some commands that start agents pass output on by lines (srun).
 * `node` is the host that the frame is for or from, or WF_NODE_ALL for all
 * hosts of a subtree; `rank` is the index of a process in the job.
 * docs/internals/launching.md has the meaning of each type.
 *
 * INVARIANTS  A frame is foreign bytes: its length is bounded here, and its
 * receiver checks the rest. Buffers are wiped when their bytes have been sent
 * or taken, because the job key passes through them.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_MPIRUN_CHANNEL_H
#define WF_MPIRUN_CHANNEL_H

#include "event_source.h"

enum frame_type {
    FRAME_LAUNCH = 1,
    FRAME_STARTED,
    FRAME_FAILED,
    FRAME_PMI,
    FRAME_OUT,
    FRAME_ERR,
    FRAME_IN,
    FRAME_MORE,
    FRAME_SHUT,
    FRAME_SIGNAL,
    FRAME_ASK,
    FRAME_STATE,
    FRAME_ENDED,
    FRAME_SETTLE,
    FRAME_SETTLED,
    FRAME_PING,
    FRAME_PONG,
    FRAME_LOST,
    FRAME_NAME, /* between launchers of one mpirun: child_job.h */
    FRAME_FORGET,
    FRAME_LAST = FRAME_FORGET
};

enum {
    WF_NODE_ALL = -1,
    FRAME_HEAD = 16,
    FRAME_TAIL = 1,
    FRAME_DATA = 16 << 10, /* most bytes of a stream in one frame */
    FRAME_MOST = 64 << 20, /* of any frame */
    /* The bytes of a stream that may be under way before FRAME_MORE allows
     * more. */
    STREAM_WINDOW = 256 << 10
};

struct frame {
    enum frame_type type;
    int node, rank;
    size_t len;
    char *data;
};

struct bytes {
    char *data;
    size_t at, end, room; /* data[at..end) is there */
};

struct channel {
    struct event_source in, out;
    /* Called with the bytes before the first frame; returns true when it has
     * taken the greeting out of them. NULL: everything is frames. */
    bool (*greet)(struct job *, struct channel *, struct bytes *);
    void (*take)(struct job *, struct channel *, struct frame *);
    /* Called at the end of the input (why: NULL), or with what is wrong with
     * it. */
    void (*ended)(struct job *, struct channel *, const char *why);
    struct bytes got, left;
    bool armed;
};

/* Open a channel that owns both descriptors. Returns 0, or -1 and errno. */
int wf_channel_open(struct job *, struct channel *, int in, int out);
void wf_channel_send(struct job *, struct channel *, enum frame_type, int node,
                     int rank, const void *data, size_t n);
/* Send nothing more; what was sent before still arrives. */
void wf_channel_finish(struct job *, struct channel *);
/* Handle everything that can be read now. */
void wf_channel_drain(struct job *, struct channel *);
void wf_channel_close(struct job *, struct channel *);

/* Take n bytes out, wiping them. */
void wf_bytes_take(struct bytes *, size_t n);
/* Make room for n bytes more; returns false without memory. */
bool wf_bytes_grow(struct bytes *, size_t n);
void wf_bytes_free(struct bytes *);

uint32_t wf_number_read(const char *);
void wf_number_write(char *, uint32_t);

#endif
