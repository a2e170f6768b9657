#!/usr/bin/env python3
"""What each transport brings through a cable that loses packets.

    goodput.py [--loss PERCENT] [--delay MS] [--rounds N] [--seconds S]
               [--size BYTES] [--count N] [ROUTE[,KEY=VALUE...]]...

Two hosts, a cable between them that loses so much of what goes either way
and delays it by MS. For each ROUTE, in turn, and so N times with other seeds:
windows of N messages with a tag each (MB/s), and 8 bytes back and forth
(microseconds: median, 99 and 99.9 percent). The last column is goodput
divided by that of the first route of the same round, the median of the
rounds. Without a number of rounds: a test that it works.

    goodput.py --rounds 3 --loss 1 tcp udp-reliable
    goodput.py --rounds 3 --loss 1 --delay 5 --seconds 4 tcp sctp

SPDX-License-Identifier: BSD-3-Clause
"""
import argparse
import os
import statistics
import subprocess
import unittest

import faultnet

MPIRUN = os.environ.get("MPIRUN", "mpirun")
WIRE = os.environ.get("WIRE", "netns_wire")
PROGRAM = os.environ.get("GOODPUT", "netns_goodput")
FABRICS = os.environ.get("FABRICS", "tcp udp-reliable sctp").split()
LIMIT = 120


def numbers(net, route, *words):
    name, *settings = route.split(",")
    sets = [w for s in settings for w in ("--set", f"transport.{name}.{s}")]
    r = subprocess.run(
        net.command([MPIRUN, "-n", "2", "--route", name, *sets, PROGRAM,
                     *map(str, words)]),
        capture_output=True, text=True, timeout=LIMIT)
    if r.returncode:
        raise RuntimeError(f"{route}: {r.stderr}")
    return [float(w) for w in r.stdout.split()]


def one_round(args, seed):
    """For each route: goodput, and three times."""
    with faultnet.Net(WIRE, seed=seed) as net:
        net.wait_for_carrier()
        net.fault(f"all:loss={args.loss},delay={args.delay}")
        return [numbers(net, route, "stream", args.size, args.count,
                        args.seconds) +
                numbers(net, route, "pong", 8, args.seconds / 4)
                for route in args.route]


def table(args):
    rounds = [one_round(args, 1 + 10 * i) for i in range(args.rounds)]
    print(f"{args.loss} % lost each way, round trip {2 * args.delay} ms, "
          f"{args.count} x {args.size} B, {args.seconds} s, "
          f"{args.rounds} rounds")
    print(f"{'':32}    MB/s (each)             p50      p99    p99.9  times")
    for i, route in enumerate(args.route):
        own = [r[i] for r in rounds]
        times = statistics.median(r[i][0] / r[0][0] for r in rounds)
        each = " ".join(f"{x[0]:.2f}" for x in own)
        late = "".join(f" {statistics.median(x[k] for x in own):8.0f}"
                       for k in (1, 2, 3))
        print(f"{route:32} {statistics.median(x[0] for x in own):7.2f} "
              f"({each}){late} {times:6.2f}")


class Goodput(unittest.TestCase):
    def test_each_transport_passes_something(self):
        args = argparse.Namespace(loss=1, delay=1, size=30000, count=16,
                                  seconds=0.1, route=FABRICS)
        for row in one_round(args, 1):
            self.assertEqual(len(row), 4)
            self.assertGreater(min(row), 0)

    def test_what_is_sent_again_is_counted(self):
        with faultnet.Net(WIRE, seed=1) as net:
            net.wait_for_carrier()
            net.fault("all:loss=5")
            for route in FABRICS:
                with self.subTest(route=route):
                    r = subprocess.run(
                        net.command([MPIRUN, "-n", "2", "--route", route,
                                     "--set", "core.stats=yes", PROGRAM,
                                     "stream", "30000", "16", "0.3"]),
                        capture_output=True, text=True, timeout=LIMIT)
                    self.assertEqual(r.returncode, 0, r.stderr)
                    self.assertRegex(r.stderr, rf"{route} +sent again [1-9]\d* "
                                     "packets, after")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name, usual in (("loss", 1.0), ("delay", 0.0), ("seconds", 2.0)):
        parser.add_argument(f"--{name}", type=float, default=usual)
    for name, usual in (("rounds", 0), ("size", 30000), ("count", 16)):
        parser.add_argument(f"--{name}", type=int, default=usual)
    parser.add_argument("route", nargs="*", default=FABRICS)
    args = parser.parse_args()
    if args.rounds:
        table(args)
    else:
        faultnet.test_main(WIRE)


if __name__ == "__main__":
    try:
        main()
    except faultnet.Trouble as e:
        print(f"skipped: {e}")
        raise SystemExit(faultnet.SKIP) from e
