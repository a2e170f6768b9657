/* Finding a plugin by name, and refusing one that does not fit.
 *
 * The search goes through the built-in table (unless the section gives a path),
 * the path, the directories of WEFT_PLUGIN_PATH and of [core] plugin_path,
 * lib/weft of the installation of the library, and that of the launcher. No
 * directory is scanned; only named plugins are looked for.
 *
 * INVARIANT  Only descriptors of wf_trust_open() are loaded.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "adi/loader.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config/config.h"
#include "config/options.h"
#include "os/dl.h"
#include "os/library.h"
#include "os/trust.h"
#include "process/endpoint.h"

/* The state of a search. */
struct search {
    char symbol[96], name[64];
    char tried[2048]; /* the attempts, for the message */
    size_t used;
    bool there; /* a file ended the search that cannot be used */
    const weft_plugin *found;
    char **left; /* receives the name of a file instead of loading it; NULL */
    int lack;    /* ENOMEM or EMFILE: why a file could not be loaded */
};

static void note_attempt(struct search *s, const char *what, const char *why)
{
    size_t len = strlen(what);
    int n;

    if (strncmp(why, what, len) == 0 && strncmp(why + len, ": ", 2) == 0)
        why += len + 2; /* the reason begins with the name already */
    if (strstr(why, strerror(ENOMEM)))
        s->lack = ENOMEM;
    else if (strstr(why, strerror(EMFILE)))
        s->lack = EMFILE;
    n = snprintf(s->tried + s->used, sizeof s->tried - s->used,
                 "; tried %s: %s", what, why);
    if (n > 0 && s->used + (size_t)n < sizeof s->tried)
        s->used += (size_t)n;
}

/* Copy a name with "_" for "-": "udp-reliable" and "udp_reliable" are equal. */
static void copy_canonical(char *out, size_t n, const char *name)
{
    snprintf(out, n, "%s", name);
    for (; *out; out++)
        if (*out == '-')
            *out = '_';
}

static bool is_same_name(const char *a, const char *b)
{
    char x[64], y[64];

    copy_canonical(x, sizeof x, a);
    copy_canonical(y, sizeof y, b);
    return strcmp(x, y) == 0;
}

static const weft_plugin *find_builtin(const char *name)
{
    for (const weft_plugin *const *p = weft_builtin; *p; p++)
        if (is_same_name((*p)->name, name))
            return *p;
    return NULL;
}

static int are_options_valid(const weft_plugin *p)
{
    for (const weft_option *o = p->options; o && o->name; o++)
        if (!o->dflt || o->type < WEFT_OPT_BOOL || o->type > WEFT_OPT_LIST ||
            o->offset >= p->cfg_size)
            return 0;
    return 1;
}

static const char *find_missing_op(const weft_ops *ops)
{
    if (!ops || ops->size < sizeof(weft_ops))
        return "the table of required operations";
    return !ops->open       ? "open"
           : !ops->close    ? "close"
           : !ops->attr     ? "attr"
           : !ops->address  ? "address"
           : !ops->reach    ? "reach"
           : !ops->peer_add ? "peer_add"
           : !ops->peer_del ? "peer_del"
           : !ops->send     ? "send"
           : !ops->progress ? "progress"
           : !ops->drain    ? "drain"
                            : NULL;
}

int wf_plugin_check(const weft_plugin *p, const char *name, const char *from,
                    char *err, size_t err_len)
{
    const char *op;

    if (p->magic != WEFT_MAGIC)
        snprintf(err, err_len, "%s: not a Weft transport (magic %08x)", from,
                 p->magic);
    else if (p->abi_major != WEFT_ABI_MAJOR)
        snprintf(err, err_len,
                 "%s: built for plugin ABI %u.%u, this library has %u.%u; "
                 "rebuild it with this weft_transport.h",
                 from, p->abi_major, p->abi_minor, WEFT_ABI_MAJOR,
                 WEFT_ABI_MINOR);
    else if (p->hdr_bytes != WEFT_HDR)
        snprintf(err, err_len,
                 "%s: carries headers of %u bytes, this library has %u; "
                 "rebuild it with this weft_transport.h",
                 from, p->hdr_bytes, WEFT_HDR);
    else if (p->size < sizeof(weft_plugin))
        snprintf(err, err_len, "%s: its plugin record is too short", from);
    else if (!p->name || !is_same_name(p->name, name))
        snprintf(err, err_len, "%s: is plugin '%s', not '%s'", from,
                 p->name ? p->name : "(unnamed)", name);
    else if ((op = find_missing_op(p->ops)))
        snprintf(err, err_len, "%s: operation '%s' is missing", from, op);
    else if (!are_options_valid(p))
        snprintf(err, err_len, "%s: its option table is damaged", from);
    else
        return 0;
    return WEFT_EINVAL;
}

int wf_plugin_check_caps(const weft_plugin *p, uint32_t caps, char *why,
                         size_t n)
{
    uint32_t unknown = caps & ~(uint32_t)WEFT_CAPS_KNOWN;

    if (!unknown)
        return 0;
    snprintf(why, n,
             "plugin '%s' (ABI %u.%u) declares capability bit %d, which this "
             "library (ABI %u.%u) does not know; use a plugin made for it",
             p->name, p->abi_major, p->abi_minor, __builtin_ctz(unknown),
             WEFT_ABI_MAJOR, WEFT_ABI_MINOR);
    return WEFT_EINVAL;
}

/* Load the file, or with s->left only name it. Returns the fault or NULL; errno
 * is ENOEXEC if the file is for another kind of machine. */
static const char *load_or_name(struct search *s, int fd, const char *file,
                                char *why, size_t n)
{
    const weft_plugin *p;

    if (s->left) {
        close(fd);
        *s->left = strdup(file);
        return NULL;
    }
    p = weft_dl_loader.load(fd, file, s->symbol, why, n);
    if (!p)
        return why;
    errno = 0;
    if (wf_plugin_check(p, s->name, file, why, n) != 0)
        return why;
    s->found = p;
    return NULL;
}

/* Try to load a file; true: the search ends. It ends at the first file that is
 * there, whether it can be used or not, for another file of the same name is
 * not the one that was meant. Directories of several kinds of machines may
 * stand in one list. */
static bool try_file(struct search *s, const char *file)
{
    char why[WF_TRUST_WHY_MAX] = "";
    int fd = wf_trust_open(file, why, sizeof why);
    const char *fault = why;
    bool foreign = false;

    if (fd >= 0) {
        fault = load_or_name(s, fd, file, why, sizeof why);
        foreign = fault && errno == ENOEXEC;
    }
    if (!fault)
        return true;
    note_attempt(s, file, fault);
    s->there = fd != WF_TRUST_ABSENT && !foreign;
    return s->there;
}

static bool try_dirs(struct search *s, const char *dirs)
{
    char file[PATH_MAX];

    while (dirs && *dirs) {
        size_t n = strcspn(dirs, ":");
        snprintf(file, sizeof file, "%.*s/weft_%s.so", (int)n, dirs, s->name);
        if (n && *dirs != '/')
            note_attempt(s, file,
                         "the directory is relative; write an absolute one");
        else if (n && try_file(s, file))
            return true;
        dirs += n + (dirs[n] == ':');
    }
    return false;
}

/* Try the installation of the library, then that of the mpirun or weft-info
 * which started the process. */
static bool try_installed(struct search *s)
{
    const char *lib = wf_library_dir();
    const char *launcher = wf_trust_getenv("WEFT_LAUNCHER_PLUGINS");
    char **left = s->left, dir[PATH_MAX] = "";
    bool done;

    s->left = NULL;
    if (lib)
        snprintf(dir, sizeof dir, "%s/weft", lib);
    if (launcher && strcmp(launcher, dir) == 0)
        launcher = NULL;
    done = try_dirs(s, dir) || try_dirs(s, launcher);
    s->left = left;
    return done;
}

static bool try_named(struct search *s, const struct wf_config *config,
                      const struct wf_transport_config *t)
{
    if (t->path && *t->path != '/')
        note_attempt(s, t->path, "the path is relative; write an absolute one");
    else if (t->path)
        try_file(s, t->path);
    return t->path || try_dirs(s, wf_trust_getenv("WEFT_PLUGIN_PATH")) ||
           try_dirs(s, wf_config_core(config)->plugin_path);
}

/* List the transports in the program, each after a blank. */
static void list_builtin(char *text, size_t n)
{
    size_t used = 0;

    for (const weft_plugin *const *b = weft_builtin; *b && used < n; b++)
        used += (size_t)snprintf(text + used, n - used, " %s", (*b)->name);
}

/* Describe the end of a search that found nothing. */
static void describe_failure(const struct search *s,
                             const struct wf_transport_config *t, char *err,
                             size_t err_len)
{
    char builtin[512] = "";

    if (!&weft_dl_loader) {
        list_builtin(builtin, sizeof builtin);
        snprintf(err, err_len,
                 "%s: plugin '%s' of transport '%s' is not built in and this "
                 "program has no plugin loader; link with mpicc or add "
                 "-Wl,-u,weft_dl_loader, or link it with a table that names "
                 "the plugin (weft-info --table); built in:%s",
                 t->where, t->plugin, t->name, builtin);
    } else if (!wf_trust_caller()) {
        snprintf(err, err_len,
                 "%s: the plugin of this transport cannot be loaded; a "
                 "set-user-ID program does not show why",
                 t->where);
    } else {
        snprintf(err, err_len, "%s: plugin '%s' of transport '%s' %s%s",
                 t->where, t->plugin, t->name,
                 t->path || s->there ? "cannot be loaded" : "was not found",
                 s->tried);
    }
}

const weft_plugin *wf_plugin_find_or_name(const struct wf_config *config,
                                  const struct wf_transport_config *t,
                                  char *err, size_t err_len, char **left)
{
    struct search s = {.left = left};
    const weft_plugin *p = t->path ? NULL : find_builtin(t->plugin);

    errno = 0;
    if (p)
        return wf_plugin_check(p, t->plugin, "built in", err, err_len) ? NULL
                                                                       : p;
    copy_canonical(s.name, sizeof s.name, t->plugin);
    snprintf(s.symbol, sizeof s.symbol, "weft_plugin_%d_%s", WEFT_ABI_MAJOR,
             s.name);
    if (&weft_dl_loader && !try_named(&s, config, t))
        try_installed(&s);
    if (!s.found && (!left || !*left))
        describe_failure(&s, t, err, err_len);
    errno = s.lack;
    return s.found;
}

const weft_plugin *wf_plugin_find(const struct wf_config *config,
                                  const struct wf_transport_config *t,
                                  char *err, size_t err_len)
{
    return wf_plugin_find_or_name(config, t, err, err_len, NULL);
}

static int check_transport(struct wf_config *config,
                           const struct wf_transport_config *t, FILE *errors)
{
    char err[2048];
    const weft_plugin *p = wf_plugin_find(config, t, err, sizeof err);
    void *cfg = p ? calloc(1, p->cfg_size ? p->cfg_size : 1) : NULL;
    int bad = 1;

    if (cfg)
        bad = wf_config_plugin(config, t, p, cfg, errors);
    else
        fprintf(errors, "%s\n", p ? "out of memory" : err);
    free(cfg);
    return bad;
}

int wf_plugins_check(struct wf_config *config, FILE *errors)
{
    const struct wf_transport_config *t;
    int n = wf_config_transports(config, &t), bad = 0;

    for (int i = 0; i < n; i++)
        if (t[i].enable != 0)
            bad += check_transport(config, &t[i], errors);
    return bad;
}
