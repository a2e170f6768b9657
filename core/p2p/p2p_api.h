/* Declarations that the files of the point-to-point chapter share.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_P2P_API_H
#define WF_P2P_API_H

#include "lock/critical.h"
#include "protocol/p2p.h"


#endif
