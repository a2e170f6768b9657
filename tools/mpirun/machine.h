/* A machine is the list of the processors of this host that a job may use, in
 * the order of its parts: packages, in each its NUMA nodes, in each its caches,
 * in each its cores.
 *
 * Parts and instances are those of core/os/hardware.h.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_MPIRUN_MACHINE_H
#define WF_MPIRUN_MACHINE_H

#include "os/hardware.h"

/* A processor is the unit of binding: a core with the threads of it that may be
 * used, or one hardware thread. */
struct processor {
    int first[WF_HARDWARE_TYPES]; /* the lowest CPU of the instance that holds
                                     it; -1: not known */
    const int *cpus;
    int count;
};

struct machine {
    struct wf_cpus usable;
    struct processor *processors;
    int count;
    bool by_thread;   /* each is a hardware thread */
    int *cpus;        /* where they point */
};

/* Find the CPUs that this process may use; with WEFT_TEST_SYSFS, those of the
 * machine that is described there. Returns false if the system does not say. */
bool wf_machine_usable(struct wf_cpus *);
/* Read the processors; returns false without memory. */
bool wf_machine_read(struct machine *, const struct wf_cpus *usable,
                     bool by_thread);
void wf_machine_free(struct machine *);

/* Returns whether every processor is known to be in an instance of this
 * type. */
bool wf_machine_knows(const struct machine *, enum wf_hardware);
/* Find the instances of a type, each by its lowest CPU, in the order of the
 * machine; at most machine.count of them. */
int wf_machine_instances(const struct machine *, enum wf_hardware, int *first);
/* Add the usable CPUs of one instance. */
void wf_machine_add(const struct machine *, enum wf_hardware, int first,
                    struct wf_cpus *);

/* Write the CPUs as "0-3,8". */
void wf_cpus_text(const struct wf_cpus *, char *text, size_t size);
/* Write the parts that these CPUs belong to, as "socket 0, cores 2-3". */
void wf_machine_describe(const struct machine *, const struct wf_cpus *,
                         char *text, size_t size);

#endif
