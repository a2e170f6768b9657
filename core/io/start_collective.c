/* Nonblocking collective accesses: a request over the stages of twophase.h.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "io/start_collective.h"

#include "io/file.h"
#include "io/started.h"
#include "io/twophase.h"
#include "object/error.h"

static void end_collective(struct wf_twophase *t)
{
    struct wf_file *f = t->file;
    struct wf_started *s = t->started;
    uint64_t bytes_done = t->access.bytes_done;
    int rc = wf_twophase_end(t);

    if (!s) {
        f->under_way--;
        return;
    }
    wf_started_record(s, rc);
    s->access.bytes_done = bytes_done;
    wf_started_complete(s);
}

/* Starts the part of this member; s == NULL, or rc: it only takes part. */
static void start_member(struct wf_file *f, struct wf_started *s, int rc)
{
    struct wf_twophase *t = wf_twophase_take(f);

    t->ended = end_collective;
    t->started = s;
    if (!s)
        f->under_way++;
    wf_twophase_start(t, s ? &s->access : NULL, rc);
}

int wf_file_start_collective(struct wf_file *f, const struct wf_access *a,
                             int rc, const char *what, struct wf_req **out)
{
    struct wf_started *s = rc ? NULL : wf_started_create(f, a, what);

    if (s)
        *out = s->req;
    else if (!rc)
        rc = MPI_ERR_NO_MEM;
    if (f->comm->size > 1)
        start_member(f, s, rc);
    else if (s)
        wf_started_begin(s);
    return rc;
}
