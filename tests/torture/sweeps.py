"""The n-th allocation or descriptor of a rank fails, for every n.

A cell is a fabric, a phase of sweep_job.c, a kind of failure, and the rank that
it happens to. Its first job counts the calls of the phase; then comes one job
for each n with errors that are fatal and a failure that stays, and one with
errors that are returned and a failure that passes.

What must hold for each job:

  - it ends before the limit, and no process of it dies by a signal of its own;
  - it succeeds, with right data, or it fails with a message of the rank that
    lacked something: MPI_ERR_NO_MEM and the word memory (or thread), or
    MPI_ERR_OTHER and RLIMIT_NOFILE; it is said once (in MPI_Init before all
    others), and others say nothing but that a process has failed;
  - where a call was made again after a failure that passed, it succeeds.

    SWEEP_EVERY=K   only every K-th n (default 1)
    SWEEP_WIDE=1    also phases and fabrics that the default leaves out: those in
                    which a connection is made, or lost by the transport of the
                    rank that lacks something. There the peer may speak first,
                    and does not know more than that the connection has ended
SPDX-License-Identifier: BSD-3-Clause
"""
import collections
import os
import re
import subprocess
import threading

import torture

MPIRUN = os.environ.get("MPIRUN", "build/bin/mpirun")
PROGRAM = os.environ.get("SWEEP", "build/tests/torture/torture_sweep")
EVERY = int(os.environ.get("SWEEP_EVERY", "1"))
LIMIT = 20  # seconds, of a job; only a hang takes so long

FABRICS = {
    "shm": ["--route", "shm"],
    "tcp": ["--route", "tcp"],
    "udp-reliable": ["--route", "udp-reliable"],
    "sctp": ["--route", "sctp"],
    "failover": ["--route", "tcp udp-reliable"],
    "usual": [],
    "nodes": ["--nodes", "2"],
    "helper": ["--set", "core.progress=thread"],
    "threads": ["--ranks-per-process", "2"],
}
PHASES = """init first eager rendezvous unexpected nonblocking persistent
    partitioned probe modes datatypes coll_first coll_small coll_large
    coll_nonblocking coll_nonblocking_large coll_persistent coll_vectors dup
    split create intercomm topologies sessions objects finalize
    session""".split()
# In these the whole is held; without them see SWEEP_WIDE.
EVERYWHERE = ("init", "finalize", "objects")
SHM_MEMORY = """eager rendezvous unexpected modes persistent datatypes coll_small
    coll_large coll_persistent coll_vectors dup split create intercomm
    topologies""".split()
# Connections: held where this rank is the one that lacks memory.
DIALS = (("shm", "first", 0), ("shm", "coll_first", 1), ("tcp", "first", 1))
WIDE = os.environ.get("SWEEP_WIDE", "") not in ("", "0")
KINDS = ("memory", "files")
WAYS = (("forever", "fatal"), ("once", "return"))

Job = collections.namedtuple("Job", "fabric phase rank kind nth often how")

ran = collections.Counter()
ran_lock = threading.Lock()


def command(job):
    return [MPIRUN, "-n", "2", "--timeout", str(LIMIT), *FABRICS[job.fabric],
            PROGRAM, job.phase, str(job.rank), job.kind, str(job.nth),
            job.often, job.how]


def perform(job):
    """(status, stdout, stderr)"""
    done = subprocess.run(command(job), capture_output=True, timeout=3 * LIMIT,
                          text=True, errors="replace", stdin=subprocess.DEVNULL)
    with ran_lock:
        ran[job.fabric, job.kind] += 1
    return done.returncode, done.stdout, done.stderr


# ---- what is said ----------------------------------------------------------

# An error that a call returned, or that was fatal.
TOLD = re.compile(r"^(sweep: rank (?P<a>\d+): attempt \d+: \w+: (?P<ca>.*?) "
                  r"\(-?\d+\)|weft .*?(?:rank (?P<b>\d+) on \S+: )?\w+"
                  r"(?: on [^:]*)? failed: (?P<cb>\w+)): (?P<text>.*)$", re.M)
CAUSE = {"memory": re.compile("memory|thread"),
         "files": re.compile("RLIMIT_NOFILE")}
CLASS = {"memory": ("MPI_ERR_NO_MEM", "MPI_ERR_IN_STATUS"),
         "files": ("MPI_ERR_OTHER", "MPI_ERR_IN_STATUS")}


def secondary(told):
    """Whether a rank only says that another one has failed."""
    return (told["ca"] or told["cb"]) in ("MPI_ERR_PROC_ABORTED",
                                          "MPI_ERR_NOT_SAME") \
        or " is gone: " in told["text"]


def misleading(job, errors):
    """What is wrong with the messages of a job that failed, or None."""
    told = list(TOLD.finditer(errors))
    own = [t for t in told if not secondary(t)]
    if not own: # a peer that was told why may speak, and end the job, first
        return None if any(CAUSE[job.kind].search(t["text"]) for t in told) \
            else "nobody says what was lacking"
    if not CAUSE[job.kind].search(own[0]["text"]):
        return "the message does not name the cause"
    if (own[0]["ca"] or own[0]["cb"]) not in CLASS[job.kind]:
        return "the class is not " + " or ".join(CLASS[job.kind])
    if job.fabric == "threads":
        return None # both ranks are the victim
    if len(own) > 1 + len(re.findall("attempt 2", errors)):
        return "the cause is said more than once"
    if job.phase == "init" and told[0] is not own[0]:
        return "the cause is not the first message"
    return None


def verdict(job, status, errors):
    if status == 124:
        return "it did not end"
    if re.search(r"killed by signal (?!15|9)", errors):
        return "a rank was killed"
    if "Sanitizer" in errors:
        return "the sanitizer complains"
    if status == 8:
        return "wrong data, or the second attempt failed"
    if status == 0:
        return "an error was told, yet all went well" \
            if TOLD.search(errors) and job.how == "fatal" else None
    return misleading(job, errors)


# ---- cells -------------------------------------------------------------------

def count(job):
    status, out, errors = perform(job)
    found = re.search(r"sweep: (\d+) calls", out)
    if status or not found:
        raise RuntimeError(f"without a failure: status {status}, {errors}")
    return int(found[1])


def sweep(job):
    """Every n, and what was wrong with the first few."""
    bad = []
    calls = count(job)
    for often, how in WAYS:
        for n in range(1, calls + 1, EVERY):
            j = job._replace(nth=n, often=often, how=how)
            status, _, errors = perform(j)
            wrong = verdict(j, status, errors)
            if wrong:
                bad.append(f"  {n} of {calls}, {often}: {wrong} "
                           f"(status {status})\n"
                           f"    {' '.join(map(repr, command(j)))}\n    " +
                           errors.strip().replace("\n", "\n    "))
    return f"{len(bad)} jobs:\n" + "\n".join(bad) if bad else None


def is_held(fabric, phase, kind, rank):
    return phase in EVERYWHERE or \
        (kind == "memory" and (fabric, phase, rank) in DIALS) or \
        (fabric == "shm" and kind == "memory" and phase in SHM_MEMORY)


def cells():
    names = os.environ.get("FABRICS", "shm tcp udp-reliable sctp").split()
    missing = {"udp-reliable", "sctp"} - set(names)
    for fabric in FABRICS:
        if fabric in missing or (fabric == "failover" and
                                 "udp-reliable" in missing):
            continue
        for phase in PHASES:
            for kind in KINDS:
                # threads are one process, which knows no ranks before MPI_Init
                for rank in (0,) if fabric == "threads" else (0, 1):
                    if not WIDE and not is_held(fabric, phase, kind, rank):
                        continue
                    job = Job(fabric, phase, rank, kind, 0, "once", "fatal")
                    yield torture.Cell(f"{fabric}_{phase}_{kind}_rank{rank}",
                                       lambda job=job: sweep(job))


if __name__ == "__main__":
    try:
        torture.main(list(cells()))
    finally:
        for (fabric, kind), n in sorted(ran.items()):
            print(f"{n} jobs: {fabric}, {kind}")
