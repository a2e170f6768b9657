/* The body of the bindings that end split collective accesses: see
 * file_access.h.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "api/file_access.h"
#include "io/collective.h"

int wf_api_end_split(MPI_File fh, MPI_Status *status, const char *name,
                     enum wf_split which)
{
    struct wf_instance *wf = wf_api_current();
    struct wf_file *f = wf_file_of(fh);

    if (wf_call_is_timed() && wf_call_begin())
        return wf_call_end(WF_CALL_OTHER,
                           wf_api_end_split(fh, status, name, which));
    if (!wf)
        return wf_bad_phase(name);
    if (!f)
        return wf_bad_handle(wf, wf_file_null(wf), name, "fh", fh,
                             WF_KIND_FILE);
    wf_call_name = name;
    wf = wf_file_engine(f);
    wf_api_lock(&wf->api);
    return wf_api_end(wf, f, name, wf_file_end_split(f, which, status));
}
