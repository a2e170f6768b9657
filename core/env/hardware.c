/* MPI_Get_hw_resource_info (MPI-5.0 s9.1.2): the types of hardware resources
 * that MPI_Comm_split_type knows, and whether this process is restricted to
 * one of each.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <stdio.h>

#include "comm/split.h"
#include "core_api.h"
#include "object/error.h"
#include "object/info.h"
#include "os/hardware.h"

static int put_resource(struct wf_info *info, const char *name, bool restricted)
{
    char key[MPI_MAX_INFO_KEY];

    snprintf(key, sizeof key, WF_RESOURCE_PROVIDER "%s", name);
    return wf_info_put(info, key, restricted ? "true" : "false");
}

int wf_mpi_get_hw_resource_info(struct wf_instance *wf, MPI_Info *hw_info)
{
    struct wf_info *info = wf_info_create();
    struct wf_cpus mine;
    int rc = info ? put_resource(info, WF_RESOURCE_NODE, true) : MPI_ERR_NO_MEM;
    bool known = wf_hardware_affinity(0, &mine);

    for (int i = 0; !rc && known && i < WF_HARDWARE_TYPES; i++)
        rc = put_resource(info, wf_hardware_name(i),
                          wf_hardware_instance(WF_SYSFS, &mine, i) >= 0);
    if (rc) {
        wf_info_destroy(info);
        return wf_error(rc, "no memory for an info object");
    }
    *hw_info = (MPI_Info)info;
    return MPI_SUCCESS;
}
