/* Endpoints: the core's side of one opened transport instance.
 *
 * struct weft_core is what plugins see as an opaque pointer.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_ENDPOINT_H
#define WF_ENDPOINT_H

#include "base.h"
#include "route/config.h"

enum { WF_REFUSAL_MAX = 200 };

struct weft_core {
    struct wf_instance *wf;
    const weft_ops *ops;
    weft_ep *ep;
    int index;       /* bit in endpoint masks */
    bool fd_event;   /* sleeps through a descriptor in the master epoll */
    bool down;       /* ep_down was reported */
    bool armed;
    weft_attr attr;
    weft_event event;
    const weft_plugin *plugin;
    const struct wf_transport_config *config;
    void *cfg; /* the plugin's configuration struct */
    char *refusal; /* while open() or reach() runs: what the plugin logs */
    void *address;
    size_t address_len;
    /* containers and bytes that came in, for reports; lanes count what goes */
    uint64_t rx_count, rx_bytes;
};

/* Does what it carries pass through a network? On one host too, where it only
 * listens on loopback; memory of this machine does not. */
static inline bool wf_endpoint_network(const struct weft_core *c)
{
    return c->attr.caps & WEFT_CAP_REMOTE ||
           WEFT_HAS(c->ops, weft_ops, addr_parse);
}

/* Open every enabled transport of the configuration. A transport that is only
 * `auto` and cannot open is skipped with an info line. WEFT_EINVAL: options or
 * plugins named in the configuration are wrong; all of it has been printed. */
int wf_endpoints_open(struct wf_instance *);
/* What has passed through an endpoint is added; what has left is the sum over
 * lanes, and for pairs with failover over carriers. */
struct wf_traffic {
    unsigned long long sent, sent_bytes, received, received_bytes;
};
void wf_endpoint_traffic(const struct weft_core *, struct wf_traffic *);
/* The statistics of the rank, if it is to print any. */
void wf_endpoints_report(struct wf_instance *);
/* Close at once; whoever wants an orderly end drains first. */
void wf_endpoints_close(struct wf_instance *);
/* The table of services given to every plugin (core/adi/host.c). */
extern const weft_host wf_host;

/* Find a plugin by the rules of docs/writing-a-fabric.md: built-in table,
 * path=, WEFT_PLUGIN_PATH, [core] plugin_path, the installed lib/weft. err
 * holds a full message when NULL is returned, and errno is ENOMEM or
 * EMFILE if one could not be loaded for lack of that. Nothing of a file is executed
 * that is not trusted (docs/security.md). */
const weft_plugin *wf_plugin_find(const struct wf_config *,
                                  const struct wf_transport_config *, char *err,
                                  size_t err_len);
/* The same for a configuration that is only looked at, which may be anybody's:
 * a plugin that is neither built in nor part of the installation is found and
 * not loaded. Then NULL is returned, and *left names its file; free() it. */
const weft_plugin *wf_plugin_look(const struct wf_config *,
                                  const struct wf_transport_config *, char *err,
                                  size_t err_len, char **left);
/* Every plugin that the configuration names can be found, and its options are
 * right; else a line each to errors. Returns how many. */
int wf_plugins_check(struct wf_config *, FILE *errors);
/* 0, or WEFT_EINVAL with the reason in err. `from` is the file or "built in". */
int wf_plugin_check(const weft_plugin *, const char *name, const char *from,
                    char *err, size_t err_len);

/* The built-in plugins, NULL-terminated; generated. */
extern const weft_plugin *const weft_builtin[];
/* dlopen lives alone in core/adi/dl.c; NULL in programs without it. */
struct weft_dl {
    /* Takes the descriptor, which wf_trust_open() has judged; `file` names it
     * for messages and is loaded where there is no /proc. */
    const weft_plugin *(*load)(int fd, const char *file, const char *symbol,
                               char *err, size_t err_len);
    /* The directory of libmpi_abi.so; NULL in a program that contains it. */
    const char *(*library_dir)(void);
    /* In such a program, the file of a library that defines MPI_Init, which
     * nobody calls; or NULL. */
    const char *(*unused_tool)(void);
};
extern const struct weft_dl weft_dl_loader __attribute__((weak));

#endif
