/* Fuzz target: any bytes as messages of an sctp association, and as datagrams.
 *
 * Input: records of 5 bytes (what the core answers, the stream, the kind, how
 * many bytes of the input are its message) and that many bytes. Whatever comes,
 * the peer stands or breaks with a reason, and everything lent comes back.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "unit/sctp_fake.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { RECORD = 5 };

static void check_success(bool holds)
{
    if (!holds)
        abort();
}

static uint32_t kind_of(uint8_t b)
{
    return b & 0x80 ? KIND_ANNOUNCE | (b & 0x7f) : b;
}

static void check_one(struct fake *f, const uint8_t *record,
                      const uint8_t *bytes, size_t n)
{
    static const int answers[] = {WEFT_OK, WEFT_OK, WEFT_SKIP, WEFT_EAGAIN};

    f->rx_answer = answers[record[0] & 3];
    f->shorten = record[0] >> 2;
    fake_deliver(f, record[1], kind_of(record[2]), bytes, n);
    if (f->peer->ip.state != PEER_OPEN)
        check_success(f->peer->ip.state == PEER_BROKEN && f->peer->ip.why);
    check_success(f->peer->early_bytes <= SCTP_EARLY_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct wf_sctp_datagram d;
    struct fake f;
    size_t at = 0;

    if (wf_sctp_datagram_read(&d, data, size))
        check_success(d.body + d.n == data + size);
    fake_open(&f);
    while (size - at >= RECORD && f.peer->ip.state == PEER_OPEN) {
        const uint8_t *r = data + at;
        size_t n = (size_t)(r[3] | r[4] << 8);
        at += RECORD;
        n = n < size - at ? n : size - at;
        if (n)
            check_one(&f, r, data + at, n);
        at += n;
    }
    fake_close(&f);
    return 0;
}
