/* The end of a process that cannot go on, told to the launcher.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "boot/abort.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "boot/boot.h"
#include "boot/fatal_message.h"
#include "process/rank.h"

void wf_abort(struct wf_instance *wf, int code, const char *fmt, ...)
{
    char text[1024];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text - 1, fmt, ap);
    va_end(ap);
    fflush(stdout);
    strcat(text, "\n");
    wf_boot_print_fatal(text, strlen(text));
    if (wf && wf->rank->boot)
        wf->rank->boot->ops->abort(wf->rank->boot, code, text);
    _exit(code & 0xff ? code & 0xff : code ? 1 : 0);
}
