/* Distributed graphs: every process knows its own edges.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_DIST_H
#define WF_DIST_H

#include "topo/topo.h"

#endif
