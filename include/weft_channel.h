/* weft_channel.h - makes a Weft transport of a fabric that can do two things:
 * send a packet, and poll for one.
 *
 * The author fills in a weft_channel_ops and writes WEFT_CHANNEL(...) in one C
 * file; this header adds the rest: it cuts containers into packets, shakes
 * hands, gives each sender a window, sleeps, and notices who has died. An
 * example is examples/fabric/dgrams.c; the rules are in
 * docs/transport-guide.md, section "A channel".
 *
 * A fabric must promise: a packet arrives once and whole; packets from one
 * process to another arrive in order, and none is lost while the receiver
 * lives; send() fails when it does not live any more.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WEFT_CHANNEL_H
#define WEFT_CHANNEL_H

#include "weft_transport.h"

enum {
    WEFT_CHANNEL_ADDRESS = 128, /* most bytes of an address */
    WEFT_CHANNEL_PACKET = 512,  /* fewest bytes that a packet must carry */
    WEFT_CHANNEL_PARTS = 18     /* most parts of a packet at send() */
};

/* One opened fabric. open() fills in all but `fabric` as it needs. */
typedef struct weft_channel {
    void *fabric;       /* the author's */
    const void *cfg;    /* the configuration struct of weft_open */
    size_t packet;      /* most bytes of a packet */
    size_t address_len; /* of the address by which others send to here */
    uint8_t address[WEFT_CHANNEL_ADDRESS];
    int fd;         /* readable when a packet is here; -1: keep polling */
    uint32_t caps;  /* WEFT_CAP_LOCAL, WEFT_CAP_REMOTE, WEFT_CAP_INTACT */
    weft_cost cost; /* latency, overhead, bandwidth */
} weft_channel;

typedef struct weft_channel_ops {
    /* WEFT_OK, or an error whose reason was logged through weft_host.log. */
    int (*open)(weft_channel *, const weft_open *);
    void (*close)(weft_channel *);
    /* Send one packet, of n parts. WEFT_DONE: it is on its way. WEFT_EAGAIN: no
     * room; it is tried again. WEFT_EPEER, WEFT_ELINK: nobody is there. */
    int (*send)(weft_channel *, const void *address, size_t len,
                const struct iovec *parts, int n);
    /* Store the next packet, from whomever it is; returns its bytes, 0: there
     * is none. */
    size_t (*poll)(weft_channel *, void *packet, size_t room);
    /* Tell whether packets can be sent there. NULL: they can. */
    bool (*reach)(weft_channel *, const void *address, size_t len);
} weft_channel_ops;

#include "weft_channel_impl.h"

/* Define the plugin NAME. OPS is a weft_channel_ops; the others are as in
 * WEFT_PLUGIN. */
#define WEFT_CHANNEL(NAME, VERSION, DESC, OPTIONS, CFG, OPS)                   \
    static int NAME##_open(const weft_open *o, weft_ep **out)                  \
    {                                                                          \
        return wch_open(o, &(OPS), out);                                       \
    }                                                                          \
    static const weft_ops NAME##_ops = {WCH_OPS(NAME##_open)};                 \
    WEFT_PLUGIN(NAME, VERSION, DESC, OPTIONS, CFG, &NAME##_ops)

#endif
