/* The classes of datatypes: how they are made, what items of them are worth,
 * and how they are reduced.
 *
 * All values are small integers, so that sums of floats are exact in any order.
 * The classes of int words are reduced by the composition of affine maps x -> a
 * x + b, word pair by word pair: it is associative, but does not commute.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "coll_matrix.h"

#include <string.h>

const struct mx_class mx_classes[MX_CLASSES] = {
    {"int", MX_INT, 1, {0}, 0, 4},
    {"float", MX_FLOAT, 1, {0}, 0, 4},
    {"complex", MX_COMPLEX, 1, {0}, 0, 16},
    {"pair", MX_PAIR, 1, {0}, 0, 16},
    {"contiguous", MX_INT, 4, {0, 4, 8, 12}, 0, 16},
    {"vector", MX_INT, 2, {0, 12}, 0, 16},
    {"negative stride", MX_INT, 2, {0, -8}, -8, 12},
    {"struct, resized", MX_INT, 4, {8, 0, 20, 4}, -4, 32},
    {"nothing, very often", MX_INT, 0, {0}, 0, 4},
};

/* ---- datatypes ----------------------------------------------------------- */

static MPI_Datatype commit_type(MPI_Datatype t, MPI_Datatype base)
{
    if (base != MPI_DATATYPE_NULL)
        MPI_Type_free(&base);
    MPI_Type_commit(&t);
    return t;
}

static MPI_Datatype make_resized(const struct mx_class *c)
{
    int lengths[MX_WORDS] = {1, 1, 1, 1};
    MPI_Aint at[MX_WORDS];
    MPI_Datatype types[MX_WORDS] = {MPI_INT, MPI_INT, MPI_INT, MPI_INT};
    MPI_Datatype t, base;

    for (int i = 0; i < c->words; i++)
        at[i] = c->at[i];
    MPI_Type_create_struct(c->words, lengths, at, types, &base);
    MPI_Type_create_resized(base, c->lb, c->extent, &t);
    return commit_type(t, base);
}

static MPI_Datatype check_nothing(const struct mx_class *c)
{
    MPI_Datatype t, base;

    MPI_Type_contiguous_c(0, MPI_INT, &base);
    MPI_Type_create_resized_c(base, 0, c->extent, &t);
    return commit_type(t, base);
}

MPI_Datatype mx_type_new(int class)
{
    const struct mx_class *c = &mx_classes[class];
    MPI_Datatype t;

    switch (class) {
    case 0:
        return MPI_INT;
    case 1:
        return MPI_FLOAT;
    case 2:
        return MPI_C_DOUBLE_COMPLEX;
    case 3:
        return MPI_DOUBLE_INT;
    case 4:
        MPI_Type_contiguous(4, MPI_INT, &t);
        return commit_type(t, MPI_DATATYPE_NULL);
    case 5:
        MPI_Type_vector(2, 1, 3, MPI_INT, &t);
        return commit_type(t, MPI_DATATYPE_NULL);
    case 6:
        MPI_Type_create_hvector(2, 1, -8, MPI_INT, &t);
        return commit_type(t, MPI_DATATYPE_NULL);
    case 7:
        return make_resized(c);
    default:
        return check_nothing(c);
    }
}

size_t mx_word_size(enum mx_word w)
{
    return w == MX_COMPLEX ? 16 : w == MX_PAIR ? 12 : 4;
}

/* ---- values -------------------------------------------------------------- */

union mx_item mx_value(const struct mx_class *c, int rank, int to, int64_t item)
{
    union mx_item v = {.words = {0}};
    uint32_t x = (uint32_t)rank * 7919u + (uint32_t)to * 104729u +
                 (uint32_t)item * 31u + 5u;

    switch (c->word) {
    case MX_INT:
        for (int i = 0; i < c->words; i++)
            v.words[i] = (x + (uint32_t)i * 17u) * 2654435761u | 1u;
        break;
    case MX_FLOAT:
        v.real = (float)(x % 1024);
        break;
    case MX_COMPLEX:
        v.parts[0] = x % 1024;
        v.parts[1] = (x >> 10) % 1024;
        break;
    case MX_PAIR:
        v.pair.value = x % 8;
        v.pair.index = rank;
    }
    return v;
}

void mx_put(const struct mx_class *c, const union mx_item *v, int word,
            void *to)
{
    memcpy(to, c->word == MX_INT ? (const void *)&v->words[word] : v,
           mx_word_size(c->word));
}

static void get_value(const struct mx_class *c, union mx_item *v, int word,
                const void *from)
{
    memcpy(&v->words[word], from, mx_word_size(c->word));
}

/* ---- operations ---------------------------------------------------------- */

static void fold_words(int op, const uint32_t *lower, uint32_t *upper, int n)
{
    for (int i = 0; op == 1 && i < n; i++)
        upper[i] += lower[i];
    if (op == 1)
        return;
    for (int i = 0; i < n; i += 2) {
        upper[i + 1] += lower[i + 1] * upper[i];
        upper[i] *= lower[i];
    }
}

/* MPI_MAXLOC or MPI_MINLOC: the lower index of equal values */
static bool goes_before(int op, double lower, double upper)
{
    return op == 1 ? lower <= upper : lower >= upper;
}

void mx_fold(const struct mx_class *c, int op, const union mx_item *lower,
             union mx_item *upper)
{
    switch (c->word) {
    case MX_INT:
        if (c->words > 1)
            fold_words(op, lower->words, upper->words, c->words);
        else if (op == 1)
            upper->words[0] ^= lower->words[0];
        else
            upper->words[0] += lower->words[0];
        break;
    case MX_FLOAT:
        if (op == 0)
            upper->real += lower->real;
        else if (lower->real > upper->real)
            upper->real = lower->real;
        break;
    case MX_COMPLEX:
        upper->parts[0] += lower->parts[0];
        upper->parts[1] += lower->parts[1];
        break;
    case MX_PAIR:
        if (goes_before(op, lower->pair.value, upper->pair.value))
            *upper = *lower;
    }
}

static void fold_items(int class, int op, char *in, char *inout, int64_t n)
{
    const struct mx_class *c = &mx_classes[class];

    for (; n > 0; n--, in += c->extent, inout += c->extent) {
        union mx_item lower = {.words = {0}}, upper = {.words = {0}};
        for (int i = 0; i < c->words; i++) {
            get_value(c, &lower, i, in + c->at[i]);
            get_value(c, &upper, i, inout + c->at[i]);
        }
        mx_fold(c, op, &lower, &upper);
        for (int i = 0; i < c->words; i++)
            mx_put(c, &upper, i, inout + c->at[i]);
    }
}

/* An operation gets a handle, which says nothing: functions for each class. */
#define OPERATIONS(class)                                                      \
    static void fold##class(void *in, void *inout, int *n, MPI_Datatype *t)   \
    {                                                                          \
        fold_items(class, 0, in, inout, *n);                                   \
    }                                                                          \
    static void fold##class##_c(void *in, void *inout, MPI_Count *n,          \
                                MPI_Datatype *t)                               \
    {                                                                          \
        fold_items(class, 1, in, inout, *n);                                   \
    }
OPERATIONS(2)
OPERATIONS(4)
OPERATIONS(5)
OPERATIONS(6)
OPERATIONS(7)

MPI_Op mx_op_new(int class, int op)
{
    static const struct {
        MPI_Op predefined[MX_OPS];
        MPI_User_function *ordered;
        MPI_User_function_c *commuting;
    } of[MX_CLASSES] = {
        {{MPI_SUM, MPI_BXOR}, NULL, NULL},
        {{MPI_SUM, MPI_MAX}, NULL, NULL},
        {{NULL, NULL}, fold2, fold2_c},
        {{MPI_MAXLOC, MPI_MINLOC}, NULL, NULL},
        {{NULL, NULL}, fold4, fold4_c},
        {{NULL, NULL}, fold5, fold5_c},
        {{NULL, NULL}, fold6, fold6_c},
        {{NULL, NULL}, fold7, fold7_c},
    };
    MPI_Op made = of[class].predefined[op];

    if (!of[class].ordered)
        return made ? made : MPI_OP_NULL;
    if (op == 0)
        MPI_Op_create(of[class].ordered, 0, &made);
    else
        MPI_Op_create_c(of[class].commuting, 1, &made);
    return made;
}

bool mx_op_is_ours(int class)
{
    return class == 2 || (class >= 4 && class < 8);
}
