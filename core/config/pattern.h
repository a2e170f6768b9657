/* Names with ranges: dsp[1-3] stands for dsp1 dsp2 dsp3, node[01-16] keeps its
 * zeros, and [1,3-5] is a list. With several brackets the last one varies
 * fastest.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_CONFIG_PATTERN_H
#define WF_CONFIG_PATTERN_H

#include "base.h"

/* Whether a name matches; letters of either case are equal. */
bool wf_pattern_match(const char *pattern, const char *name);

/* The same, but a pattern without a dot also matches the first label of a full
 * host name. */
bool wf_pattern_match_host(const char *pattern, const char *host);

/* The number of names that the ranges make (1 without ranges); 0: malformed, or
 * over 65536. */
uint32_t wf_pattern_count(const char *pattern);

/* Write the i-th of these names into buf; false: it does not fit. */
bool wf_pattern_expand(const char *pattern, uint32_t i, char *buf, size_t n);

#endif
