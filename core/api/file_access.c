/* The body of the bindings that access files: see file_access.h.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "api/file_access.h"

struct asked {
    const char *name;
    MPI_File file;
    MPI_Offset offset;
    const void *buf;
    struct wf_file_elements elements;
    void *out;
    const struct wf_file_function *function;
};

/* Checks what is said of the memory and of the request. Returns MPI_SUCCESS, or
 * the result of the MPI function. */
static int check_arguments(struct wf_instance *wf, const struct asked *a,
                           struct wf_file_call *c)
{
    MPI_Count count = a->elements.count;
    struct wf_file *f = c->file;

    if (count < 0)
        return wf_bad_count(wf, f, a->name, "count", count);
    c->type = wf_api_find_type(a->elements.type);
    if (!wf_api_committed(c->type))
        return wf_bad_committed(wf, f, a->name, "datatype", a->elements.type);
    if (wf_api_is_special(a->buf) && wf_api_no_buffer(a->buf, count, c->type))
        return wf_bad_buffer(wf, f, a->name, "buf", a->buf, count);
    if (a->function->has_request && !a->out)
        return wf_bad_pointer(wf, f, a->name, "request");
    return MPI_SUCCESS;
}

static int perform_call(const struct asked *a)
{
    const struct wf_file_function *f = a->function;
    struct wf_instance *wf = wf_api_current();
    struct wf_file_call c = {.file = wf_file_of(a->file),
                             .pointer = f->pointer,
                             .offset = a->offset,
                             .buf = (void *)a->buf,
                             .count = a->elements.count,
                             .write = f->write};
    int rc;

    if (!wf)
        return wf_bad_phase(a->name);
    if (!c.file)
        return wf_bad_handle(wf, wf_file_null(wf), a->name, "fh", a->file,
                             WF_KIND_FILE);
    rc = check_arguments(wf, a, &c);
    if (rc)
        return f->refuse ? f->refuse(c.file, rc, f->waits) : rc;
    wf_call_name = a->name;
    wf = wf_file_engine(c.file);
    wf_api_lock(&wf->api);
    rc = f->perform(&c, f, a->out);
    rc = wf_api_end(wf, c.file, a->name, rc);
    if (rc && f->has_request)
        *(MPI_Request *)a->out = MPI_REQUEST_NULL;
    return rc;
}

static int time_call(const struct asked *a)
{
    if (wf_call_is_timed() && wf_call_begin())
        return wf_call_end(WF_CALL_OTHER, perform_call(a));
    return perform_call(a);
}

int wf_api_access(MPI_File fh, MPI_Offset offset, const void *buf,
                  struct wf_file_elements elements, void *out,
                  const struct wf_file_function *f)
{
    return time_call(
        &(struct asked){f->names[0], fh, offset, buf, elements, out, f});
}

int wf_api_access_large(MPI_File fh, MPI_Offset offset, const void *buf,
                        struct wf_file_elements elements, void *out,
                        const struct wf_file_function *f)
{
    return time_call(
        &(struct asked){f->names[1], fh, offset, buf, elements, out, f});
}
