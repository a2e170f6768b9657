/* Values of settings: numbers, sizes, times, switches, ranges.
 *
 * One parser serves [core], the common keys of [transport], [route] and every
 * plugin's own option table, so a unit means the same everywhere.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_VALUE_H
#define WF_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "weft_transport.h"

/* These parse a whole text; false: it has another form, or the value is too
 * large for 64 bits. */
bool wf_value_size(const char *text, uint64_t *bytes); /* 64K */
bool wf_value_time(const char *text, uint64_t *ns);    /* 50us; 0 */
bool wf_value_bool(const char *text, int *on);
bool wf_value_int(const char *text, int64_t *n);
/* Parse "4K", "4K-", "-4K" or "4K-1M" (also with ".." for "-"). Both ends are
 * included. */
bool wf_value_size_range(const char *text, uint64_t *lo, uint64_t *hi);
/* A range of whole numbers: "3", "0-7", "0-14:2", "4-". */
struct wf_range {
    uint64_t lo, hi, step;
};
bool wf_value_range(const char *text, size_t n, struct wf_range *);
bool wf_range_has(const struct wf_range *, uint64_t);

/* Turn each run of blanks and commas, which both separate, into one comma. */
void wf_value_list(char *text);

/* Parse text for option o and store the value at cfg + o->offset. false: why
 * holds a clause such as "'12Q' is not a size (digits, then K, M, G or T)". */
bool wf_value_store(const weft_option *o, const char *text, void *cfg,
                    char *why, size_t why_len);
const char *wf_value_type_name(uint32_t type);

#endif
