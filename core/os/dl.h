/* Loading plugins from files, and the table of those that are built in.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_OS_DL_H
#define WF_OS_DL_H

#include <stddef.h>

#include "weft_transport.h"

/* The built-in plugins, NULL-terminated; generated at build time. */
extern const weft_plugin *const weft_builtin[];
/* The plugin loader. dlopen is used only in core/os/dl.c; the address of
 * weft_dl_loader is NULL in programs without that file. */
struct weft_dl {
    /* Load a plugin and return the address of its symbol. The descriptor, which
     * wf_trust_open() has checked, is closed, or kept while the plugin is
     * loaded. `file` names it for messages and is loaded where there is no
     * /proc. If NULL is returned, errno is ENOEXEC for a file of another kind
     * of machine, else another. */
    const void *(*load)(int fd, const char *file, const char *symbol, char *err,
                        size_t err_len);
    /* The directory of libmpi_abi.so; NULL in a program that contains it. */
    const char *(*library_dir)(void);
    /* In such a program, the file of a library that defines MPI_Init too, as
     * a tool that wraps MPI does, and that is not called; or NULL. */
    const char *(*unused_tool)(void);
};
extern const struct weft_dl weft_dl_loader __attribute__((weak));

#endif
