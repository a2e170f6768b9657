/* Nonblocking collective accesses: a request over the stages of twophase.h.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "io/start_collective.h"

#include <stdlib.h>

#include "io/file.h"
#include "io/started.h"
#include "io/twophase.h"
#include "object/error.h"

struct collective {
    struct wf_twophase stages;
    struct wf_started *started;
};

static void end_collective(struct wf_twophase *t)
{
    struct collective *c = wf_container(t, struct collective, stages);
    struct wf_started *s = c->started;

    wf_started_record(s, wf_twophase_raise(t, s->file));
    s->access.bytes_done = t->access.bytes_done;
    wf_twophase_fini(t);
    free(c);
    wf_started_complete(s);
}

/* Begins the stages. */
static int begin_stages(struct wf_started *s, int rc)
{
    struct collective *c = calloc(1, sizeof *c);

    if (!c)
        return wf_error(MPI_ERR_NO_MEM, "no memory for a collective access");
    c->started = s;
    c->stages.ended = end_collective;
    rc = wf_twophase_start(&c->stages, s->file,
                           s->has_access ? &s->access : NULL, rc);
    if (rc)
        free(c);
    return rc;
}

int wf_file_start_collective(struct wf_file *f, const struct wf_access *a,
                             int rc, const char *what, struct wf_req **out)
{
    struct wf_started *s = wf_started_create(f, rc ? NULL : a, what);

    if (!s)
        return MPI_ERR_NO_MEM;
    *out = s->req;
    if (f->comm->size == 1) {
        wf_started_record(s, rc);
        wf_started_begin(s);
        return MPI_SUCCESS;
    }
    rc = begin_stages(s, rc);
    if (rc)
        wf_started_discard(s);
    return rc;
}
