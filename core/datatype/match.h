/* MPI_Type_match_size and MPI_Type_get_value_index find a predefined type by
 * its properties.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_DATATYPE_MATCH_H
#define WF_DATATYPE_MATCH_H

#include "base.h"

/* Returns the predefined type of this class and size, or MPI_DATATYPE_NULL
 *. */
MPI_Datatype wf_type_find_sized(int typeclass, int64_t size);

#endif
