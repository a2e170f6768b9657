/* The name of a port: all that a client needs to know.
 *
 *   weft1:TOKEN:NODE:ADDRESS,ADDRESS...
 *
 * TOKEN is the secret that the port was opened with, in base64; NODE says where
 * it was opened, in hexadecimal: there the addresses of loopback count first.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_MEET_PORT_NAME_H
#define WF_MEET_PORT_NAME_H

#include <sys/socket.h>

#include "base.h"

enum {
    WF_TOKEN = 32,          /* bytes */
    WF_PORT_ADDRESSES = 24, /* at most, of one port */
    WF_PORT_SHOWN = 100     /* bytes of wf_port_name_show */
};

struct wf_port_name {
    unsigned char token[WF_TOKEN];
    uint64_t node;
    int n;
    struct sockaddr_storage at[WF_PORT_ADDRESSES];
};

/* Write the text, with as many addresses as have room. */
void wf_port_name_print(const struct wf_port_name *,
                        char text[MPI_MAX_PORT_NAME]);
/* False: the text is no name of a port. */
bool wf_port_name_parse(const char *text, struct wf_port_name *);
/* Write the part that is no secret, for messages. */
void wf_port_name_show(const char *text, char shown[WF_PORT_SHOWN]);

#endif
