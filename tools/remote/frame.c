/* Frames between the two halves of weft-remote.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "remote.h"

enum { HEAD = 8 };

void remote_say(const char *fmt, ...)
{
    char text[1024];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    fprintf(stderr, "weft-remote: %s\n", text);
}

bool remote_write(int fd, const void *data, size_t n)
{
    const char *at = data;

    while (n) {
        ssize_t w = write(fd, at, n);
        if (w < 0 && errno != EINTR)
            return false;
        if (w > 0) {
            at += w;
            n -= (size_t)w;
        }
    }
    return true;
}

static bool read_all(int fd, char *to, size_t n)
{
    while (n) {
        ssize_t r = read(fd, to, n);
        if (r == 0 || (r < 0 && errno != EINTR))
            return false;
        if (r > 0) {
            to += r;
            n -= (size_t)r;
        }
    }
    return true;
}

uint32_t remote_number(const char *p)
{
    const unsigned char *b = (const unsigned char *)p;

    return b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 |
           (uint32_t)b[3] << 24;
}

bool remote_send(int fd, enum frame_type type, const void *data, size_t n)
{
    unsigned char head[HEAD] = {(unsigned char)type};

    for (int i = 0; i < 4; i++)
        head[4 + i] = (unsigned char)(n >> 8 * i);
    return n <= REMOTE_WORD && remote_write(fd, head, sizeof head) &&
           remote_write(fd, data, n);
}

bool remote_receive(int fd, struct frame *f)
{
    char head[HEAD];

    f->data = NULL;
    if (!read_all(fd, head, sizeof head))
        return false;
    f->type = (enum frame_type)(unsigned char)head[0];
    f->len = remote_number(head + 4);
    if (f->type > FRAME_LAST || f->len > REMOTE_WORD)
        return false;
    f->data = malloc((size_t)f->len + 1);
    if (!f->data || !read_all(fd, f->data, f->len)) {
        free(f->data);
        f->data = NULL;
        return false;
    }
    f->data[f->len] = '\0';
    return true;
}

bool remote_pass(int from, int to, enum frame_type type)
{
    char data[REMOTE_DATA];
    ssize_t n = read(from, data, sizeof data);
    bool sent;

    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return true;
    sent = remote_send(to, type, data, n > 0 ? (size_t)n : 0);
    if (type == FRAME_PMI && n > 0)
        explicit_bzero(data, (size_t)n); /* the job key passes here */
    return sent && n > 0;
}
