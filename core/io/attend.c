/* Waiting for others in calls on files, and the progress thread's help.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "io/attend.h"

#include "io/file.h"
#include "progress/wait.h"
#include "protocol/failure.h"
#include "protocol/helper.h"

void wf_file_await(struct wf_file *f, struct weft_loc *watched,
                   bool (*done)(void *), void *arg)
{
    struct wf_flag_wait watch = {.loc = watched};

    if (watched)
        wf_flag_wait_begin(f->wf, &watch);
    wf_progress_wait(f->wf, UINT32_MAX, done, arg, NULL);
    if (watched)
        wf_flag_wait_end(f->wf, &watch);
}

bool wf_io_attend(struct wf_instance *wf)
{
    return wf_helper_attend(wf);
}

void wf_io_stop_attending(struct wf_instance *wf)
{
    wf_helper_stop_attending(wf);
}
