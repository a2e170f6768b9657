/* The client's end of the PMI-1 connection. It carries whole lines, and its
 * calls wait.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_PMI_CHANNEL_H
#define WF_PMI_CHANNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wf_pmi_channel {
    int fd;
    char *in;          /* bytes received */
    size_t have, room; /* filled and allocated bytes of in */
    size_t line;       /* bytes of the last line returned, or 0 */
    int error;         /* errno of the last WEFT_ESYS */
    int wait_ms;       /* how long a line is awaited; 0: for ever */
};

/* Open PMI_FD, or else connect to PMI_PORT=host:port. err holds a sentence on
 * failure. */
int wf_pmi_channel_open(struct wf_pmi_channel *, char *err, size_t err_len);
/* Make a channel of a descriptor, which it owns if the result is 0; else
 * WEFT_ENOMEM. */
int wf_pmi_channel_adopt(struct wf_pmi_channel *, int fd);
/* Send bytes that end with a newline. 0, WEFT_EPEER or WEFT_ESYS. */
int wf_pmi_channel_send(struct wf_pmi_channel *, const char *text, size_t n);
/* Wait for the next line: NUL-terminated without its newline, valid until the
 * next call. 0, WEFT_EPEER (closed), WEFT_EPROTO (the line is too long),
 * WEFT_EAGAIN (nothing has come for wait_ms), WEFT_ENOMEM or WEFT_ESYS. */
int wf_pmi_channel_line(struct wf_pmi_channel *, char **line);
/* Whether bytes that were read already follow the last line returned. */
static inline bool wf_pmi_channel_pending(const struct wf_pmi_channel *c)
{
    return c->have > c->line;
}
/* The process id of the other end, as this process sees it; 0: unknown. */
uint32_t wf_pmi_channel_peer(const struct wf_pmi_channel *);
void wf_pmi_channel_close(struct wf_pmi_channel *);

#endif
