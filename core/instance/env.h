/* The beginning and the end of the state of the environment chapter.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_ENV_H
#define WF_ENV_H

#include "object/env.h"

int wf_env_init(struct wf_instance *); /* 0 or WEFT_ENOMEM */
void wf_env_fini(struct wf_instance *);

#endif
