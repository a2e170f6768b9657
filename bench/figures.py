"""What is measured: the figures, their programs, and what Weft must reach.

SPDX-License-Identifier: BSD-3-Clause
"""
import os
import shutil
import subprocess

M = 1 << 20


class Figure:
    """One table of the report."""
    more_is_better = False
    wall = False            # the run's own duration is the sample
    times = 1               # short runs are repeated more often
    ranks_are_size = False
    ranks = 2
    fabric = "any"
    metrics = ()
    targets = {}

    def __init__(self, name, title, **more):
        self.name = name
        self.title = title
        self.__dict__.update(more)

    def job(self, lib, args):
        """(command, environment) of one run, or None: not for this library"""
        words = self.program(lib.name, args.quick)
        if words is None:
            return None
        program = [str(args.out / f"{lib.name}_{words[0]}")]
        return lib.command(self.ranks, self.fabric, program + words[1:])


class Latency(Figure):
    metrics = ("half_round_trip_us",)

    def program(self, lib, quick):
        ms = "60" if quick else "150"
        if lib == "raw":
            more = ["default"] if self.fabric == "tcp" else []
            return [self.fabric, "latency", *more, ms]
        return ["pingpong", "1", "1024" if quick else "65536",
                "8" if quick else "4", ms]


class PingPong(Figure):
    """Bandwidth of a ping-pong: what one message alone gets."""
    metrics = ("half_round_trip_us",)

    def program(self, lib, quick):
        if lib == "raw":
            return None
        return ["pingpong", "65536", str(16 * M), "16" if quick else "4",
                "80" if quick else "200"]


class Stream(Figure):
    metrics = ("stream_gbs",)
    more_is_better = True

    def program(self, lib, quick):
        last = str(4 * M if quick else 16 * M)
        ms = "80" if quick else "200"
        if lib == "raw":
            return None
        return ["stream", "65536", last, "4", "16", ms]


class RawStream(Stream):
    """One raw run per size, since the program takes one."""

    def job(self, lib, args):
        if lib.name != "raw":
            return super().job(lib, args)
        program = str(args.out / f"raw_{self.fabric}")
        ms = "80" if args.quick else "200"
        sizes = [65536, 262144, M, 4 * M] + ([] if args.quick else [16 * M])
        script = "; ".join(self.one(program, size, ms) for size in sizes)
        return ["/bin/sh", "-c", script], dict(os.environ)


    def one(self, program, size, ms):
        if self.fabric != "tcp":
            return f"'{program}' stream {size} {ms}"
        # reno is the fastest over loopback, where the system allows it
        return (f"'{program}' stream reno {size} {ms} 2>/dev/null || "
                f"'{program}' stream default {size} {ms}")


class Rate(Figure):
    metrics = ("rate_mps",)
    more_is_better = True

    def program(self, lib, quick):
        ms = "150" if quick else "400"
        if lib == "raw":
            return ["shm", "rate", ms] if self.fabric == "shm" else None
        return ["stream", "8", "8", "2", "64", ms]


class Barrier(Figure):
    metrics = ("barrier_us",)
    ranks_are_size = True

    def program(self, lib, quick):
        ms = "150" if quick else "400"
        return ["barrier", str(self.ranks), ms] if lib == "raw" \
            else ["barrier", ms]


class Blocked(Figure):
    metrics = ("blocked_percent",)

    def program(self, lib, quick):
        return None if lib == "raw" else ["blocked", "1" if quick else "2"]


class Start(Figure):
    metrics = ("start_ms",)
    ranks_are_size = True
    wall = True

    def job(self, lib, args):
        if lib.name == "raw":
            script = (f"'{args.out / 'raw_spawn'}' {self.ranks} 1 "
                      f"{shutil.which('true')}")
            return ["/bin/sh", "-c", script], dict(os.environ)
        return super().job(lib, args)

    def program(self, lib, quick):
        return ["hello"]


class Memory(Figure):
    metrics = ("rss_kb",)
    ranks_are_size = True

    def program(self, lib, quick):
        return None if lib == "raw" else ["hello", "memory"]


class Pss(Memory):
    metrics = ("pss_kb",)


class StaticSize(Figure):
    """Bytes of a stripped static hello; no other library offers one."""
    metrics = ("file_kb",)

    def job(self, lib, args):
        if lib.name not in ("raw", "weft"):
            return None
        target = args.out / f"{lib.name}_static"
        source = args.out / "raw_static.c"
        if lib.name == "raw":
            source.write_text('#include <stdio.h>\n'
                              'int main(void) { puts("hello"); }\n')
        else:
            source = os.path.join(os.path.dirname(__file__), "mpi_hello.c")
        words = [lib.compiler, "-static", "-Os", "-s", str(source), "-o",
                 str(target)]
        subprocess.run(words, check=True)
        script = ('kb=$(( ($(stat -c %s "$0") + 1023) / 1024 )); '
                  'echo file_kb 0 $kb $kb')
        return ["/bin/sh", "-c", script, str(target)], dict(os.environ)


FIGURES = [
    Latency("shm-latency", "half round trip over shared memory, us",
            fabric="shm", targets={1: 0.15}),
    RawStream("shm-stream", "messages in flight over shared memory, GB/s",
              fabric="shm", targets={M: 20}),
    PingPong("shm-pingpong", "half round trip of large messages, shm, us",
             fabric="shm", targets={M: 52.4}),  # 20 GB/s
    Rate("shm-rate", "8-byte messages over shared memory, million per second",
         fabric="shm"),
    Latency("tcp-latency", "half round trip over TCP, us", fabric="tcp",
            targets={1: 5}),
    RawStream("tcp-stream", "messages in flight over TCP, GB/s",
              fabric="tcp"),
    PingPong("tcp-pingpong", "half round trip of large messages, TCP, us",
             fabric="tcp"),
    Rate("tcp-rate", "8-byte messages over TCP, million per second",
         fabric="tcp"),
    Barrier("barrier-2", "barrier, 2 ranks, us", ranks=2, fabric="shm"),
    Barrier("barrier-16", "barrier, 16 ranks, us", ranks=16, fabric="shm"),
    Blocked("blocked-shm", "CPU of a rank blocked in MPI_Recv, percent",
            fabric="shm", targets={0: 2}),
    Blocked("blocked-tcp", "CPU of a rank blocked in MPI_Recv, percent",
            fabric="tcp", targets={0: 2}),
    Start("start-2", "mpirun -n 2 hello, ms", ranks=2, targets={2: 30},
          times=5),
    Start("start-64", "mpirun -n 64 hello, ms", ranks=64),
    Memory("memory-rss", "resident memory of a hello rank, KB",
           targets={2: 3072}),
    Pss("memory-pss", "proportional share of it, KB"),
    StaticSize("size-static", "file of a static hello, KB",
               targets={0: 1024}),
]
