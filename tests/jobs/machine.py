"""A machine described as under /sys/devices/system, for tests of binding.

SPDX-License-Identifier: BSD-3-Clause
"""
import os


def ranges(cpus):
    return ",".join(map(str, sorted(cpus)))


class Machine:
    """Sockets of NUMA nodes of L3 caches of cores of threads, so many of each in
    the one before. Thread t of core c is CPU t * cores + c, as Linux numbers them;
    with `scattered`, cores of the sockets take turns."""

    def __init__(self, folder, sockets=2, numas=1, caches=1, cores=2, threads=1,
                 scattered=False, without=(), online=None):
        self.root = folder
        self.without = without
        count = sockets * numas * caches * cores
        per_socket = count // sockets
        number = [(c % per_socket) * sockets + c // per_socket if scattered
                  else c for c in range(count)]
        self.core_cpus = [[t * count + number[c] for t in range(threads)]
                          for c in range(count)]
        every = [cpu for cpus in self.core_cpus for cpu in cpus]
        self.write("cpu/online", online or ranges(every))
        for c, cpus in enumerate(self.core_cpus):
            socket, numa, cache = (c // per_socket, c // (caches * cores),
                                   c // cores)
            for cpu in cpus:
                self.describe(cpu, cpus, self.group(per_socket, socket),
                              self.group(cores, cache))
            if "numa" not in without:
                self.write(f"node/node{numa}/cpulist",
                           ranges(self.group(caches * cores, numa)))

    def group(self, size, n):
        return [cpu for cpus in self.core_cpus[n * size:(n + 1) * size]
                for cpu in cpus]

    def describe(self, cpu, core, socket, cache):
        self.write(f"cpu/cpu{cpu}/topology/package_cpus_list", ranges(socket))
        self.write(f"cpu/cpu{cpu}/topology/core_cpus_list", ranges(core))
        self.write(f"cpu/cpu{cpu}/cache/index0/level", "2")
        self.write(f"cpu/cpu{cpu}/cache/index0/shared_cpu_list", ranges(core))
        if "l3" not in self.without:
            self.write(f"cpu/cpu{cpu}/cache/index1/level", "3")
            self.write(f"cpu/cpu{cpu}/cache/index1/shared_cpu_list",
                       ranges(cache))

    def write(self, path, text):
        path = os.path.join(self.root, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="ascii") as f:
            f.write(text + "\n")
