/* Event sources: what the progress engine polls and sleeps on.
 *
 * A source is whatever news may come from: an endpoint, the launcher's
 * connection, the timers of ordered pairs, a word that another process writes.
 * Its maker fills in its first part and registers it
 * (progress/source.h); the progress engine knows nothing else of it.
 *
 *   registered --arm()--> armed --disarm(), on removal--> removed
 *
 * DESIGN  A poll is one indirect call, whatever the source: the function and
 * its argument stand in it. A plugin's functions take a weft_ep, a type that
 * each plugin defines for itself and the core never does. The object of any
 * other source goes by the same name, and its functions convert it.
 *
 * LOCK  The API section.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_PROCESS_EVENT_SOURCE_H
#define WF_PROCESS_EVENT_SOURCE_H

#include "base.h"
#include "os/atomic.h"

typedef weft_ep wf_source_object;

enum wf_source_state {
    WF_SOURCE_REMOVED, /* or not registered yet */
    WF_SOURCE_REGISTERED,
    WF_SOURCE_ARMED /* arm() was called since it was registered */
};

struct wf_event_source {
    const char *name;         /* for messages and debuggers */
    wf_source_object *object; /* argument of the functions below */
    /* Handles what has come, about `budget` events; returns their number. It
     * does not leave the API section, and may remove sources. */
    int (*poll)(wf_source_object *, int budget);
    /* Called before a sleep, or when long idle. WEFT_OK: from now on news makes
     * the descriptor readable, or whoever writes the word makes another source
     * announce it; until poll(). WEFT_EAGAIN: there is news. *deadline_ns, if
     * it is set, asks for poll() by then. NULL: nothing has to be asked for. */
    int (*arm)(wf_source_object *, uint64_t *deadline_ns);
    /* Takes back what arm() asked for; called when a source is removed for
     * which arm() was called. NULL: nothing has to be taken back. */
    void (*disarm)(wf_source_object *);
    int fd;     /* readable when there is news; -1: it has none */
    bool blind; /* nothing announces its news: a sleeper polls it often */
    /* A word whose change is news; NULL: none. `seen` is the value that poll()
     * has handled: poll() stores it, and nobody sleeps while the word is
     * another one. */
    const wf_atomic_u64 *word;
    uint64_t seen;

    /* Of the progress engine. */
    enum wf_source_state state;
    int bit;             /* its number in masks of sources */
    struct wf_list link; /* all sources, in the order of registration */
};

#endif
