"""What is measured: the figures, as data.

A command is a program of this directory (mpi_NAME or raw_NAME, without that
beginning) and its arguments, in which {case}, {ms} and {last} are replaced:
the row of the table, how long one result may take, and the largest message.
Rows are the cases or, without cases, what the program prints (bytes, depth).
Where the cases are numbers of ranks, ranks = "case"; a dict says it for each.

SPDX-License-Identifier: BSD-3-Clause
"""
from dataclasses import dataclass

RANKS = ("2", "4", "8", "16", "32", "64")
DEPTHS = "0 64 1024 8192 65536"
COUNTS = "45 1024 8192 65536"
MB = 1 << 20


@dataclass
class Figure:
    """One table of the report."""
    name: str
    title: str
    unit: str
    metric: str             # name of the result in the programs' output
    mpi: str = ""           # command; empty: not for MPI libraries
    raw: str = ""           # command of the raw limit; empty: there is none
    fabric: str = "any"     # any, shm, tcp, sctp, shm+tcp, tcp+shm, far (shm,
                            # but tcp to rank 1), alone (any, and the program
                            # may start without a launcher), shm+N (and N times tcp), thread
                            # (two ranks in a process), jobs (shm, for Weft
                            # alone), one of these and -helped (a progress
                            # thread for all); or {case}
    more: bool = False      # more is better
    ranks: object = 2       # or "case", or {case: ranks}
    cases: tuple = ("",)
    quick: tuple = ()       # cases of --quick, where fewer
    targets: dict = None    # row -> "<= 0.8 peer, <= 1.3 raw, <= 3072"


def congestion_controls():
    try:
        with open("/proc/sys/net/ipv4/tcp_available_congestion_control",
                  encoding="ascii") as f:
            return f.read().split()
    except OSError:
        return []


def over_sizes(fabric, raw_line, raw_stream, raw_rate, targets):
    """The figures that every fabric has."""
    name = {"shm": "shared memory", "tcp": "TCP",
            "thread": "threads of one process"}[fabric]
    return [
        Figure(f"{fabric}-latency", f"half round trip over {name}", "us", "us",
               "pingpong pong 0 {last} 4 {ms}", raw_line, fabric,
               targets=targets["latency"]),
        Figure(f"{fabric}-pong", f"bandwidth of that ping-pong, {name}",
               "GB/s", "gbs", "pingpong pong 4096 {last} 4 {ms}", "", fabric,
               more=True),
        Figure(f"{fabric}-ping", f"both directions at once over {name}", "us",
               "us", "pingpong ping 0 {last} 4 {ms}", "", fabric),
        Figure(f"{fabric}-stream", f"messages in flight over {name}", "GB/s",
               "gbs", "stream 4096 {last} 4 16 {ms}",
               raw_stream + " 4096 {last} 4 {ms}", fabric, more=True,
               targets=targets["stream"]),
        Figure(f"{fabric}-rate", f"messages in windows of 64 over {name}",
               "million/s", "mps", "stream 1 1024 8 64 {ms}", raw_rate,
               fabric, more=True, targets=targets["rate"]),
    ]


def matching(when, order, title, fabric="shm", **more):
    name = f"match-{when}-{order}"
    return Figure(name if fabric == "shm" else f"{fabric}-{name}", title,
                  "ns per message", "ns",
                  f"match {when} {order} {{ms}} {COUNTS}", "", fabric, **more)


def depth(when, **more):
    return Figure(f"depth-{when}", f"half round trip with that many {when} "
                  "entries in the queues", "us", "us",
                  f"match {when} depth {{ms}} {DEPTHS}", "", "shm", **more)


# those of pack_cases.h
PACK_CASES = ("1-of-2-1K", "1-of-2-64K", "2-of-4-64K", "4-of-8-64K",
              "128-of-256-64K", "1-of-16-4M", "1024-of-2048-4M", "pixels-48K",
              "records-832K", "face-x-128K", "face-y-128K", "face-x2-4K",
              "box-2d-512K", "box-3d-2M", "box-4d-512K", "face-4d-128K",
              "indexed-1-128K", "indexed-3-48K", "mixed-160K", "transpose-2M",
              "fields-96K")
PACK_QUICK = ("1-of-2-64K", "128-of-256-64K", "records-832K", "box-3d-2M",
              "indexed-3-48K")


def placements(name, title, unit, metric, mode, target, **more):
    return Figure(name, title, unit, metric, f"pack {mode} {{case}} {{ms}}",
                  cases=PACK_CASES, quick=PACK_QUICK,
                  targets=dict.fromkeys(PACK_CASES, target), **more)


# those of mpi_meet.c: ranks, and what they must reach
MEETINGS = {"spawn": (1, "<= 30"), "singleton": (1, "<= 60"),
            "connect": (2, "<= 2"), "clients": (65, "<= 200")}

# those of mpi_calls.c
CALLS = ("testany", "testall", "testsome", "any-source", "comm-rank",
         "type-size", "get-count", "group-rank", "comm-group", "get-attr",
         "set-attr")
OPERATIONS = ("sum", "maxloc", "maxloc-64", "own", "own-128", "self")


def over_ranks(name, title, **more):
    return Figure(name, title, "us", "us", f"coll {name} {{ms}}",
                  fabric="shm", ranks="case", cases=RANKS,
                  quick=("2", "16"), **more)


FIRST_SIZES = ("8", "1024", "8192", "65536", "1048576")
GROWTH = ("16", "64", "128", "256", "512", "1024")


def growing(name, what, ranks, times):
    """A collective by processes or threads, for long enough that the first calls,
    which connect and map memory, are not those that count: what it costs with
    more than 64 ranks, of which the CPUs must run each, against 64."""
    targets = {n: f"<= {(int(n) // 64) ** times} row 64" for n in ranks[2:]}
    return [Figure(f"growth-{name}{suffix}", f"{what}, by the number of {kind}",
                   "us", "us", f"coll {name} 4000", fabric=fabric,
                   ranks="case", cases=ranks, quick=ranks[:2], targets=targets)
            for suffix, kind, fabric in (("", "processes", "shm"),
                                         ("-threads", "threads", "thread"))]


# ranks of each case, and what it must reach; the slowest of a library that is
# cut off come last
IO_CALLS = {"open-close": (2, "<= 100"), "write-at-8": (2, "<= 1.2 raw"),
            "read-at-8": (2, "<= 1.2 raw"), "atomic-4K": (2, "<= 4"),
            "shared-100": (2, "<= 2"), "ordered-100": (2, None),
            "at-all-100": (2, None), "shared-100 4": (4, None),
            "ordered-100 4": (4, "<= 30"), "at-all-100 4": (4, "<= 30"),
            "open-close 16": (16, "<= 300")}
IO_RATES = {"write-16M": ">= 0.95 raw", "read-16M": ">= 0.95 raw",
            "interleaved-64K": ">= 1 peer", "interleaved-1K": ">= 4, >= 1 peer",
            "interleaved-64": ">= 1.5, >= 1 peer"}


def over_files(suffix, folder):
    """The figures of files in one file system."""
    where = "in memory" if not suffix else "on the disk of the build"
    ranks = {case: count for case, (count, _) in IO_CALLS.items()}
    calls = {case: target for case, (_, target) in IO_CALLS.items() if target}
    run = f"io {{case}} {{ms}} {folder}"
    return [
        Figure("io-calls" + suffix, f"calls on a file {where}; rows with a "
               "number: of so many ranks, else 2", "us", "us", run, run,
               ranks=ranks, cases=tuple(ranks), targets=calls),
        Figure("io-rates" + suffix, f"bytes of both ranks {where}; interleaved: "
               "1 MB each by MPI_File_write_all, in pieces of so many bytes "
               "(raw: a call for each)", "GB/s", "gbs", run, run, more=True,
               cases=tuple(IO_RATES), targets=IO_RATES),
        Figure("io-hidden" + suffix, "part of a 16 MB MPI_File_iwrite_at "
               f"{where} that is hidden behind computation", "percent",
               "percent", run, cases=("hidden-16M",), more=True,
               ranks=1, targets={"hidden-16M": ">= 90"})]


def senders(form, title, **more):
    """n threads of a process to n processes, and n processes to n others; beside:
    one process, which has another thread, that sleeps."""
    ranks = {f"threads {n}": n + 1 for n in (1, 2, 4, 8)}
    ranks["beside 1"] = 2
    ranks.update({f"processes {n}": 2 * n for n in (1, 2, 4)})
    return Figure(f"threads-{form}", title, "million/s", "mps",
                  f"threads rate {form} {{case}} {{ms}}", fabric="shm",
                  more=True, ranks=ranks, cases=tuple(ranks),
                  quick=("threads 1", "beside 1", "threads 2", "processes 1"),
                  **more)


SENDERS = {"threads 1": ">= 0.92 row processes 1",
           **{f"threads {n}": ">= 1 peer" for n in (2, 4, 8)}}

FIGURES = [
    *over_sizes("shm", "shm line {ms}", "shm ring", "shm rate {ms}", {
        "latency": {1: "<= 0.8 peer, <= 1.3 raw"},
        "stream": {1 << k: ">= 3 peer, >= 0.85 raw" for k in (16, 18, 20, 22)},
        "rate": {8: ">= 1.8 peer"}}),
    *over_sizes("tcp", "socket tcp polling {ms}", "socket best", "", {
        "latency": {1: "<= 0.9 peer, <= 1.06 raw"},
        "stream": {MB: ">= 0.9 raw"},
        "rate": {8: ">= 2 peer"}}),
    *over_sizes("thread", "shm line {ms}", "shm halves", "shm rate {ms}", {
        "latency": {1: "<= 1.8 raw"},
        "stream": {1 << k: ">= 0.85 raw" for k in (16, 18, 20, 22)},
        "rate": {}}),
    *(matching(when, order, f"tags {when}, received "
               + ("as sent" if order == "order" else "last one first")
               + ", threads of one process", "thread")
      for when in ("posted", "unexpected") for order in ("order", "reverse")),
    Figure("sctp-latency", "half round trip over sctp (raw: UDP)", "us", "us",
           "pingpong pong 0 {last} 4 {ms}", "socket udp polling {ms}", "sctp",
           targets={1: "<= 8"}),
    Figure("sctp-stream", "messages in flight over sctp", "GB/s", "gbs",
           "stream 4096 {last} 4 16 {ms}", "", "sctp", more=True,
           targets={MB: ">= 0.5"}),
    Figure("shm-alloc", "bandwidth of the ping-pong in memory of "
           "MPI_Alloc_mem", "GB/s", "gbs",
           "pingpong alloc 65536 {last} 4 {ms}", fabric="shm", more=True),
    matching("posted", "order", "tags received in the order of sending"),
    matching("posted", "reverse", "tags received last one first"),
    matching("posted", "wild", "any source, every second with any tag"),
    matching("unexpected", "order", "the same, messages before receives"),
    matching("unexpected", "reverse", "last one first, messages before"),
    matching("unexpected", "wild", "wildcards, messages before receives"),
    depth("posted", targets={8192: "<= +0.02 row 0"}),
    depth("unexpected", targets={8192: "<= +0.02 row 0"}),
    *(placements(f"type-{mode}", f"{mode} a derived datatype (raw: a loop)",
                 "GB/s", "gbs", mode, ">= 0.95 peer, >= 0.95 raw",
                 raw=f"pack {mode} {{case}} {{ms}}", ranks=1, more=True)
      for mode in ("pack", "unpack")),
    placements("type-send", "half round trip of a derived datatype", "us",
               "us", "send", "<= 1 peer", fabric="shm"),
    placements("type-hand", "that, divided by packing by hand, sending bytes "
               "and unpacking by hand", "times", "hand", "send", "<= 1",
               fabric="shm"),
    Figure("blocked", "CPU of a rank blocked in MPI_Recv", "percent",
           "percent", "wait blocked 2", fabric="{case}", cases=("shm", "tcp"),
           targets={"shm": "<= 1", "tcp": "<= 1"}),
    Figure("wake", "from MPI_Send to a receiver that slept 2 ms (raw: futex)",
           "us", "us", "wait wake 300", "wake futex 300", fabric="{case}",
           cases=("shm", "tcp")),
    over_ranks("barrier", "barrier, all ranks on the CPUs at hand",
               raw="barrier {case} {ms}", targets={"16": "<= 30"}),
    over_ranks("allreduce", "allreduce of 8 bytes, the same"),
    over_ranks("alltoall", "alltoall of 1 KB per pair, the same"),
    *growing("barrier", "barrier", GROWTH, 1),
    *growing("allreduce", "allreduce of 8 bytes", GROWTH, 1),
    *growing("alltoall", "alltoall of 1 KB per pair", GROWTH[:4], 2),
    *(Figure(f"first-{fabric}", "longest of the first 100 messages of so many "
             f"bytes over {fabric}, divided by the median of the next 400",
             "times", "worst", "first {case}", fabric=fabric,
             cases=FIRST_SIZES, targets=dict.fromkeys(FIRST_SIZES, "<= 3"))
      for fabric in ("shm", "tcp", "thread")),
    *(Figure(f"overlap-{fabric}", "part of a 16 MB transfer that is hidden "
             f"behind computation, {fabric}", "percent", "percent",
             "overlap {case} 16777216 {ms}", fabric=fabric, more=True,
             cases=("sender", "receiver", "both"), targets=dict.fromkeys(
                 ("sender", "receiver", "both"), ">= 90"))
      for fabric in ("shm", "tcp")),
    *(Figure(f"overlap-4-{fabric}", "part of a 16 MB transfer that is hidden "
             f"behind a computation 4 times as long, {fabric}", "percent",
             "percent", "overlap {case} 16777216 {ms} 4x", fabric=fabric,
             more=True, cases=("sender", "receiver", "both"),
             targets={"sender": ">= 90", "receiver": ">= 90"})
      for fabric in ("shm", "tcp")),
    Figure("overlap-allreduce", "part of an MPI_Iallreduce of doubles that is "
           "hidden, both ranks compute", "percent", "percent",
           "overlap allreduce {case} {ms}", fabric="shm", more=True,
           cases=("65536", "1048576", "16777216")),
    senders("null", "MPI_Send to MPI_PROC_NULL by threads or processes"),
    senders("blocking", "empty messages, MPI_Send by threads or processes",
            targets=SENDERS),
    senders("nonblocking", "empty messages, MPI_Isend by threads or processes",
            targets=SENDERS),
    Figure("threads-latency", "half round trip of 1 byte, pairs of threads in "
           "two processes", "us", "us", "threads pong {case} {ms}",
           fabric="shm", cases=("single 1", "multiple 1", "multiple 2",
                                "multiple 4", "multiple 8"),
           quick=("single 1", "multiple 1", "multiple 2"),
           targets={"multiple 1": "<= 1.05 row single 1",
                    "multiple 2": "<= 5"}),
    *(Figure(f"{kind}-cores", f"pairs of {what} in ping-pong, messages of all "
             "together, by the number of pairs; there are CPUs for all where "
             "the machine has twice as many", "million/s", "mps",
             "threads pairs {ms}", fabric=fabric, more=True,
             ranks={str(n): 2 * n for n in (1, 2, 4, 8, 16)},
             cases=("1", "2", "4", "8", "16"), quick=("1", "2"))
      for kind, what, fabric in (
          ("thread", "ranks that are threads", "thread"),
          ("process", "processes", "shm"))),
    *(Figure(f"overlap-long-{fabric}", "16 MB beside 20 ms of computation, "
             f"{fabric}: how much longer than the longer of the two",
             "percent", "percent", "overlap {case} 16777216 {ms} 20",
             fabric=fabric, cases=("sender", "receiver", "both"))
      for fabric in ("shm", "tcp")),
    *(Figure(f"deliver-{fabric}{mode}", f"from MPI_Send over {fabric} until the "
             "bytes are in the memory of a process that computes for 10 ms"
             + (", with a progress thread for all messages" if mode else ""),
             "us", "us", "deliver {ms}", fabric=f"{fabric}{mode}",
             targets={8: "<= 1000"} if mode else None)
      for mode in ("", "-helped")
      for fabric in ("shm", "tcp", "udp-reliable", "sctp", "thread")),
    *(Figure(f"types-{kind}", f"creating, committing and freeing {what}, by "
             "the number of blocks", "ns per block", "ns",
             f"calls types {kind} {{ms}}", fabric="shm", ranks=1,
             targets=dict.fromkeys((64, 8192, 1 << 20), "<= 1.2 peer"))
      for kind, what in (("indexed", "MPI_Type_indexed"),
                         ("block", "MPI_Type_create_indexed_block"),
                         ("hindexed", "MPI_Type_create_hindexed"),
                         ("struct", "MPI_Type_create_struct"))),
    *(Figure(f"partitioned-{fabric}", "a round of 64 KB of partitioned "
             f"communication over {fabric}, by partitions", "us", "us",
             "partitioned 65536 {ms}", fabric=fabric, targets=dict.fromkeys(
                 (4 ** k for k in range(7)), "<= 1.2 peer"))
      for fabric in ("shm", "tcp")),
    Figure("jobs", "round trip between two jobs, divided by one inside a job, "
           "by bytes", "times", "ratio", "jobs {ms}", fabric="jobs",
           targets=dict.fromkeys((16 ** k for k in range(5)), "<= 1.03")),
    Figure("meet", "jobs that begin and meet: MPI_Comm_spawn of four by one "
           "process, under its launcher and without one; connect with accept, "
           "one client and 64 at once", "ms", "ms", "meet {case} {ms}",
           fabric="alone", cases=tuple(MEETINGS),
           ranks={case: ranks for case, (ranks, _) in MEETINGS.items()},
           targets={case: target for case, (_, target) in MEETINGS.items()}),
    Figure("requests", "one call: tests of 64 pending requests, and calls that "
           "ask an object", "ns", "ns", "calls requests {case} {ms}",
           fabric="shm", cases=CALLS, targets=dict.fromkeys(CALLS, "<= 1 peer")),
    Figure("ops", "allreduce of two ranks by operation", "us", "us",
           "calls ops {case} {ms}", fabric="shm", cases=OPERATIONS,
           targets=dict.fromkeys(OPERATIONS, "<= 1 peer")),
    Figure("alloc", "MPI_Alloc_mem and MPI_Free_mem by bytes, again and again",
           "us", "us", "calls alloc {case} {ms}", fabric="shm",
           cases=("4K", "1M", "16M"),
           targets={"1M": "<= 2", "16M": "<= 2"}),
    Figure("serve", "answer of a process that computes in one thread and "
           "serves in another, 10000 bytes", "us", "us", "serve {case} {ms}",
           cases=("event", "poll")),
    Figure("serve-cost", "part of that computation that serving once a "
           "millisecond costs", "percent", "percent", "serve {case} {ms}",
           cases=("event", "poll")),
    *(Figure("rma" + suffix, "one-sided communication in a window of "
             f"MPI_Win_allocate, {fabric}: with the flush where there is one "
             "(rows of fence and groups: all ranks)", "ns", "ns",
             "rma {case} {ms}", "" if suffix else "rma {case} {ms}", fabric,
             cases=cases, targets=targets)
      for suffix, fabric, cases, targets in (
          ("", "shm", ("lock", "lock-all", "lock-put-unlock", "put-8", "get-8",
                       "fetch-and-op", "compare-and-swap", "accumulate-8",
                       "put-1M", "get-1M", "accumulate-64K", "barrier",
                       "fence", "groups", "allocate-free"),
           {"lock": "<= 20", "lock-all": "<= 20", "put-8": "<= 25",
            "get-8": "<= 25", "fetch-and-op": "<= 30",
            "compare-and-swap": "<= 30", "accumulate-8": "<= 30",
            "accumulate-64K": "<= 1400", "fence": "<= 1.1 row barrier",
            "groups": "<= 600", "allocate-free": "<= 24000"}),
          ("-tcp", "tcp", ("lock-put-unlock", "put-8", "fetch-and-op",
                           "compare-and-swap"), None))),
    *(figure for suffix, folder in (("", "/dev/shm"), ("-disk", "{out}"))
      for figure in over_files(suffix, folder)),
    Figure("idle", "half round trip of 1 byte, alone and beside an idle "
           "transport", "us", "us", "pingpong beside 1 1 4 {ms}",
           fabric="{case}", cases=("shm", "shm+tcp", "tcp", "tcp+shm"),
           targets={"shm+tcp": "<= 1.05 row shm",
                    "tcp+shm": "<= 1.05 row tcp"}),
    *(Figure(f"fabrics-{which}", f"half round trip of 1 byte over the {which} "
             "of two fabrics of one process, alone and while the other is "
             "used", "us", f"us-{which}", "fabrics {case} {ms}", fabric="far",
             ranks=3, cases=cases)
      for which, cases in (
          ("fast", ("alone-fast", "any-fast", "idle", "threads", "one")),
          ("slow", ("alone-slow", "any-slow", "threads", "one")))),
    *(Figure(f"idle-{source}", "half round trip of 1 byte received from "
             f"{what}, beside that many idle transports", "us", "us",
             f"pingpong {source} 1 1 4 {{ms}}", fabric="shm+{case}",
             cases=("0", "1", "2", "3"), quick=("0", "3"),
             targets=dict.fromkeys(("1", "2", "3"), "<= 1.1 row 0"))
      for source, what in (("named", "the other rank"),
                           ("any", "MPI_ANY_SOURCE"))),
    *(Figure("channel" + ("-tcp" if fabric == "tcp" else "") + suffix,
             f"start {kind} a real-time channel beside bulk of the pair, "
             f"{fabric}: half round trip by percentile times 100"
             + (" (raw: a cache line)" if fabric == "shm" else ""), "us", "us",
             f"channel {kind} {{starts}} {{limit_ms}}",
             "shm percentiles {starts} {limit_ms}" if fabric == "shm" else "",
             fabric, targets={9999: "<= 3 row 5000"} if kind == "with"
             else None)
      for fabric in ("shm", "tcp")
      for kind, suffix in (("with", ""), ("without", "-without"))),
    Figure("start", "mpirun of a program that only starts and ends (raw: "
           "fork and exec of a C program)", "ms", "wall", "hello",
           "spawn {case} {out}/raw_hello", ranks="case",
           cases=("1", "2", "4", "8", "16", "32", "64", "128", "256"),
           quick=("2", "16"), targets={"2": "<= 15", "64": "<= 150",
                                       "256": "<= 768"}),
    *(Figure(f"memory-{key}", title, "KB", f"{key}_kb", "memory",
             ranks="case", cases=("2", "8", "32"), quick=("2", "8"), **more)
      for key, title, more in (
          ("rss", "resident memory of a rank", {"targets": {"2": "<= 3072"}}),
          ("pss", "its proportional share", {}),
          ("peer", "resident memory per peer talked to", {}))),
    Figure("memory-threads", "memory of a process of that many ranks that are "
           "threads, for each of them", "KB", "rss_kb", "memory threads",
           fabric="thread", ranks="case", cases=("16", "64", "256", "1000"),
           quick=("16",), targets={"64": "<= 104", "256": "<= 116",
                                    "1000": "<= 164"}),
    Figure("memory-pairs", "what an alltoall adds to it, by ordered pair", "KB",
           "peer_kb", "memory threads", fabric="thread",
           ranks="case", cases=("16", "64", "256", "1000"), quick=("16",),
           targets={"256": "<= 0.0625", "1000": "<= 0.0625"}),
    Figure("size", "files", "KB", "kb", "size {case}", "size {case}",
           cases=("program", "loaded", "static", "archive"),
           targets={"static": "<= +300 raw"}),
    # limits of the machine that have no counterpart in MPI
    Figure("raw-latency", "one byte over loopback and back, half", "us", "us",
           raw="socket {case} {ms}",
           cases=("tcp polling", "tcp blocking", "udp polling",
                  "udp blocking")),
    Figure("raw-message", "half round trip of a cache line, and of messages "
           "with header and status", "us", "us", raw="shm {case} {ms}",
           cases=("line", "header")),
    Figure("raw-copy", "shared memory: one copy by one side or both", "GB/s",
           "gbs", raw="shm {case} 1048576 1048576 4 {ms}", more=True,
           cases=("ring", "direct", "halves")),
    Figure("raw-congestion", "TCP stream of 1 MB writes by congestion control",
           "GB/s", "gbs", raw="socket {case} 1048576 1048576 4 {ms}",
           more=True, cases=("default", *congestion_controls())),
    Figure("raw-wake", "waking a process that slept 2 ms", "us", "us",
           raw="wake {case} 300", cases=("futex", "eventfd")),
]
