/* The calls that make and ask for process topologies share these: see
 * group/topology.h for the object.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_TOPO_H
#define WF_TOPO_H

#include "group/comm.h"
#include "group/topology.h"

#endif
