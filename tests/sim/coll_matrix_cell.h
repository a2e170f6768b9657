/* A cell as one rank sees it: for coll_matrix_cell.c, which says what the
 * buffers hold, and coll_matrix_run.c, which makes the call.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SIM_COLL_MATRIX_CELL_H
#define SIM_COLL_MATRIX_CELL_H

#include "coll_matrix.h"

enum { MARGIN = 64, UNTOUCHED = 0x5a };

/* The dice of a cell decide more than its coordinates: bit 0 the
 * intercommunicator, further ones the root, 8 to 10 how often a request is
 * tested. */
enum {
    DICE_SEND_FLAT = 1 << 11,
    DICE_RECV_FLAT = 1 << 12, /* of odd ranks; else of even ones */
    DICE_MIXED = 1 << 13,     /* every other block */
    DICE_SEND_BOTTOM = 1 << 14,
    DICE_RECV_BOTTOM = 1 << 15,
    DICE_EMPTY = 1 << 16, /* some blocks of those that vary */
    DICE_OP = 1 << 17,
    DICE_NULL = 1 << 18, /* the address of nothing */
    DICE_ABSOLUTE = 1 << 19, /* addresses as displacements, not in the types */
};

/* How a rank sees the cell; ranks are those of the world. */
struct view {
    const struct mx_rank *m;
    const struct mx_cell *c;
    unsigned is;
    int me, first, size;        /* the own group */
    int peers_first, peers; /* whom it exchanges with: the same, or the other */
    int root;
    bool sends, receives, place; /* place: this rank gives MPI_IN_PLACE */
    int64_t base;
};

struct view mx_look(const struct mx_rank *, const struct mx_cell *);
int mx_which_op(const struct view *);
/* False: no memory. */
bool mx_send_side(const struct view *, struct mx_side *);
bool mx_receive_side(const struct view *, struct mx_side *);
void mx_free_types(struct mx_side *);
void mx_fill_inputs(const struct view *, struct mx_call *);
/* Into a copy of the receive buffer. */
void mx_fill_wanted(const struct view *, const struct mx_side *, char *at);
/* A reduction in place may leave anything in the operand. */
void mx_forgive(const struct view *, const struct mx_side *, char *want);

#endif
