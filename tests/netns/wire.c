/* This program is a cable with faults: frames from one interface go out by the
 * other, late, twice, damaged, or not at all.
 *
 *   wire IF_A IF_B [SEED]         in a network namespace that has both
 *
 * Commands come on standard input, each answered by a line:
 *
 *   WAY NAME=VALUE ...    WAY: ab, ba or both; what is not named stays
 *   heal                  no faults, both ways
 *   count                 answer: what was forwarded, lost, ... since the start
 *
 *   loss corrupt duplicate reorder burst    percent of the frames
 *   delay jitter   ms     gap  ms that a reordered frame comes later
 *   length         frames lost in a row by a burst
 *   rate           Mbit/s, 0: unlimited; more than 100 ms of it is lost
 *   cut            1: nothing passes
 *
 * DESIGN  Packet sockets with the offload header (PACKET_VNET_HDR): a frame
 * keeps the kernel's note that its checksum is still to be filled in. So a
 * byte that is changed here gets a right checksum and reaches the program, as
 * what a broken switch does to a frame it stores.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_packet.h>
#include <linux/virtio_net.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { FRAME = 70 << 10, IP_AT = ETH_HLEN, BACKLOG_NS = 100000000 };

struct frame {
    struct frame *next;
    uint64_t due;
    size_t n;
    unsigned char bytes[]; /* offload header and frame */
};

struct way {
    int from, to;
    double loss, corrupt, duplicate, reorder, burst, delay, jitter, gap, length,
        rate, cut;
    unsigned burst_left;
    uint64_t busy_until; /* of the rate */
    struct frame *queue; /* by due */
    unsigned long forwarded, lost, corrupted, duplicated, reordered;
};

static struct way ways[2];
static unsigned short seed[3];

static uint64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static bool take_chance(double percent)
{
    return percent > 0 && erand48(seed) * 100 < percent;
}

static void fail_with(const char *what)
{
    fprintf(stderr, "wire: %s: %s\n", what, strerror(errno));
    exit(1);
}

static int open_end(const char *name)
{
    struct sockaddr_ll a = {.sll_family = AF_PACKET,
                            .sll_protocol = htons(ETH_P_ALL)};
    int fd, on = 1, room = 8 << 20;

    a.sll_ifindex = (int)if_nametoindex(name);
    fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (!a.sll_ifindex || fd < 0 ||
        setsockopt(fd, SOL_PACKET, PACKET_VNET_HDR, &on, sizeof on) < 0 ||
        setsockopt(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &on, sizeof on) < 0)
        fail_with(name);
    setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof room);
    setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof room);
    if (bind(fd, (struct sockaddr *)&a, sizeof a) < 0)
        fail_with(name);
    return fd;
}

/* Where the payload of TCP or UDP over IPv4 begins; 0: nothing of the kind. */
static size_t payload_at(const unsigned char *f, size_t n)
{
    size_t at = IP_AT;

    if (n < at + 28 || f[12] != 8 || f[13] != 0)
        return 0;
    at += (size_t)(f[IP_AT] & 15) * 4;
    if (at + 20 > n && f[IP_AT + 9] == 6)
        return 0;
    if (f[IP_AT + 9] == 17)
        at += 8;
    else if (f[IP_AT + 9] == 6)
        at += (size_t)(f[at + 12] >> 4) * 4;
    else
        return 0;
    return at < n ? at : 0;
}

static void corrupt_bytes(struct way *w, struct frame *f)
{
    unsigned char *frame = f->bytes + sizeof(struct virtio_net_hdr);
    size_t n = f->n - sizeof(struct virtio_net_hdr), at = payload_at(frame, n);

    if (!at)
        return;
    at += (size_t)(erand48(seed) * (double)(n - at));
    frame[at] ^= (unsigned char)(1 + erand48(seed) * 254);
    w->corrupted++;
}

static void put_data(struct way *w, struct frame *f)
{
    if (send(w->to, f->bytes, f->n, 0) < 0)
        w->lost++;
    else
        w->forwarded++;
    free(f);
}

static void enqueue_frame(struct way *w, struct frame *f)
{
    struct frame **at = &w->queue;

    while (*at && (*at)->due <= f->due)
        at = &(*at)->next;
    f->next = *at;
    *at = f;
}

static bool is_lost(struct way *w)
{
    if (w->cut > 0)
        return true;
    if (!w->burst_left && take_chance(w->burst))
        w->burst_left = (unsigned)w->length;
    if (w->burst_left) {
        w->burst_left--;
        return true;
    }
    return take_chance(w->loss);
}

/* When it may leave; 0: the queue of the slow link is full. */
static uint64_t departure_of(struct way *w, size_t n, uint64_t now)
{
    uint64_t due = now;

    if (w->rate > 0) {
        if (w->busy_until < now)
            w->busy_until = now;
        if (w->busy_until - now > BACKLOG_NS)
            return 0;
        due = w->busy_until += (uint64_t)((double)n * 8000 / w->rate);
    }
    due += (uint64_t)((w->delay + erand48(seed) * w->jitter) * 1e6);
    if (take_chance(w->reorder)) {
        due += (uint64_t)(w->gap * 1e6);
        w->reordered++;
    }
    return due;
}

static void forward_frames(struct way *w, const void *bytes, size_t n,
                           uint64_t now)
{
    struct frame *f;
    uint64_t due = is_lost(w) ? 0 : departure_of(w, n, now);

    if (!due) {
        w->lost++;
        return;
    }
    f = malloc(sizeof *f + n);
    if (!f)
        fail_with("memory");
    f->n = n;
    f->due = due;
    memcpy(f->bytes, bytes, n);
    if (take_chance(w->corrupt))
        corrupt_bytes(w, f);
    if (due <= now && !w->queue)
        put_data(w, f);
    else
        enqueue_frame(w, f);
}

static void receive_message(struct way *w)
{
    static unsigned char frame[FRAME];
    uint64_t now = now_ns();

    for (int i = 0; i < 64; i++) {
        ssize_t n = recv(w->from, frame, sizeof frame, 0);
        if (n <= (ssize_t)sizeof(struct virtio_net_hdr))
            return;
        forward_frames(w, frame, (size_t)n, now);
        if (take_chance(w->duplicate)) {
            w->duplicated++;
            forward_frames(w, frame, (size_t)n, now);
        }
    }
}

static void release_object(struct way *w, uint64_t now)
{
    while (w->queue && w->queue->due <= now) {
        struct frame *f = w->queue;
        w->queue = f->next;
        put_data(w, f);
    }
}

/* ---- commands ------------------------------------------------------------ */

static void heal_cable(struct way *w)
{
    w->loss = w->corrupt = w->duplicate = w->reorder = w->burst = 0;
    w->delay = w->jitter = w->rate = w->cut = 0;
    w->gap = 2;
    w->length = 3;
    w->burst_left = 0;
}

static bool set_value(struct way *w, const char *name, size_t n, double value)
{
    const struct {
        const char *name;
        double *at;
    } table[] = {{"loss", &w->loss},       {"corrupt", &w->corrupt},
                 {"duplicate", &w->duplicate}, {"reorder", &w->reorder},
                 {"burst", &w->burst},     {"delay", &w->delay},
                 {"jitter", &w->jitter},   {"gap", &w->gap},
                 {"length", &w->length},   {"rate", &w->rate},
                 {"cut", &w->cut}};

    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (strlen(table[i].name) == n && !strncmp(table[i].name, name, n)) {
            *table[i].at = value;
            return true;
        }
    return false;
}

static bool change_value(char *line)
{
    char *save = NULL, *word = strtok_r(line, " \n", &save);
    bool ab = word && strcmp(word, "ba"), ba = word && strcmp(word, "ab");

    if (!word || (ab && ba && strcmp(word, "both")))
        return false;
    while ((word = strtok_r(NULL, " \n", &save))) {
        char *eq = strchr(word, '=');
        if (!eq ||
            (ab &&
             !set_value(&ways[0], word, (size_t)(eq - word), atof(eq + 1))) ||
            (ba &&
             !set_value(&ways[1], word, (size_t)(eq - word), atof(eq + 1))))
            return false;
    }
    return true;
}

static void count_events(void)
{
    for (int i = 0; i < 2; i++)
        printf("%s forwarded=%lu lost=%lu corrupted=%lu duplicated=%lu "
               "reordered=%lu%s",
               i ? "ba" : "ab", ways[i].forwarded, ways[i].lost,
               ways[i].corrupted, ways[i].duplicated, ways[i].reordered,
               i ? "\n" : " ");
}

static void run_command(void)
{
    char line[512];

    if (!fgets(line, sizeof line, stdin))
        exit(0);
    if (!strcmp(line, "count\n")) {
        count_events();
    } else if (!strcmp(line, "heal\n")) {
        heal_cable(&ways[0]);
        heal_cable(&ways[1]);
        printf("ok\n");
    } else {
        printf(change_value(line) ? "ok\n" : "not understood\n");
    }
    fflush(stdout);
}

static const struct timespec *measure_time_left(struct timespec *t,
                                                uint64_t now)
{
    uint64_t first = UINT64_MAX;

    for (int i = 0; i < 2; i++)
        if (ways[i].queue && ways[i].queue->due < first)
            first = ways[i].queue->due;
    if (first == UINT64_MAX)
        return NULL;
    first = first > now ? first - now : 0;
    *t = (struct timespec){(time_t)(first / 1000000000),
                           (long)(first % 1000000000)};
    return t;
}

/* The kernel keeps the order of what one processor sends, and no more. */
static void stay_on_this_cpu(void)
{
    cpu_set_t here;

    CPU_ZERO(&here);
    CPU_SET(sched_getcpu(), &here);
    sched_setaffinity(0, sizeof here, &here);
}

/* A cable does not wait for a processor, whatever else the machine does: ranks
 * would take that for a network that is silent. */
static void go_before_others(void)
{
    sched_setscheduler(0, SCHED_RR, &(struct sched_param){.sched_priority = 1});
}

int main(int argc, char **argv)
{
    struct timespec t;

    if (argc < 3) {
        fprintf(stderr, "usage: wire IF_A IF_B [SEED]\n");
        return 2;
    }
    stay_on_this_cpu();
    go_before_others();
    seed[0] = (unsigned short)(argc > 3 ? atoi(argv[3]) : 1);
    for (int i = 0; i < 16; i++)
        erand48(seed); /* the first draws of a small seed are small, too */
    ways[0].from = ways[1].to = open_end(argv[1]);
    ways[0].to = ways[1].from = open_end(argv[2]);
    heal_cable(&ways[0]);
    heal_cable(&ways[1]);
    printf("ready\n");
    fflush(stdout);
    setvbuf(stdin, NULL, _IONBF, 0); /* poll sees what fgets would keep */
    for (;;) {
        struct pollfd fds[3] = {{ways[0].from, POLLIN, 0},
                                {ways[1].from, POLLIN, 0},
                                {0, POLLIN, 0}};
        ppoll(fds, 3, measure_time_left(&t, now_ns()), NULL);
        for (int i = 0; i < 2; i++) {
            release_object(&ways[i], now_ns());
            if (fds[i].revents)
                receive_message(&ways[i]);
        }
        if (fds[2].revents)
            run_command();
    }
}
