"""Routes with failover, while cables are cut and connections killed.

    cuts.py [CUTS [-k NAME]]    how many in each case; 2 without a number.
                                PAUSE: seconds between two faults

Every message of the traffic is checked by its receiver (cuts.c); the longest
gaps are printed, and bounded generously: machines that test are busy.

SPDX-License-Identifier: BSD-3-Clause
"""
import os
import re
import subprocess
import sys
import tempfile
import time
import unittest

import faultnet

MPIRUN = os.environ.get("MPIRUN", "mpirun")
WIRE = os.environ.get("WIRE", "netns_wire")
TRAFFIC = os.environ.get("CUTS", "./netns_cuts")
CUTS = 2
BULK_SECONDS = 6  # a lost SYN alone takes a cable away for one or two
LIMIT = 120  # seconds beyond the traffic's own
GAP = 20000  # ms; the printed figures are what counts
PAUSE = float(os.environ.get("PAUSE", "0.3"))  # seconds between two faults
FAST, SLOW, THIRD = "tcp", "udp-reliable", "sctp"
FABRICS = os.environ.get("FABRICS", "tcp udp-reliable sctp").split()


class Cuts(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="cuts")
        self.addCleanup(folder.cleanup)
        self.dir = folder.name

    def ini(self, plugins, failover="auto", more="", security="auto",
            policy="order"):
        text = "".join(
            f"[transport net{i}]\nplugin = {plugin}\n"
            f"interface = 10.90.{i}.0/24\n{more}"
            for i, plugin in enumerate(plugins))
        names = ", ".join(f"net{i}" for i in range(len(plugins)))
        path = os.path.join(self.dir, "mpi.ini")
        with open(path, "w", encoding="utf-8") as f:
            f.write(f"{text}[route all]\nuse = {names}\n"
                    f"failover = {failover}\nfailback = 100ms\n"
                    f"security = {security}\npolicy = {policy}\n"
                    "[core]\nstats = yes\n")
        os.chmod(path, 0o600)
        return path

    def traffic(self, plugins, mode, fault, heal=None, ranks=2, **options):
        """Run it; fault and heal are done CUTS times."""
        missing = set(plugins) - set(FABRICS)
        if missing:
            self.skipTest(f"this build has no {', '.join(missing)}")
        seconds = PAUSE * (CUTS * (2 if heal else 1) + 2)
        with faultnet.Net(WIRE, cables=len(plugins)) as net:
            job = subprocess.Popen(
                net.command([MPIRUN, "-n", str(ranks), "--ini",
                             self.ini(plugins, **options), TRAFFIC, mode,
                             str(seconds)]),
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            try:
                time.sleep(PAUSE)
                for _ in range(CUTS):
                    for what in filter(None, (fault, heal)):
                        net.fault(what)
                        time.sleep(PAUSE)
                out, err = job.communicate(timeout=seconds + LIMIT)
            finally:
                job.kill()
                job.wait()
        self.assertEqual(job.returncode, 0, err)
        words = out.split()
        self.assertEqual(words[0:5:2], ["messages", "longest", "gaps"],
                         out + err)
        gaps = sorted(map(int, words[5:]))[-CUTS:] or [0]
        print(f"  {' -> '.join(plugins)} {mode}, {CUTS} x {fault}: "
              f"{words[1]} messages; longest gap {words[3]} ms, median of the "
              f"longest {CUTS}: {gaps[len(gaps) // 2]} ms; above 20 ms "
              f"{sum(g > 0 for g in gaps)}, above 50 ms "
              f"{sum(g > 50 for g in gaps)}, 250 ms "
              f"{sum(g > 250 for g in gaps)}", file=sys.stderr)
        self.assertGreater(int(words[1]), CUTS)
        moves = [int(n) for n in re.findall(r"failover: (\d+) moves", err)]
        self.assertEqual(len(moves), ranks, err)
        print(f"    moves of each rank: {moves}", file=sys.stderr)
        self.assertLess(float(words[3]), GAP)

    def test_tcp_to_udp_and_back(self):
        self.traffic((FAST, SLOW), "pingpong", "0:cut", "0:heal")

    def test_udp_to_tcp_and_back(self):
        self.traffic((SLOW, FAST), "stream", "0:cut", "0:heal")

    def test_tcp_to_sctp_and_back(self):
        self.traffic((FAST, THIRD), "stream", "0:cut", "0:heal")

    def test_two_tcp_networks_under_collectives(self):
        self.traffic((FAST, FAST), "alltoall", "0:cut", "0:heal", ranks=4)

    def test_one_way_only(self):
        self.traffic((FAST, SLOW), "pingpong", "0:oneway", "0:heal")

    def test_a_connection_that_is_killed_is_made_again(self):
        self.traffic((FAST,), "stream", "kill", failover="yes")

    def test_damage_below_the_checksum_is_repaired(self):
        self.traffic((FAST, FAST), "pingpong", "all:corrupt=1", "all:heal")

    def test_a_cut_stripe_is_repaired_by_the_others(self):
        for plugins, cable, security in (((FAST, FAST), 1, "auto"),
                                         ((FAST, SLOW), 0, "auto"),
                                         ((FAST, SLOW), 0, "encrypt")):
            with self.subTest(plugins=plugins, cable=cable,
                              security=security):
                self.traffic(plugins, "stream", f"{cable}:cut",
                             f"{cable}:heal", policy="stripe",
                             security=security)

    def test_a_stripe_is_carried_by_both_cables(self):
        for security in ("auto", "encrypt"):
            with self.subTest(security=security):
                self.stripe(security)

    def stripe(self, security):
        with faultnet.Net(WIRE, cables=2) as net:
            net.fault("all:rate=100")
            r = subprocess.run(
                net.command([MPIRUN, "-n", "2", "--ini",
                             self.ini((FAST, FAST), policy="stripe",
                                      security=security), TRAFFIC,
                             "bulk", str(BULK_SECONDS)]),
                capture_output=True, text=True, timeout=LIMIT)
        self.assertEqual(r.returncode, 0, r.stderr)
        print(f"  {security}: {r.stdout}", file=sys.stderr, end="")
        for what in (r"rank 0: (net\d) +sent \d+ messages, (\d+) bytes",
                     r"rank 1: (net\d) .*received \d+ messages, (\d+) bytes"):
            found = dict(re.findall(what, r.stderr))
            shares = [int(found.get(f"net{i}", 0)) for i in range(2)]
            print(f"  stripe: {shares} bytes", file=sys.stderr)
            self.assertGreater(10 * min(shares), sum(shares), r.stderr)

    def test_what_is_encrypted_is_repaired_too(self):
        self.traffic((FAST,), "stream", "all:corrupt=1", "all:heal",
                     security="encrypt")

    def test_what_is_encrypted_moves_to_another_transport(self):
        self.traffic((FAST, SLOW), "pingpong", "0:cut", "0:heal",
                     security="encrypt")


    def test_accumulates_are_applied_once(self):
        for plugins, fault, security in (
                ((FAST, SLOW), "0:cut", "auto"),
                ((SLOW, FAST), "0:cut", "auto"),
                ((FAST, SLOW), "0:cut", "encrypt"),
                ((FAST, FAST), "0:kill", "encrypt")):
            with self.subTest(plugins=plugins, fault=fault,
                              security=security):
                heal = "0:heal" if fault == "0:cut" else None
                self.traffic(plugins, "accumulate", fault, heal,
                             security=security)


def all_of_them():
    """By hand: every mode over every pair of transports, cut in silence, or,
    where the better one is TCP, with its connection killed."""
    for plugins in ((FAST, SLOW), (SLOW, FAST), (FAST, FAST), (FAST, THIRD),
                    (THIRD, FAST)):
        for mode in ("pingpong", "stream", "alltoall"):
            for name, faults in (("all", ("0:cut", "0:heal")),
                                 ("kills", ("0:kill",))):
                if name == "kills" and plugins[0] != FAST:
                    continue

                def case(self, plugins=plugins, mode=mode, faults=faults):
                    self.traffic(plugins, mode, *faults,
                                 ranks=4 if mode == "alltoall" else 2)
                setattr(Cuts, f"test_{name}_{'_'.join(plugins)}_{mode}", case)


if __name__ == "__main__":
    if len(sys.argv) > 1 and sys.argv[1].isdigit():
        CUTS = int(sys.argv.pop(1))
        all_of_them()
    faultnet.test_main(WIRE, verbosity=1)
