/* The packets of an association of libusrsctp, as they pass this transport:
 * checksums, the TSNs sent, and what the peer has acknowledged.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#if __has_include(<usrsctp.h>)
#include <arpa/inet.h>
#include <string.h>

#include "user_assoc.h"

enum {
    DATA = 0,
    SACK = 3,
    I_DATA = 64,    /* chunks */
    SACK_BYTES = 16 /* at least */
};

/* Returns the offset of the first chunk of one of two types, or n if there is
 * none. */
static size_t find_chunk(const uint8_t *packet, size_t n, uint8_t a, uint8_t b)
{
    size_t at = USER_HEAD, length;

    while (at + 8 <= n) {
        if (packet[at] == a || packet[at] == b)
            return at;
        length = (size_t)(packet[at + 2] << 8 | packet[at + 3]);
        at += (length + 3) & ~(size_t)3;
        if (length == 0)
            break;
    }
    return n;
}

static uint32_t read_word(const uint8_t *packet, size_t at)
{
    uint32_t word;

    memcpy(&word, packet + at, sizeof word);
    return ntohl(word);
}

/* Notes the TSN of a packet, and whether it is retransmitted: old data goes
 * before new data, so the first chunk tells. */
static void note_tsn(struct wf_sctp_user_assoc *a, const uint8_t *packet,
                     size_t n)
{
    size_t at = find_chunk(packet, n, DATA, I_DATA);
    uint32_t tsn;

    if (at == n)
        return;
    tsn = read_word(packet, at + 4);
    if (a->sent && (int32_t)(tsn - a->tsn) <= 0)
        a->retransmitted++;
    else
        a->tsn = tsn;
    a->sent = true;
}

int wf_sctp_user_output(void *addr, void *packet, size_t n, uint8_t tos,
                        uint8_t df)
{
    struct wf_sctp_user_assoc *a = addr;

    if (a->muted)
        return 0;
    if (a->check) {
        uint32_t sum = a->lib->crc32c(packet, n);
        memcpy((char *)packet + offsetof(struct sctp_common_header, crc32c),
               &sum, sizeof sum);
    }
    note_tsn(a, packet, n);
    a->output(a->ctx, packet, n);
    return 0;
}

static bool is_intact(const struct wf_sctp_user_assoc *a, const void *packet,
                      size_t n)
{
    uint8_t head[sizeof(struct sctp_common_header)];
    struct sctp_common_header *h = (struct sctp_common_header *)packet;
    uint32_t was, is;

    memcpy(head, packet, sizeof head);
    memcpy(&was, &h->crc32c, sizeof was);
    memset(&h->crc32c, 0, sizeof h->crc32c);
    is = a->lib->crc32c((void *)(uintptr_t)packet, n);
    memcpy(h, head, sizeof head);
    return was == is;
}

/* Notes how far the peer has everything, and how much more it takes. */
static void note_sack(struct wf_sctp_user_assoc *a, const uint8_t *packet,
                      size_t n)
{
    size_t at = find_chunk(packet, n, SACK, SACK);
    uint32_t tsn;

    if (n - at < SACK_BYTES)
        return;
    tsn = read_word(packet, at + 4);
    a->progress = a->progress || !a->acked_any || (int32_t)(tsn - a->acked) > 0;
    if (!a->acked_any || (int32_t)(tsn - a->acked) >= 0) {
        a->acked = tsn;
        a->offered = read_word(packet, at + 8);
    }
    a->acked_any = true;
}

bool wf_sctp_user_awaits_ack(struct wf_sctp_user_assoc *a)
{
    bool owed;

    wf_sctp_stack_lock();
    owed = a->sent && (!a->acked_any || ((int32_t)(a->tsn - a->acked) > 0 &&
                                         a->offered > USER_SLACK));
    wf_sctp_stack_unlock();
    return owed;
}

bool wf_sctp_user_input(struct wf_sctp_user_assoc *a, const void *packet,
                        size_t n)
{
    if (n < sizeof(struct sctp_common_header) + 4 ||
        (a->check && !is_intact(a, packet, n)))
        return false;
    wf_sctp_stack_lock();
    note_sack(a, packet, n);
    a->lib->conninput(a, packet, n, 0);
    wf_sctp_stack_unlock();
    return true;
}
#endif
