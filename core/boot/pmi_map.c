/* The process mapping of PMI: which rank runs on which node.
 *
 *   (vector,(0,2,4),(2,1,1))   nodes 0 and 1 hold four ranks each, node 2 one
 *
 * INVARIANTS  Work and memory are bounded by size, whatever numbers the text
 * holds; node indices stay below WF_PMI_NODES_MAX.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "boot/pmi_map.h"

#include <string.h>

enum { WF_PMI_NODES_MAX = 1 << 24 };

struct cursor {
    const char *at, *end;
};

static bool take_word(struct cursor *c, const char *word)
{
    size_t n = strlen(word);
    if ((size_t)(c->end - c->at) < n || memcmp(c->at, word, n) != 0)
        return false;
    c->at += n;
    return true;
}

static bool take_number(struct cursor *c, uint32_t *out)
{
    uint64_t n = 0;
    const char *start = c->at;
    while (c->at < c->end && *c->at >= '0' && *c->at <= '9') {
        n = n * 10 + (uint64_t)(*c->at++ - '0');
        if (n > WF_PMI_NODES_MAX)
            return false;
    }
    *out = (uint32_t)n;
    return c->at > start;
}

/* Parse one "(first,nodes,ppn)". */
static bool take_block(struct cursor *c, uint32_t v[3])
{
    return take_word(c, "(") && take_number(c, &v[0]) && take_word(c, ",") &&
           take_number(c, &v[1]) && take_word(c, ",") &&
           take_number(c, &v[2]) && take_word(c, ")");
}

struct fill {
    uint32_t rank, size, *node_of, nodes;
};

static void fill_block(struct fill *f, const uint32_t v[3])
{
    /* A block without ranks covers none, however many nodes it names. */
    if (v[2] == 0)
        return;
    for (uint32_t n = 0; n < v[1] && f->rank < f->size; n++) {
        if (v[0] + n + 1 > f->nodes)
            f->nodes = v[0] + n + 1;
        for (uint32_t p = 0; p < v[2] && f->rank < f->size; p++)
            f->node_of[f->rank++] = v[0] + n;
    }
}

/* Fill in all blocks once; false: the text is malformed. */
static bool fill_all_blocks(struct cursor c, struct fill *f)
{
    uint32_t v[3];
    if (!take_word(&c, "(vector"))
        return false;
    while (take_word(&c, ",")) {
        if (!take_block(&c, v))
            return false;
        fill_block(f, v);
    }
    return take_word(&c, ")") && c.at == c.end;
}

int wf_pmi_map_parse(const char *text, size_t len, uint32_t size,
                     uint32_t *node_of, uint32_t *node_count)
{
    struct cursor c = {text, text + len};
    struct fill f = {0, size, node_of, 0};
    do {
        uint32_t before = f.rank;
        if (!fill_all_blocks(c, &f) || f.rank == before)
            return -1;
    } while (f.rank < size);
    *node_count = f.nodes;
    return 0;
}
