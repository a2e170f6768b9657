/* weft-info --collective: drawing a schedule; and the choice as text.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WEFT_DRAW_H
#define WEFT_DRAW_H

#include <stdbool.h>

#include "coll/choice.h"

/* As given; NULL: not given. */
struct draw_arguments {
    const char *collective, *ranks, *nodes, *size, *algorithm, *root;
    bool dot;
};

/* Exit code. rules: of mpi.ini. */
int info_draw(const struct wf_coll_rules *rules, const struct draw_arguments *);
/* One line: the rules in force, those of mpi.ini first. */
void info_choice(enum wf_coll_kind, const struct wf_coll_rules *rules);

#endif
