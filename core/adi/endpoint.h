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

/* Open every enabled transport of the configuration. A transport with enable =
 * auto that cannot open is skipped with an info line. WEFT_EINVAL: options or
 * plugins named in the configuration are wrong; all of it has been printed. */
int wf_endpoints_open(struct wf_instance *);
/* Counts of containers and of their payload. */
struct wf_traffic {
    unsigned long long sent, sent_bytes, received, received_bytes;
};
/* Add the traffic of an endpoint. Its sent counts are the sums over its lanes,
 * or over the carriers of pairs with failover. */
void wf_endpoint_traffic(const struct weft_core *, struct wf_traffic *);
/* Print the traffic of the rank to stderr if core.stats is set. */
void wf_endpoints_report(struct wf_instance *);
/* Close all endpoints at once; for an orderly end drain them first. */
void wf_endpoints_close(struct wf_instance *);
/* The tables of services given to every plugin (core/protocol/host.c); the
 * second one to those of ranks with a trace. */
extern const weft_host wf_host, wf_host_traced;

/* Find a plugin by the rules of docs/transport-guide.md: built-in table,
 * path=, WEFT_PLUGIN_PATH, [core] plugin_path, the installed lib/weft. When
 * NULL is returned, err holds a full message, and errno is ENOMEM or EMFILE if
 * the plugin could not be loaded for that reason. A file that is not trusted
 * is not executed (docs/user/security.md). */
const weft_plugin *wf_plugin_find(const struct wf_config *,
                                  const struct wf_transport_config *, char *err,
                                  size_t err_len);
/* Find a plugin for a configuration that is only inspected and need not be
 * trusted: a plugin that is neither built in nor part of the installation is
 * found and not loaded. Then NULL is returned, and *left names its file; free()
 * it. */
const weft_plugin *wf_plugin_find_or_name(const struct wf_config *,
                                  const struct wf_transport_config *, char *err,
                                  size_t err_len, char **left);
/* Check that every plugin that the configuration names can be found and that
 * its options are right. Errors are printed, a line each; returns their
 * number. */
int wf_plugins_check(struct wf_config *, FILE *errors);
/* Check that a plugin fits this library and has this name. 0, or WEFT_EINVAL
 * with the reason in err. `from` is its file or "built in". */
int wf_plugin_check(const weft_plugin *, const char *name, const char *from,
                    char *err, size_t err_len);

/* Check that the core knows every capability that a plugin declares: one that
 * it does not know it could not honour. 0, or WEFT_EINVAL with the reason. */
int wf_plugin_check_caps(const weft_plugin *, uint32_t caps, char *why,
                         size_t n);

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
