/* The matrix of collectives: what a cell is, and what its parts know of each
 * other.
 *
 *   coll_matrix.c        which cells are run, on which ranks and communicators
 *   coll_matrix_cell.c   one cell: buffers and the naive reference
 *   coll_matrix_run.c    ... its call and the comparison
 *   coll_matrix_types.c  classes of datatypes, their values and operations
 *   coll_matrix_calls.c  each collective, in its six forms
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SIM_COLL_MATRIX_H
#define SIM_COLL_MATRIX_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MX_RANKS = 17, MX_WORDS = 4, MX_CLASSES = 9, MX_SIZES = 11, MX_OPS = 2 };

/* ---- classes of types ---------------------------------------------------- */

enum mx_word { MX_INT, MX_FLOAT, MX_COMPLEX, MX_PAIR };

/* An item of the class: words at these bytes. */
struct mx_class {
    const char *name;
    enum mx_word word;
    int words; /* 0: an item of nothing, of which there are very many */
    int at[MX_WORDS];
    int lb, extent;
};

/* The value of an item, whatever its class. */
union mx_item {
    uint32_t words[MX_WORDS];
    float real;
    double parts[2];
    struct {
        double value;
        int index;
    } pair;
};

extern const struct mx_class mx_classes[MX_CLASSES];

MPI_Datatype mx_type_new(int class);
/* Predefined where there is one for the class. Of ours the first does not
 * commute; the second does, and takes large counts. */
MPI_Op mx_op_new(int class, int op);
bool mx_op_is_ours(int class);
size_t mx_word_size(enum mx_word);
/* Item `item` of what this rank sends to the one of this number. */
union mx_item mx_value(const struct mx_class *, int rank, int to, int64_t item);
/* upper = lower o upper */
void mx_fold(const struct mx_class *, int op, const union mx_item *lower,
             union mx_item *upper);
void mx_put(const struct mx_class *, const union mx_item *, int word, void *to);

/* ---- collectives --------------------------------------------------------- */

enum {
    MX_TO_MANY = 1,    /* the send buffer has a block for each */
    MX_FROM_MANY = 2,  /* the receive buffer has a block of each */
    MX_VARY = 4,       /* blocks differ in size, and have gaps between them */
    MX_BYTES = 8,      /* displacements in bytes, a type for each */
    MX_TO_ROOT = 16,   /* only the root receives */
    MX_FROM_ROOT = 32, /* only the root sends */
    MX_NEAR = 64,      /* neighbours */
    MX_FOLD = 128,     /* reduces */
    MX_SPLIT = 256,    /* ... and scatters */
    MX_BELOW = 512,    /* ... what the ranks up to the own have */
    MX_NO_PLACE = 1024,
    MX_NO_INTER = 2048,
    MX_NO_COUNT = 4096,
    MX_NOT_OWN = 8192, /* with MX_BELOW */
};

/* A buffer and how it is divided. */
struct mx_side {
    const struct mx_class *class;
    bool flat;          /* given as so many words instead of items */
    bool mixed;         /* ... or the other of both, every other block */
    bool bottom;        /* the address is in the types */
    bool absolute;      /* the displacements are addresses */
    MPI_Datatype of[2]; /* for items, for words */
    int blocks;
    char *memory, *at;
    size_t bytes;
    int64_t first[MX_RANKS], items[MX_RANKS]; /* of each block */
    /* the same as arguments */
    void *buf;
    MPI_Datatype type;
    MPI_Count count, counts_c[MX_RANKS];
    MPI_Aint displs_c[MX_RANKS];
    int counts[MX_RANKS], displs[MX_RANKS];
    MPI_Datatype types[MX_RANKS];
};

enum mx_mode { MX_BLOCKING, MX_NONBLOCKING, MX_PERSISTENT, MX_MODES };

struct mx_call {
    int (*start)(struct mx_call *);
    enum mx_mode mode;
    bool large; /* the _c form */
    struct mx_side s, r;
    MPI_Op op;
    int root;
    MPI_Comm comm;
    MPI_Request request;
};

struct mx_coll {
    const char *name;
    unsigned is;
    int (*start)(struct mx_call *);
};

extern const struct mx_coll mx_colls[];
extern const int mx_coll_count;

/* ---- cells --------------------------------------------------------------- */

struct mx_cell {
    const struct mx_coll *coll;
    int class, size;
    enum mx_mode mode;
    bool in_place, inter, large;
    uint32_t dice; /* what else is open: the root, ... */
};

/* The data that a rank has for all cells. */
struct mx_rank {
    int rank, size; /* in the world */
    MPI_Comm world, graph, inter[2];
    int left[2]; /* ranks 0..left-1 are one side of inter[i] */
    MPI_Datatype types[MX_CLASSES];
    MPI_Op ops[MX_CLASSES][MX_OPS];
};

enum { MX_NEIGHBORS = 3 };
int mx_neighbor_out(const struct mx_rank *, int i);
int mx_neighbor_in(const struct mx_rank *, int i);

bool mx_cell_exists(const struct mx_cell *, int ranks);
/* Calls it. Others may be started before it is finished. NULL: no memory. */
struct mx_flight *mx_cell_start(const struct mx_rank *, const struct mx_cell *);
/* False: a byte is not what it is to be, which has been said. */
bool mx_cell_await(struct mx_flight *);
/* Starts a persistent one once more. */
bool mx_cell_again(struct mx_flight *);
/* Awaits it, and frees what it has. */
bool mx_cell_finish(struct mx_flight *);

#endif
