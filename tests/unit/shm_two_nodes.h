/* Two nodes of one transport, a and b, and the usual ways in which a case about
 * a pair begins, goes on and ends.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SHM_TWO_NODES_H
#define SHM_TWO_NODES_H

#include "shm_fake.h"

#include <unistd.h>

#include "../../plugins/shm/shm.h"

#define OPS (weft_plugin_2_shm.ops)

static struct fake_node a, b;

static inline void progress_both(void)
{
    fake_progress(&a);
    fake_progress(&b);
}

/* Opens node `id` in a process of its own; the addresses go over a socket pair,
 * and no peer knows the other before. */
static inline void connect_over(int fd, struct fake_node *n, uint32_t id)
{
    memset(n, 0, sizeof *n);
    if (fake_open(n, id, 2, 7, NULL) != WEFT_OK ||
        write(fd, n->address[id], n->address_len) < 0 ||
        read(fd, n->address[1 - id], n->address_len) < 0)
        _exit(4);
    fake_add(n, 1 - id);
}

/* Connects them over a small ring by a message each way, which are received
 * with rx_words. */
static inline void connect_by_words(uint32_t bytes, unsigned style)
{
    struct fake_config tiny = {16, 4096, 4096, 4, 0, 0, 0};

    fake_pair(&a, &b, &tiny);
    a.ep->rx_words = b.ep->rx_words = fake_rx_words;
    fake_connect(&a, &b, bytes, style);
    fake_receive_all(&b, &a);
    fake_connect(&b, &a, bytes, style);
    fake_receive_all(&a, &b);
}

/* Returns a counter of the transport by its name. */
static inline uint64_t read_count(struct fake_node *n, const char *wanted)
{
    const char *name;
    uint64_t value;

    for (int i = 0; OPS->stat(n->ep, i, &name, &value) == WEFT_OK; i++)
        if (strcmp(name, wanted) == 0)
            return value;
    fail_msg("%s is not counted", wanted);
    return 0;
}

/* A case may have closed one of them. */
static inline void close_both(void)
{
    if (a.ep)
        fake_close(&a, b.ep ? &b : NULL);
    if (b.ep)
        fake_close(&b, NULL);
}

static inline int end_pair(void **state)
{
    (void)state;
    close_both();
    return 0;
}

#endif
