/* Balanced factors of a number, for MPI_Dims_create.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_DIMS_H
#define WF_DIMS_H

#include "base.h"

/* Store k factors of n in falling order, as close to each other as possible. */
int wf_dims_balance(int n, int k, int dims[]);

#endif
