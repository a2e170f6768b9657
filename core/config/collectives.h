/* [collectives]: the rules by which a collective chooses its algorithm, in
 * place of the built-in choice (coll/decision.def).
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_CONFIG_COLLECTIVES_H
#define WF_CONFIG_COLLECTIVES_H

#include "base.h"

struct wf_coll_rules;
struct wf_config;

const struct wf_coll_rules *wf_config_collectives(const struct wf_config *);

/* Read the rules of [collectives]. */
void wf_coll_rules_build(struct wf_config *);

#endif
