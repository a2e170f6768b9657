/* The shared-memory transport: its options, endpoints and keys.
 *
 * README.md has the picture and the reasons.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _GNU_SOURCE
#include "shm.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ADDRESS_VERSION = 6 };

static const weft_option options[] = {
    {"ring", WEFT_OPT_INT, offsetof(struct shm_config, ring), "256", "16..4096",
     "slots of 64 bytes per peer and direction, a power of two, once 16 are "
     "full"},
    {"cell", WEFT_OPT_SIZE, offsetof(struct shm_config, cell), "16K", "4K..1M",
     "bytes per peer and direction for payloads up to a quarter of it"},
    {"chunk", WEFT_OPT_SIZE, offsetof(struct shm_config, chunk), "16K",
     "4K..1M", "bytes in which large payloads move"},
    {"chunks", WEFT_OPT_INT, offsetof(struct shm_config, chunks), "0", "0..256",
     "chunks per peer and direction at most, of which four come first; 0: "
     "twice the second-level cache, less where ranks are many"},
    {"cma", WEFT_OPT_ENUM, offsetof(struct shm_config, cma), "auto",
     "auto|no|yes",
     "process_vm_readv and _writev: auto: messages from 4M on, by the side "
     "that waits while the other computes, and all from 1M on where the first "
     "ones were faster that way, and by the receiver all that are not eager "
     "where more than four ranks share a CPU; yes: the receiver reads all from "
     "1M on"},
    {"ptracer", WEFT_OPT_ENUM, offsetof(struct shm_config, ptracer), "job",
     "job|any|no",
     "for cma where kernel.yama.ptrace_scope is 1: who may reach this process' "
     "memory: job: what its launcher has started; any: any process of the "
     "user"},
    {"eager", WEFT_OPT_SIZE, offsetof(struct shm_config, eager), "64K",
     "0..16M", "messages up to this size are sent without asking first"},
    {0}};

/* ---- the processes that can share memory -------------------------------- */

static uint64_t hash_bytes(uint64_t h, const void *data, size_t n)
{
    const unsigned char *b = data;
    for (size_t i = 0; i < n; i++)
        h = (h ^ b[i]) * 0x100000001b3u; /* FNV-1a */
    return h;
}

/* Hashes what processes that can share memory have in common: the kernel, the
 * namespace of socket names, the user, and the node number of the core (mpirun
 * --nodes makes several of one). Returns false if the boot id cannot be read
 * for a shortage of this process. */
static bool hash_machine(uint32_t node_id, uint64_t *id)
{
    char boot[64] = "";
    struct stat net;
    memset(&net, 0, sizeof net);
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    if (fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOMEM))
        return false; /* others can open it: their hash would differ */
    if (fd < 0 || read(fd, boot, sizeof boot - 1) <= 0)
        gethostname(boot, sizeof boot - 1);
    if (fd >= 0)
        close(fd);
    (void)!stat("/proc/self/ns/net", &net);
    uint64_t parts[4] = {net.st_dev, net.st_ino, geteuid(), node_id};
    uint64_t h = hash_bytes(0xcbf29ce484222325u, boot, strlen(boot));
    *id = hash_bytes(h, parts, sizeof parts);
    return true;
}

static bool fill_random(void *to, size_t n)
{
    ssize_t got;
    do {
        got = getrandom(to, n, 0);
    } while (got < 0 && errno == EINTR);
    return got == (ssize_t)n;
}

static const void *seed_of(const weft_open *o)
{
    return WEFT_HAS(o, weft_open, seed) ? o->seed : NULL;
}

/* Makes name and secret of a seed. The name can be seen by everybody, once the
 * socket is there, and does not tell the secret. */
static void take_seed(struct shm_address *a, const void *seed)
{
    _Static_assert(sizeof a->name + sizeof a->secret == WEFT_SEED, "all of it");
    memcpy(a->name, seed, sizeof a->name);
    memcpy(a->secret, (const char *)seed + sizeof a->name, sizeof a->secret);
}

/* Makes the address of an endpoint. Returns 0 or an errno. */
static int make_address(weft_ep *ep, const weft_open *o)
{
    struct shm_address *a = &ep->address;
    a->version = ADDRESS_VERSION;
    if (!hash_machine(o->node_id, &a->machine))
        return errno;
    if (seed_of(o)) {
        take_seed(a, seed_of(o));
        return 0;
    }
    a->pid = (uint32_t)getpid();
    if (!fill_random(a->name, sizeof a->name) ||
        !fill_random(a->secret, sizeof a->secret))
        return errno;
    return 0;
}

/* Makes the address of a process of this host that has told nothing. */
static int derive_address(weft_ep *ep, uint32_t loc_id, const void *seed,
                          void *buf, size_t *len)
{
    struct shm_address a = {.version = ADDRESS_VERSION,
                            .machine = ep->address.machine};
    (void)loc_id; /* the seed is that of one process */
    if (*len < sizeof a)
        return WEFT_EINVAL;
    take_seed(&a, seed);
    memcpy(buf, &a, sizeof a);
    *len = sizeof a;
    return WEFT_OK;
}

static int get_address(weft_ep *ep, void *buf, size_t *len)
{
    if (*len < sizeof ep->address)
        return WEFT_EINVAL;
    memcpy(buf, &ep->address, sizeof ep->address);
    *len = sizeof ep->address;
    return WEFT_OK;
}

static int print_address(const void *addr, size_t len, char *text, size_t n)
{
    struct shm_address a;
    if (len != sizeof a)
        return WEFT_EINVAL;
    memcpy(&a, addr, sizeof a);
    snprintf(text, n, "pid %u on machine %016llx, socket @weft-shm-%02x%02x…",
             a.pid, (unsigned long long)a.machine, a.name[0], a.name[1]);
    return WEFT_OK;
}

static void set_cost(weft_cost *cost)
{
    cost->latency_ns = 100;
    cost->overhead_ns = 50;
    cost->bandwidth_mbs = 20000;
}

static int check_reach(weft_ep *ep, const void *addr, size_t len,
                       weft_cost *cost)
{
    struct shm_address a;
    if (len != sizeof a)
        return WEFT_EUNREACH;
    memcpy(&a, addr, sizeof a);
    if (a.version != ADDRESS_VERSION || a.machine != ep->address.machine) {
        ep->host->log(ep->core, 3,
                      a.version != ADDRESS_VERSION
                          ? "another version of shared memory"
                          : "another machine or container");
        return WEFT_EUNREACH;
    }
    if (memcmp(a.name, ep->address.name, sizeof a.name) == 0)
        return WEFT_EUNREACH; /* this very endpoint */
    if (cost)
        set_cost(cost);
    return WEFT_OK;
}

/* ---- endpoints --------------------------------------------------------- */

static void free_ep(weft_ep *ep)
{
    for (uint32_t i = 0; i < ep->table_n; i++)
        if (ep->table[i])
            wf_shm_peer_free(ep->table[i]);
    while (ep->conns)
        wf_shm_hang_up(ep->conns);
    wf_shm_free_dead_conns(ep);
    wf_shm_areas_free(ep);
    wf_shm_offers_free(ep);
    if (ep->page)
        munmap(ep->page, SHM_PAGE);
    wf_shm_stop_listening(ep);
    int fds[] = {ep->bell.fd, ep->page_memory, ep->epoll};
    for (size_t i = 0; i < sizeof fds / sizeof *fds; i++)
        if (fds[i] >= 0)
            close(fds[i]);
    free(ep->table);
    free(ep->live);
    free(ep->busy);
    free(ep->byte_owner);
    free(ep);
}

static int make_bell(weft_ep *ep)
{
    struct epoll_event e = {.events = EPOLLIN | EPOLLET,
                            .data = {.ptr = &ep->bell}};
    ep->epoll = epoll_create1(EPOLL_CLOEXEC);
    ep->bell =
        (struct shm_watch){SHM_BELL, eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)};
    if (ep->epoll < 0 || ep->bell.fd < 0 ||
        epoll_ctl(ep->epoll, EPOLL_CTL_ADD, ep->bell.fd, &e) != 0)
        return errno;
    ep->page_memory = wf_shm_make_memory("weft-shm-bell", SHM_PAGE, SHM_PAGE);
    if (ep->page_memory < 0)
        return -ep->page_memory;
    ep->page = wf_shm_map_memory(ep->page_memory, SHM_PAGE);
    return ep->page ? 0 : errno;
}

/* Says whether there are more than `each` ranks per CPU here. */
static bool has_more_ranks_per_cpu(const weft_open *o, uint32_t each)
{
    return WEFT_HAS(o, weft_open, cpus) && o->local_count > each * o->cpus;
}

static bool is_heavily_oversubscribed(const weft_open *o)
{
    return has_more_ranks_per_cpu(o, 4);
}

static struct shm_geometry choose_geometry(const weft_open *o)
{
    return wf_shm_geometry(o->cfg, o->local_count,
                           has_more_ranks_per_cpu(o, 1));
}

static weft_ep *new_ep(const weft_open *o)
{
    weft_ep *ep = calloc(1, sizeof *ep);
    if (!ep)
        return NULL;
    ep->host = o->host;
    if (WEFT_HAS(o->host, weft_host, rx_words))
        ep->rx_words = o->host->rx_words;
    if (WEFT_HAS(o->host, weft_host, helping))
        ep->helping = o->host->helping;
    if (WEFT_HAS(o->host, weft_host, tx_close))
        ep->tx_close = o->host->tx_close;
    ep->core = o->core;
    ep->loc_id = o->loc_id;
    ep->config = *(const struct shm_config *)o->cfg;
    ep->geometry = choose_geometry(o);
    ep->alone = o->local_count <= 1;
    ep->oversubscribed = has_more_ranks_per_cpu(o, 1);
    ep->heavily_oversubscribed = is_heavily_oversubscribed(o);
    ep->launcher = o->launcher;
    ep->start = seed_of(o) ? o->start_ns : 0;
    ep->refused_user = geteuid();
    ep->listener.fd = ep->spare = ep->bell.fd = ep->epoll = -1;
    ep->page_memory = -1;
    snprintf(ep->instance, sizeof ep->instance, "%s",
             o->instance ? o->instance : "shm");
    ep->byte_owner = calloc(SHM_BELL_BYTES, sizeof *ep->byte_owner);
    if (ep->byte_owner)
        return ep;
    free_ep(ep);
    return NULL;
}

static void log_failed_open(const weft_open *o, const weft_ep *ep,
                            const char *what, int err)
{
    if (err == EADDRINUSE && seed_of(o))
        o->host->log(
            o->core, 0,
            "%s: the socket of process %u is taken: was it started twice, "
            "or does a job of the same name and key run?",
            ep->instance, ep->loc_id);
    else
        o->host->log(o->core, 0, "%s: cannot open: needs %s: %s", ep->instance,
                     what, strerror(err));
}

static int open_ep(const weft_open *o, weft_ep **out)
{
    weft_ep *ep = new_ep(o);
    if (!ep)
        return WEFT_ENOMEM;
    const char *what = "the boot id of this machine and random bytes";
    int err = make_address(ep, o);
    if (!err) {
        what = "a page of shared memory (memfd), an eventfd and epoll";
        err = make_bell(ep);
    }
    if (!err) {
        what = "an abstract AF_UNIX socket";
        err = wf_shm_listen(ep);
    }
    if (err) {
        log_failed_open(o, ep, what, err);
        free_ep(ep);
        return wf_shm_shortage_status(err);
    }
    wf_shm_bell_register(ep, ep->oversubscribed);
    *out = ep;
    return WEFT_OK;
}

static void fill_attr(const struct shm_geometry *g, const struct shm_config *c,
                      weft_attr *a)
{
    a->caps = WEFT_CAP_LOCAL | WEFT_CAP_GET | WEFT_CAP_GET_ALONE |
              WEFT_CAP_MAP | WEFT_CAP_RMA | WEFT_CAP_RMA_ATOMIC;
    a->max_short = shm_cell_max(g);
    a->max_eager = (uint32_t)c->eager;
    a->max_payload = SHM_LEN_MAX & ~(uint32_t)(SHM_PAGE - 1);
    a->rkey_len = sizeof(uint64_t);
    a->min_get = (uint32_t)c->eager;
    set_cost(&a->cost);
}

static int get_attr(weft_ep *ep, weft_attr *a)
{
    fill_attr(&ep->geometry, &ep->config, a);
    return WEFT_OK;
}

static int probe_system(const weft_open *o, weft_attr *a)
{
    struct shm_geometry g = choose_geometry(o);
    int fd;

    if (o->flags & WEFT_OPEN_PLAN) {
        fill_attr(&g, o->cfg, a);
        return WEFT_OK;
    }
    fd = wf_shm_make_memory("weft-shm-probe", shm_segment_bytes(&g),
                            shm_reserved_bytes(&g));
    if (fd < 0)
        return fd == -ENOMEM || fd == -ENOSPC ? WEFT_ENOMEM : WEFT_ESYS;
    close(fd);
    wf_shm_cma_log_use(o, o->cfg);
    fill_attr(&g, o->cfg, a);
    return WEFT_OK;
}

static int read_statistic(weft_ep *ep, int i, const char **name,
                          uint64_t *value)
{
    const struct {
        const char *name;
        uint64_t value;
    } all[] = {{"sent_again", ep->stats.tx_again},
               {"bells_rung", ep->stats.rings},
               {"sleeps", ep->stats.sleeps},
               {"connections", ep->stats.connects},
               {"read_bytes", ep->stats.read_bytes},
               {"written_bytes", ep->stats.written_bytes}};
    if (i < 0 || i >= (int)(sizeof all / sizeof *all))
        return WEFT_EINVAL;
    *name = all[i].name;
    *value = all[i].value;
    return WEFT_OK;
}

static int connect_peer(weft_peer *p)
{
    if (p->state == SHM_IDLE)
        wf_shm_dial(p);
    return WEFT_OK;
}

/* ---- keys: the id of an area, or of an offer ---------------------------- */

static int register_memory(weft_ep *ep, void *base, size_t len, weft_mr **mr)
{
    *mr = wf_shm_area_of(ep, base, len);
    if (!*mr && wf_shm_cma_should_offer(ep, len))
        *mr = wf_shm_offer(ep, base, len);
    return *mr ? WEFT_OK : WEFT_ENOTSUP;
}

static void deregister_memory(weft_ep *ep, weft_mr *mr)
{
    if (mr->id & SHM_OFFERED)
        wf_shm_offer_end(ep, mr);
}

static int pack_key(weft_ep *ep, weft_mr *mr, void *rkey, size_t *len)
{
    (void)ep;
    if (*len < sizeof mr->id)
        return WEFT_EINVAL;
    memcpy(rkey, &mr->id, sizeof mr->id);
    *len = sizeof mr->id;
    return WEFT_OK;
}

static int open_key(weft_peer *p, const void *rkey, size_t len, weft_rkey **out)
{
    uint64_t id;
    if (len != sizeof id)
        return WEFT_EINVAL;
    memcpy(&id, rkey, sizeof id);
    *out = id & SHM_OFFERED ? wf_shm_cma_open_key(p, id)
                            : wf_shm_mapped_area(p, id);
    if (!*out)
        return WEFT_ENOTSUP;
    (*out)->opens++;
    return WEFT_OK;
}

static void close_key(weft_peer *p, weft_rkey *k)
{
    WEFT_ASSERT(k->opens > 0);
    k->opens--;
    if (!k->base)
        free(k);
    else
        wf_shm_release_area(p, k);
}

static const weft_ops ops = {.size = sizeof ops,
                             .open = open_ep,
                             .close = free_ep,
                             .attr = get_attr,
                             .address = get_address,
                             .reach = check_reach,
                             .peer_add = wf_shm_peer_add,
                             .peer_del = wf_shm_peer_del,
                             .send = wf_shm_send,
                             .progress = wf_shm_progress,
                             .drain = wf_shm_drain,
                             .send_short = wf_shm_send_short,
                             .event = wf_shm_event,
                             .arm = wf_shm_arm,
                             .rx_resume = wf_shm_rx_resume,
                             .addr_print = print_address,
                             .connect = connect_peer,
                             .mr_reg = register_memory,
                             .mr_dereg = deregister_memory,
                             .mr_pack = pack_key,
                             .rkey_open = open_key,
                             .rkey_close = close_key,
                             .rkey_map = wf_shm_rkey_map,
                             .get = wf_shm_get,
                             .mem_alloc = wf_shm_mem_alloc,
                             .mem_free = wf_shm_mem_free,
                             .probe = probe_system,
                             .stat = read_statistic,
                             .send_words = wf_shm_send_words,
                             .recv_words = wf_shm_recv_words,
                             .map_fd = wf_shm_map_fd,
                             .addr_derive = derive_address,
                             .reserve = wf_shm_reserve,
                             .send_beside = wf_shm_send_beside,
                             .mr_expose = wf_shm_mr_expose,
                             .rma = wf_shm_rma};

WEFT_PLUGIN(shm, "0.1.0", "rings and chunks in shared memory, on one machine",
            options, struct shm_config, &ops);
