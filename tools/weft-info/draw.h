/* This interface draws the schedule of a collective call (weft-info
 * --collective) and prints the choice of algorithm.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WEFT_DRAW_H
#define WEFT_DRAW_H

#include <stdbool.h>

#include "config/coll_rules.h"

/* The arguments as they were given; NULL: not given. */
struct draw_arguments {
    const char *collective, *ranks, *nodes, *size, *algorithm, *root;
    bool dot;
};

/* Draw a schedule; returns the exit code. rules: of mpi.ini */
int info_draw(const struct wf_coll_rules *rules, const struct draw_arguments *);
/* Print the rules in force in one line, those of mpi.ini first. */
void info_choice(enum wf_coll_kind, const struct wf_coll_rules *rules);

#endif
