/* weft-remote: a rank on another host, by a remote shell.
 *
 *   mpirun                         host A     |     host B
 *     |  fork, exec                           |
 *   near  == frames over pipes == ssh ========|== sshd == shell == far
 *     | PMI socket, stdin, stdout, stderr     |       the same four | fork
 *   mpirun                                    |                   program
 *
 * mpirun starts near as it would start the rank (--launcher-exec). near starts
 * the remote shell with one word, a command that starts far, and tells it the
 * rest in frames: so no shell sees a word of the program, and neither the
 * environment nor the arguments of a process show what travels. The job key is
 * asked for by the program through its PMI line, like under mpirun itself.
 *
 *   frame   type, three zero bytes, length (little-endian), payload
 *   near ->  ENV* DIR ARG+ GO, then IN PMI SIGNAL STATE, and OUT or ERR, empty,
 *            when what the program writes there cannot be passed on
 *   far  ->  greeting (a line; what came before it was the shell's), then
 *            OUT ERR PMI MORE STATE, at last END
 *
 * STATE without bytes asks what the rank waits for; the answer is its state page
 * (core/progress/state_page.h), which far makes for the program and near copies
 * into the one that mpirun has made.
 *
 * INVARIANTS  IN goes only after MORE, so that nothing has to be stored for a
 * program that does not read. When the connection ends, far kills the program.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_REMOTE_H
#define WF_REMOTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    REMOTE_DATA = 16 << 10, /* most bytes of a frame that carries a stream */
    REMOTE_WORD = 1 << 20,  /* of any other */
    STATUS_BAD_USE = 2,
    STATUS_NOT_EXECUTABLE = 126,
    STATUS_NOT_FOUND = 127,
    STATUS_LOST = 255
};

enum frame_type {
    FRAME_ENV = 1,
    FRAME_DIR,
    FRAME_ARG,
    FRAME_GO,
    FRAME_IN,     /* empty: its end, as of the next three */
    FRAME_PMI,
    FRAME_OUT,
    FRAME_ERR,
    FRAME_MORE,
    FRAME_SIGNAL, /* one byte */
    FRAME_END,    /* wait status, four bytes */
    FRAME_STATE,
    FRAME_LAST = FRAME_STATE
};

struct frame {
    enum frame_type type;
    uint32_t len;
    char *data; /* a zero byte follows it */
};

#define REMOTE_GREETING "weft-remote 2\n"

/* frame.c: everything blocks. False: the other side is gone, or talks
 * nonsense. */
bool remote_write(int fd, const void *data, size_t n);
bool remote_send(int fd, enum frame_type, const void *data, size_t n);
bool remote_receive(int fd, struct frame *); /* free data */
/* What one read gives goes as one frame. False: it was the end. */
bool remote_pass(int from, int to, enum frame_type);
uint32_t remote_number(const char *); /* four bytes, little-endian */
void remote_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

int remote_near(int argc, char **argv); /* near.c */
int remote_far(void);                   /* far.c */

#endif
