/* Endpoints: the core's side of one opened transport instance, and the search
 * for plugins.
 *
 * Plugins see struct weft_core as an opaque pointer.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_ENDPOINT_H
#define WF_ENDPOINT_H

#include "base.h"
#include "config/config.h"

enum { WF_REFUSAL_MAX = 200 };

struct weft_core {
    struct wf_instance *wf;
    const weft_ops *ops;
    weft_ep *ep;
    int index;     /* number of its bit in masks of endpoints */
    bool fd_event; /* its descriptor in the master epoll wakes a sleeper */
    bool armed;
    weft_attr attr;
    int event_fd;  /* readable when it has news; -1: it has none */
    const weft_plugin *plugin;
    const struct wf_transport_config *config;
    void *cfg;     /* the plugin's configuration struct */
    char *refusal; /* receives what the plugin logs in open() or reach() */
    void *address;
    size_t address_len;
    /* Containers and bytes received, for reports; lanes count those sent. */
    uint64_t rx_count, rx_bytes;
};

/* Whether it is a network rather than memory of this machine. It is also on one
 * host, where it listens on loopback only. */
static inline bool wf_endpoint_is_network(const struct weft_core *c)
{
    return c->attr.caps & WEFT_CAP_REMOTE ||
           WEFT_HAS(c->ops, weft_ops, addr_parse);
}

/* Counts of containers and of their payload. */
struct wf_traffic {
    unsigned long long sent, sent_bytes, received, received_bytes;
};
/* The tables of services given to every plugin (core/protocol/host.c); the
 * second one to those of ranks with a trace. */
extern const weft_host wf_host, wf_host_traced;

/* The built-in plugins, NULL-terminated; generated at build time. */
extern const weft_plugin *const weft_builtin[];
/* The plugin loader. dlopen is used only in core/os/dl.c; the address of
 * weft_dl_loader is NULL in programs without that file. */
struct weft_dl {
    /* Load a plugin and close the descriptor, which wf_trust_open() has
     * checked, or keep it while the plugin is loaded. `file` names it for
     * messages and is loaded where there is no /proc. */
    const weft_plugin *(*load)(int fd, const char *file, const char *symbol,
                               char *err, size_t err_len);
    /* The directory of libmpi_abi.so; NULL in a program that contains it. */
    const char *(*library_dir)(void);
    /* In such a program, the file of a library that defines MPI_Init too, as
     * a tool that wraps MPI does, and that is not called; or NULL. */
    const char *(*unused_tool)(void);
};
extern const struct weft_dl weft_dl_loader __attribute__((weak));

#endif
