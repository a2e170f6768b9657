"""One rank of a job is killed during an operation; the others go on.

Each cell is an operation on a route. Every survivor must leave the operation with
MPI_ERR_PROC_ABORTED, soon, with no wrong data and no other error before; then it
talks to each other survivor and finishes. SEEDS in the environment is how often each
cell is run, with another victim and another moment each time.

SPDX-License-Identifier: BSD-3-Clause
"""
import os
import re
import subprocess
import tempfile

import torture

PROGRAM = os.path.join(os.environ.get("TORTURE", "."), "torture_deaths")
MPIRUN = os.environ.get("MPIRUN", "mpirun")
BUILT = os.environ.get("FABRICS", "shm tcp").split()
SEEDS = int(os.environ.get("SEEDS", "1"))
FIRST = int(os.environ.get("FIRST_SEED", "1"))
HANG = 30     # seconds, the program's own clock
SOON = 10000  # ms: the call that fails

OPERATIONS = """init barrier bcast_root bcast_leaf bcast_large reduce reduce_large
allreduce allreduce_large gather scatter scatter_large allgather allgather_large
alltoall alltoall_large scan reduce_scatter mixed ibcast ibcast_large iallreduce
ibarrier persistent neighbours comm_dup comm_idup comm_split create_group from_group
intercomm inter_collectives send ssend recv irecv recv_any probe probe_any
partitioned finalize""".split()

# name: transports, failover, ranks, options of mpirun
ROUTES = {
    "shm": ("shm", False, 4, []),
    "tcp": ("tcp", False, 4, []),
    "udp-reliable": ("udp-reliable", False, 4, []),
    "sctp": ("sctp", False, 4, []),
    "nodes": ("shm, tcp", False, 5, ["--nodes", "2"]),
    "tcp-failover": ("tcp", True, 4, []),
    "tcp-udp-failover": ("tcp, udp-reliable", True, 4, []),
    "threads": (None, False, 4, ["--ranks-per-process", "2"]),
}


def command(ini, route, operation, seed):
    use, failover, ranks, options = ROUTES[route]
    with open(ini, "w", encoding="utf-8") as f:
        if use:
            f.write(f"[route all]\nuse = {use}\n")
        if failover:
            f.write("failover = yes\n")
    return [MPIRUN, "--continuous", "--timeout", str(2 * HANG), "-n",
            str(ranks), *options, "--ini", ini, PROGRAM, operation, str(seed)]


def judge(route, operation, output):
    """What is wrong with what the survivors said, or None."""
    ranks = ROUTES[route][2]
    survivors = ranks - (2 if route == "threads" else 1)
    lines = re.findall(r"^\d+ (.*)$", output, re.M)
    wrong = [line for line in lines if line.startswith("wrong")]
    left = [int(x) for x in re.findall(r"^\d+ left (\d+)$", output, re.M)]
    if wrong:
        return wrong[0]
    if lines.count("done") != survivors:
        return f"{lines.count('done')} of {survivors} survivors finished"
    if operation != "finalize" and len(left) != survivors:
        return f"{len(left)} of {survivors} survivors left the operation"
    if left and max(left) > SOON:
        return f"a call took {max(left)} ms"
    return None


def run(route, operation, seed):
    with tempfile.TemporaryDirectory(prefix="deaths") as folder:
        words = command(os.path.join(folder, "mpi.ini"), route, operation, seed)
        try:
            r = subprocess.run(words, capture_output=True, text=True,
                               timeout=3 * HANG, check=False)
        except subprocess.TimeoutExpired:
            return f"seed {seed}: mpirun does not end"
    wrong = judge(route, operation, r.stdout)
    if wrong is None:
        return None
    return f"seed {seed}: {wrong}\n{r.stdout}{r.stderr}"


def experiment(route, operation):
    def all_seeds():
        for seed in range(FIRST, FIRST + SEEDS):
            wrong = run(route, operation, seed)
            if wrong:
                return wrong
        return None
    return all_seeds


def makes_sense(route, operation):
    use = ROUTES[route][0]
    if use and set(use.split(", ")) - set(BUILT):
        return False
    # ranks that are threads know themselves only after MPI_Init
    return route != "threads" or operation != "init"


if __name__ == "__main__":
    torture.main([torture.Cell(f"{route}/{operation}",
                               experiment(route, operation))
                  for route in ROUTES for operation in OPERATIONS
                  if makes_sense(route, operation)])
