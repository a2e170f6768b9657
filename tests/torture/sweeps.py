"""The n-th allocation or descriptor of a rank fails, for every n.

A cell is a fabric, a phase of sweep_job.c, a kind of failure, and the rank that
it happens to. Its first job counts the calls of the phase; then comes one job
for each n and each of two ways: errors that are fatal and a failure that stays
(all calls from the n-th on fail), and errors that are returned and a failure
that passes (only the n-th).

What must hold for each job:

  - it ends before the limit, and no process of it dies by a signal of its own;
  - it succeeds, with right data, or it fails with a message of the rank that
    lacked something: MPI_ERR_NO_MEM and the word memory (or thread), or
    MPI_ERR_OTHER and RLIMIT_NOFILE; it is said once (in MPI_Init before all
    others), and others say nothing but that a process has failed;
  - a rank that lacks something while another one calls it may not know that it
    was meant. Then the other one fails, and one of the two says the cause: in
    its error, or in a warning; where neither ends the other, both may;
  - where a call was made again after a failure that passed, it succeeds.

    SWEEP_EVERY=K     only every K-th n (default 1)
    SWEEP_AT_ONCE=N   jobs at a time, of all cells together (default 12: some of
                      them wait for ten seconds whether a shortage passes)
SPDX-License-Identifier: BSD-3-Clause
"""
import collections
import concurrent.futures
import itertools
import os
import re
import socket
import subprocess
import tempfile
import threading

import torture

MPIRUN = os.path.abspath(os.environ.get("MPIRUN", "build/bin/mpirun"))
PROGRAM = os.path.abspath(
    os.environ.get("SWEEP", "build/tests/torture/torture_sweep"))
PLUGINS = os.path.join(os.environ.get("BUILD_OF_WEFT", "build"), "lib", "weft")
EVERY = int(os.environ.get("SWEEP_EVERY", "1"))
AT_ONCE = int(os.environ.get("SWEEP_AT_ONCE", "12"))
LIMIT = 40  # seconds, of a job; only a hang takes so long

# What mpirun is told; or, without a launcher, which route the ranks have.
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
    "continuous": ["--continuous"],
    "configured": [],
}
STATIC = {
    "static-tcp": "tcp",
    "static-udp-reliable": "udp-reliable",
    "static-sctp": "sctp",
}
# Started where an mpi.ini is found, which only MPI_Init reads.
CONFIGURED = "[core]\nlog = warn\n"
# The two ranks are two programs of which neither ends the other.
ALONE = ("continuous", *STATIC)

START = "init session first coll_first finalize".split()
MESSAGES = """eager rendezvous unexpected nonblocking persistent partitioned
    probe cancel completion modes datatypes""".split()
COLLECTIVES = """coll_small coll_large coll_nonblocking coll_nonblocking_large
    coll_persistent coll_vectors coll_operations coll_inter
    neighbours""".split()
COMMUNICATORS = """dup split create intercomm topologies sessions""".split()
OBJECTS = "objects groups attributes types".split()
PHASES = START + MESSAGES + COLLECTIVES + COMMUNICATORS + OBJECTS

KINDS = ("memory", "files")
WAYS = (("forever", "fatal"), ("once", "return"))

Job = collections.namedtuple("Job", "fabric phase rank kind nth often how")

ran = collections.Counter()
ran_lock = threading.Lock()
start_lock = threading.Lock()
pool = concurrent.futures.ThreadPoolExecutor(AT_ONCE)


# ---- one job -----------------------------------------------------------------

def program(job):
    return [PROGRAM, job.phase, str(job.rank), job.kind, str(job.nth),
            job.often, job.how, *(["alone"] if job.fabric in ALONE else [])]


def command(job):
    return [MPIRUN, "-n", "2", "--timeout", str(LIMIT), *FABRICS[job.fabric],
            *program(job)]


def start_process(words, **options):
    """Not while a port is tried: until it executes, a child of another thread
    has that socket, too, and its owner would find the port in use."""
    with start_lock:
        return subprocess.Popen(words, text=True, errors="replace",
                                stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, **options)


def launch(job, where=None):
    with start_process(command(job), cwd=where) as process:
        try:
            out, errors = process.communicate(timeout=3 * LIMIT)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
    return process.returncode, out, errors


def launch_configured(job):
    with tempfile.TemporaryDirectory(prefix="weft-") as place:
        with open(os.path.join(place, "mpi.ini"), "w", encoding="ascii") as f:
            f.write(CONFIGURED)
        return launch(job, place)


next_port = itertools.count(os.getpid() % 6000)


def is_free(port):
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
        with socket.socket(socket.AF_INET, kind) as s:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                s.bind(("127.0.0.1", port))
            except OSError:
                return False
    return True


def two_ports():
    """The first of two that follow each other, below those that systems give
    away."""
    while True:
        port = 20000 + 2 * (next(next_port) % 6000)
        with start_lock:
            if is_free(port) and is_free(port + 1):
                return port


CONFIG = """[core]
bootstrap = static
job = sweep
job_key = 000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f
start_timeout = 5s
[transport {route}]
port = {port}
[host both]
address = 127.0.0.1
[rank 0-1]
host = both
"""


def start_rank(job, rank, ini):
    env = dict(os.environ, WEFT_RANK=str(rank), WEFT_INI=ini,
               WEFT_ROUTE=STATIC[job.fabric], WEFT_PLUGIN_PATH=PLUGINS)
    return start_process(program(job), env=env)


def end_of(rank):
    """(status, stdout, stderr) as mpirun would tell"""
    try:
        out, errors = rank.communicate(timeout=LIMIT)
    except subprocess.TimeoutExpired:
        rank.kill()
        out, errors = rank.communicate()
        return 124, out, errors
    if rank.returncode < 0:
        errors += f"\nkilled by signal {-rank.returncode}\n"
    return rank.returncode, out, errors


def start_statically(job):
    """Without a launcher: first what the rank says that lacks something."""
    with tempfile.TemporaryDirectory() as place:
        ini = os.path.join(place, "mpi.ini")
        with open(ini, "w", encoding="ascii") as f:
            f.write(CONFIG.format(route=STATIC[job.fabric], port=two_ports()))
        os.chmod(ini, 0o600)
        ranks = [start_rank(job, r, ini) for r in (job.rank, 1 - job.rank)]
        ends = [end_of(r) for r in ranks]
    statuses = [e[0] for e in ends]
    return (124 if 124 in statuses else statuses[0] or statuses[1],
            ends[0][1] + ends[1][1], ends[0][2] + ends[1][2])


def perform(job):
    """(status, stdout, stderr)"""
    with ran_lock:
        ran[job.fabric, job.kind] += 1
    if job.fabric in STATIC:
        return start_statically(job)
    if job.fabric == "configured":
        return launch_configured(job)
    return launch(job)


# ---- what is said ------------------------------------------------------------

# An error that a call returned, or that was fatal.
TOLD = re.compile(r"^(sweep: rank (?P<a>\d+): attempt \d+: \w+: (?P<ca>.*?) "
                  r"\(-?\d+\)|weft .*?(?:rank (?P<b>\d+) on \S+: )?\w+"
                  r"(?: on [^:]*)? failed: (?P<cb>\w+)): (?P<text>.*)$", re.M)
WARNED = re.compile(r"^weft\[\d+\]: (.*)$", re.M)
FAILED_THERE = "or it has failed there" # of a collective's message
CAUSE = {"memory": re.compile("memory|thread"),
         "files": re.compile("RLIMIT_NOFILE|Too many open files")}
CLASS = {"memory": ("MPI_ERR_NO_MEM", "MPI_ERR_IN_STATUS"),
         "files": ("MPI_ERR_OTHER", "MPI_ERR_IN_STATUS")}


def secondary(told):
    """Whether a rank only says that another one has failed. A collective goes on
    with empty messages where it has failed: MPI_ERR_COUNT, or in the status of
    one that is nonblocking."""
    return (told["ca"] or told["cb"]) in ("MPI_ERR_PROC_ABORTED",
                                          "MPI_ERR_NOT_SAME", "MPI_ERR_COUNT") \
        or FAILED_THERE in told["text"] \
        or re.search(r" is gone\b|\bthe process there has no |"
                     r"\brefused the call: (Cannot allocate|Too many open)",
                     told["text"]) is not None


def misleading(job, errors):
    """What is wrong with the messages of a job that failed, or None."""
    told = list(TOLD.finditer(errors))
    own = [t for t in told if not secondary(t)]
    if not own:
        said = [t["text"] for t in told] + WARNED.findall(errors)
        if job.how == "fatal" and any(FAILED_THERE in s for s in said):
            return None # it ended the job before the other could speak
        return None if any(CAUSE[job.kind].search(s) for s in said) \
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


def wrong_with(job, calls):
    """A paragraph, or None."""
    status, _, errors = perform(job)
    wrong = verdict(job, status, errors)
    return wrong and (f"  {job.nth} of {calls}, {job.often}: {wrong} "
                      f"(status {status})\n"
                      f"    {' '.join(map(repr, shown(job)))}\n    " +
                      errors.strip().replace("\n", "\n    "))


def shown(job):
    return program(job) if job.fabric in STATIC else command(job)


def sweep(job):
    """Every n, and what was wrong."""
    calls = pool.submit(count, job).result()
    jobs = [job._replace(nth=n, often=often, how=how)
            for often, how in ways(job) for n in range(1, calls + 1, EVERY)]
    bad = [w for w in pool.map(lambda j: wrong_with(j, calls), jobs) if w]
    return f"{len(bad)} jobs:\n" + "\n".join(bad) if bad else None


def ways(job):
    """A fatal error ends the job, so that nobody goes on without the dead."""
    return WAYS if job.fabric != "continuous" else \
        [(often, "return") for often, _ in WAYS]


def needed(fabric):
    """The transports that may be missing in a build."""
    return {t for t in ("udp-reliable", "sctp")
            if t in fabric or t in " ".join(FABRICS.get(fabric, []))}


def cells():
    there = set(os.environ.get("FABRICS", "shm tcp udp-reliable sctp").split())
    for fabric in (*FABRICS, *STATIC):
        if needed(fabric) - there:
            continue
        for phase in ("init",) if fabric == "configured" else PHASES:
            for kind in KINDS:
                # threads are one process, which knows no ranks before MPI_Init
                for rank in (0,) if fabric == "threads" else (0, 1):
                    job = Job(fabric, phase, rank, kind, 0, "once", "fatal")
                    yield torture.Cell(f"{fabric}_{phase}_{kind}_rank{rank}",
                                       lambda job=job: sweep(job))


if __name__ == "__main__":
    try:
        torture.main(list(cells()))
    finally:
        for (fabric, kind), n in sorted(ran.items()):
            print(f"{n} jobs: {fabric}, {kind}")
        if ran:
            print(f"{sum(ran.values())} jobs")
