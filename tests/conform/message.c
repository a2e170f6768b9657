/* Patterns, memory and containers of the contract suite.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "conform.h"

enum { PIECE = 777, GAP = 13, UNTOUCHED = 0xee, GONE = 0xdd };

/* ---- memory -------------------------------------------------------------- */

static uint8_t pattern_at(uint32_t from, uint64_t number, uint64_t off)
{
    return (uint8_t)(from * 59 + number * 131 + off * 7 + (off >> 8) * 3);
}

void payload_check(const void *data, uint32_t from, uint64_t number,
                   uint64_t off, uint64_t n)
{
    const uint8_t *b = data;

    for (uint64_t i = 0; i < n; i++)
        check(b[i] == pattern_at(from, number, off + i),
              "message %llu from %u: byte %llu is %02x, not %02x",
              (unsigned long long)number, from, (unsigned long long)(off + i),
              b[i], pattern_at(from, number, off + i));
}

/* Where byte off of the payload lies, and how many follow it there. */
static uint8_t *find_byte(const struct area *a, uint64_t off, uint64_t *n)
{
    uint64_t piece = off / PIECE;

    *n = a->len - off;
    if (!a->pieces)
        return a->base + off;
    if (*n > PIECE - off % PIECE)
        *n = PIECE - off % PIECE;
    return a->base + off + (piece + 1) * GAP;
}

void area_new(struct area *a, uint64_t len, bool pieces)
{
    a->len = len;
    a->pieces = pieces;
    a->bytes = pieces ? len + (len / PIECE + 2) * GAP : len;
    a->base = malloc(a->bytes ? a->bytes : 1);
    check(a->base, "out of memory");
    memset(a->base, UNTOUCHED, a->bytes);
}

/* A plugin that still reads it finds something else. */
void area_free(struct area *a)
{
    memset(a->base, GONE, a->bytes);
    free(a->base);
    a->base = NULL;
}

void area_fill(struct area *a, uint32_t from, uint64_t number)
{
    uint64_t n;

    for (uint64_t off = 0; off < a->len; off += n) {
        uint8_t *b = find_byte(a, off, &n);
        for (uint64_t i = 0; i < n; i++)
            b[i] = pattern_at(from, number, off + i);
    }
}

void area_put(struct area *a, uint64_t off, const void *data, uint64_t len)
{
    const uint8_t *from = data;
    uint64_t n;

    for (uint64_t end = off + len; off < end; off += n, from += n) {
        uint8_t *b = find_byte(a, off, &n);
        if (n > end - off)
            n = end - off;
        memcpy(b, from, n);
    }
}

static void area_get(const struct area *a, uint64_t off, void *data,
                     uint64_t len)
{
    uint8_t *to = data;
    uint64_t n;

    for (uint64_t end = off + len; off < end; off += n, to += n) {
        const uint8_t *b = find_byte(a, off, &n);
        if (n > end - off)
            n = end - off;
        memcpy(to, b, n);
    }
}

static void check_untouched(const uint8_t *b, uint64_t n, uint64_t number)
{
    for (uint64_t i = 0; i < n; i++)
        check(b[i] == UNTOUCHED,
              "message %llu: memory outside the sink was written",
              (unsigned long long)number);
}

void area_check(const struct area *a, uint32_t from, uint64_t number,
                uint64_t len)
{
    const uint8_t *next = a->base;
    uint64_t n;

    for (uint64_t off = 0; off < len; off += n) {
        uint8_t *b = find_byte(a, off, &n);
        if (n > len - off)
            n = len - off;
        check_untouched(next, (uint64_t)(b - next), number);
        payload_check(b, from, number, off, n);
        next = b + n;
    }
    check_untouched(next, (uint64_t)(a->base + a->bytes - next), number);
}

int area_segments(const struct area *a, uint64_t len, uint64_t off,
                  struct iovec *v, int max)
{
    int i;

    check(off <= len, "seg asked for byte %llu of %llu",
          (unsigned long long)off, (unsigned long long)len);
    check(max >= 1, "seg asked for %d segments", max);
    for (i = 0; i < max && off < len; i++) {
        uint64_t n;
        v[i].iov_base = find_byte(a, off, &n);
        v[i].iov_len = n < len - off ? n : len - off;
        off += v[i].iov_len;
    }
    return i;
}

/* ---- headers ------------------------------------------------------------- */

void header_make(void *hdr, uint32_t from, uint64_t number, uint32_t plen,
                 bool is_short)
{
    uint8_t *b = hdr;
    uint32_t mix = (uint32_t)(number * 2654435761u) ^ from;
    uint32_t flags = (mix >> 7 & 0xefffu) | (is_short ? WEFT_HDR_SHORT : 0);
    uint64_t word[2] = {number, ~number * 77 + from};
    size_t words = is_short ? 2 : 7;

    b[0] = (uint8_t)(1 + mix % 0xef);
    b[1] = (uint8_t)(mix >> 16);
    b[2] = (uint8_t)flags;
    b[3] = (uint8_t)(flags >> 8);
    for (int i = 0; i < 4; i++)
        b[4 + i] = (uint8_t)(plen >> 8 * i);
    for (size_t i = 0; i < words; i++) {
        uint64_t x = i < 2 ? word[i] : number * (i + 11) + from;
        memcpy(b + 8 + 8 * i, &x, 8);
    }
}

uint64_t header_number(const weft_hdr *h)
{
    return h->w[1];
}

void header_check(const weft_hdr *h, uint32_t from)
{
    weft_hdr want;
    uint32_t n = weft_hdr_len(h);

    header_make(&want, from, h->w[1], weft_hdr_plen(h), n == WEFT_HDR_MIN);
    check(memcmp(&want, h, n) == 0,
          "the header of message %llu from %u was "
          "changed on the way",
          (unsigned long long)h->w[1], from);
}

/* ---- containers ---------------------------------------------------------- */

static int tx_segments(weft_tx *tx, uint64_t off, struct iovec *v, int max)
{
    struct message *m =
        (struct message *)(void *)((char *)tx - offsetof(struct message, tx));

    return area_segments(&m->area, tx->len, off, v, max);
}

static void tx_copy(weft_tx *tx, uint64_t off, void *to, uint64_t n)
{
    struct message *m =
        (struct message *)(void *)((char *)tx - offsetof(struct message, tx));

    check(off <= tx->len && n <= tx->len - off, "copy beyond the payload");
    area_get(&m->area, off, to, n);
}

static struct message *make_message(struct weft_loc *to, uint64_t number,
                                    uint64_t len, enum layout layout,
                                    bool is_short)
{
    struct message *m = aligned_alloc(64, sizeof *m);

    check(m, "out of memory");
    memset(m, 0, sizeof *m);
    memset(&m->hdr, 0xa5, sizeof m->hdr);
    m->to = to;
    m->number = number;
    area_new(&m->area, len, layout != BLOCK);
    area_fill(&m->area, to->core->id, number);
    header_make(&m->hdr, to->core->id, number, (uint32_t)len, is_short);
    m->tx.size = sizeof m->tx;
    m->tx.hdr = &m->hdr;
    m->tx.len = len;
    m->tx.seg = tx_segments;
    if (layout != BLOCK && number & 4)
        m->tx.copy = tx_copy;
    if (layout == BLOCK && len)
        m->tx.one = (struct iovec){m->area.base, len};
    return m;
}

struct message *message_new(struct weft_loc *to, uint64_t len,
                            enum layout layout, bool is_short)
{
    return make_message(to, ++to->sent << 1, len, layout, is_short);
}

struct message *message_urgent(struct weft_loc *to)
{
    struct message *m =
        make_message(to, ++to->urgent_sent << 1 | URGENT, 0, BLOCK, false);

    m->tx.flags = WEFT_TX_URGENT;
    return m;
}

void message_finish(struct message *m)
{
    area_free(&m->area);
    memset(&m->hdr, GONE, sizeof m->hdr);
    free(m);
}

void message_withdraw(struct message *m)
{
    if (m->number & URGENT)
        m->to->urgent_sent--;
    else
        m->to->sent--;
    message_finish(m);
}

int message_offer(struct message *m)
{
    struct weft_loc *l = m->to;
    int rc;

    check(!l->downs, "the suite sent after peer_down");
    rc = l->core->world->plugin->ops->send(l->peer, &m->tx);
    check(rc <= WEFT_DONE, "send() answered %d", rc);
    if (rc == WEFT_OK) {
        m->lent = true;
        l->lent++;
    } else if (rc != WEFT_EAGAIN) {
        l->tx_failed += rc < 0;
        message_finish(m);
    }
    return rc;
}

void message_post(struct message *m)
{
    struct weft_loc *l = m->to;

    for (;;) {
        int readies = l->readies;
        int rc = message_offer(m);
        check(rc >= 0 || rc == WEFT_EAGAIN, "send() failed: %d", rc);
        if (rc != WEFT_EAGAIN)
            return;
        until(l->core->world, l->readies > readies || l->downs);
        check(!l->downs, "the peer went down: %s", l->why);
    }
}

/* n bytes that end where memory ends. */
static uint8_t *allocate_at_brink(size_t n, void **map, size_t *map_len)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t body = (n + page) / page * page;
    uint8_t *p;

    *map_len = body + page;
    p = mmap(NULL, *map_len, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    check(p != MAP_FAILED, "out of memory");
    mprotect(p + body, page, PROT_NONE);
    *map = p;
    return p + body - n;
}

/* A message of the next number, in memory that ends where its bytes do. */
struct copied {
    struct area area;
    uint8_t *hdr;
    void *map;
    size_t map_len;
};

static struct copied copied_new(struct weft_loc *to, uint64_t len,
                                bool is_short)
{
    uint64_t number = (to->sent + 1) << 1;
    size_t hdr_len = is_short ? WEFT_HDR_MIN : WEFT_HDR;
    struct copied m;
    weft_hdr whole;

    m.hdr = allocate_at_brink(hdr_len, &m.map, &m.map_len);
    header_make(&whole, to->core->id, number, (uint32_t)len, is_short);
    memcpy(m.hdr, &whole, hdr_len);
    area_new(&m.area, len, false);
    area_fill(&m.area, to->core->id, number);
    return m;
}

static void copied_free(struct copied *m)
{
    area_free(&m->area);
    munmap(m->map, m->map_len);
}

int message_short(struct weft_loc *to, uint64_t len, bool is_short,
                  unsigned flags)
{
    struct copied m = copied_new(to, len, is_short);
    int rc = to->core->world->plugin->ops->send_short(
        to->peer, (const weft_hdr *)(void *)m.hdr, len ? m.area.base : NULL,
        len, flags);

    check(rc == WEFT_DONE || rc < 0 || (rc == WEFT_OK && flags),
          "send_short() answered %d", rc);
    if (rc >= 0)
        to->sent++;
    copied_free(&m);
    return rc;
}

uint64_t header_word(const void *hdr, int i)
{
    const uint8_t *b = (const uint8_t *)hdr + 8 * i;
    uint64_t w = 0;

    for (int k = 7; k >= 0; k--)
        w = w << 8 | b[k];
    return w;
}

int message_words(struct weft_loc *to, uint64_t len)
{
    struct copied m = copied_new(to, len, true);
    int before = to->core->given_back;
    int rc = to->core->world->plugin->ops->send_words(
        m.area.base, header_word(m.hdr, 0), to->peer, header_word(m.hdr, 1),
        header_word(m.hdr, 2));

    check(rc == WEFT_OK || rc == NO_ROOM, "send_words() answered %d", rc);
    check((to->core->given_back - before) == (rc == NO_ROOM),
          "tx_words was called %d times", to->core->given_back - before);
    if (rc == WEFT_OK)
        to->sent++;
    copied_free(&m);
    return rc;
}
