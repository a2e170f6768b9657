/* The body of the bindings that access files: see file_access.h.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "api/file_access.h"

struct asked {
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
    const char *name = a->function->name;
    MPI_Count count = a->elements.count;
    struct wf_file *f = c->file;

    if (count < 0)
        return wf_bad_count(wf, f, name, "count", count);
    c->type = wf_api_find_type(a->elements.type);
    if (!wf_api_committed(c->type))
        return wf_bad_committed(wf, f, name, "datatype", a->elements.type);
    if (wf_api_is_special(a->buf) && wf_api_no_buffer(a->buf, count, c->type))
        return wf_bad_buffer(wf, f, name, "buf", a->buf, count);
    if (a->function->has_request && !a->out)
        return wf_bad_pointer(wf, f, name, "request");
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
        return wf_bad_phase(f->name);
    if (!c.file)
        return wf_bad_handle(wf, wf_file_null(wf), f->name, "fh", a->file,
                             WF_KIND_FILE);
    rc = check_arguments(wf, a, &c);
    if (rc)
        return f->refuse ? f->refuse(c.file, rc, f->waits) : rc;
    wf_call_name = f->name;
    wf = wf_file_engine(c.file);
    wf_api_lock(&wf->api);
    rc = f->perform(&c, f, a->out);
    rc = wf_api_end(wf, c.file, f->name, rc);
    if (rc && f->has_request)
        *(MPI_Request *)a->out = MPI_REQUEST_NULL;
    return rc;
}

int wf_api_access(MPI_File fh, MPI_Offset offset, const void *buf,
                  struct wf_file_elements elements, void *out,
                  const struct wf_file_function *f)
{
    const struct asked a = {fh, offset, buf, elements, out, f};

    if (wf_call_is_timed() && wf_call_begin())
        return wf_call_end(WF_CALL_OTHER, perform_call(&a));
    return perform_call(&a);
}

int wf_api_access_large(MPI_File fh, MPI_Offset offset, const void *buf,
                        struct wf_file_elements elements, void *out,
                        const struct wf_file_function *f)
{
    int rc;

    wf_call_now.large = true;
    rc = wf_api_access(fh, offset, buf, elements, out, f);
    wf_call_now.large = false;
    return rc;
}
