/* How files use the progress engine: the one file of the chapter that sees it.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "io/wait.h"

#include "io/file.h"
#include "progress/wait.h"
#include "protocol/helper.h"
#include "protocol/helper_requests.h"

void wf_file_wait(const struct wf_file *f, uint32_t mask, bool (*done)(void *),
                  void *arg)
{
    wf_progress_wait(f->wf, mask, done, arg, NULL);
}

void wf_file_wait_at_end(const struct wf_file *f, bool (*done)(void *),
                         void *arg)
{
    wf_progress_poll_at_end(f->wf, done, arg);
}

bool wf_file_attend(struct wf_instance *wf)
{
    return wf_helper_attend(wf);
}

void wf_file_stop_attending(struct wf_instance *wf)
{
    wf_helper_stop_attending(wf);
}
