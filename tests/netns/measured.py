"""policy = measured: traffic leaves a path that has become slow, and nothing is
lost, altered or overtaken meanwhile, which every message of netns_cuts checks.

    host a  net0 ---- cable that gets slow ---- net0  host b
            net1 ---- cable ------------------- net1

SPDX-License-Identifier: BSD-3-Clause
"""
import os
import re
import subprocess
import tempfile
import time
import unittest

import faultnet

MPIRUN = os.environ.get("MPIRUN", "mpirun")
WIRE = os.environ.get("WIRE", "netns_wire")
TRAFFIC = os.environ.get("CUTS", "./netns_cuts")
INFO = os.environ.get("INFO", "weft-info")
EVERY = 0.1   # seconds between two measurements
SECOND = b"there was traffic for a second\n"
LIMIT = 120   # seconds beyond the traffic's own
SLOW = "delay=12"  # ms each way; failover begins to doubt at 50 ms


class Measured(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="measured")
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "mpi.ini")

    def ini(self, policy):
        text = "".join(f"[transport net{i}]\nplugin = tcp\n"
                       f"interface = 10.90.{i}.0/24\n" for i in (0, 1))
        with open(self.path, "w", encoding="utf-8") as f:
            f.write(f"{text}[route all]\nuse = net0, net1\npolicy = {policy}\n"
                    f"measure = {int(EVERY * 1000)}ms\nfailback = 0s\n"
                    "[core]\nstats = yes\n")
        os.chmod(self.path, 0o600)
        return self.path

    def traffic(self, mode, faults, seconds, policy="measured"):
        """Run it with (seconds, fault), counted from the end of the first
        second of traffic, in which the paths are measured. Returns for each
        rank the moves, those to a better path, and the containers that it sent
        through each network. Of the moves some may be those of failover, where
        this machine is slow."""
        with faultnet.Net(WIRE, cables=2) as net:
            net.wait_for_carrier()
            job = subprocess.Popen(
                net.command([MPIRUN, "-n", "2", "--ini", self.ini(policy),
                             TRAFFIC, mode, str(seconds), "tell"]),
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            try:
                self.await_second(job)
                begin = time.monotonic()
                for at, what in faults:
                    time.sleep(max(0, begin + at - time.monotonic()))
                    net.fault(what)
                out, err = job.communicate(timeout=seconds + LIMIT)
            finally:
                job.kill()
                job.wait()
        self.assertEqual(job.returncode, 0, err)
        self.assertTrue(out.startswith("messages "), out + err)
        moves = [int(n) for n in re.findall(r"failover: (\d+) moves", err)]
        sent = [{name: int(n) for name, n in re.findall(
            rf"rank {rank}: (net\d) +sent (\d+) messages", err)}
            for rank in (0, 1)]
        self.assertEqual(len(moves), 2, err)
        cheaper = [int(n) for n in re.findall(r"after (\d+) moves for that",
                                              err)]
        self.assertEqual(len(cheaper), 2 * (policy == "measured"), err)
        return moves, cheaper, sent, err

    @staticmethod
    def await_second(job):
        """Read stderr, no byte more than needed, until that line or the
        end."""
        said = b""
        while not said.endswith(SECOND):
            byte = os.read(job.stderr.fileno(), 1)
            if not byte:
                return
            said += byte

    def test_traffic_leaves_a_path_that_becomes_slow(self):
        for mode in ("pingpong", "stream"):
            with self.subTest(mode=mode):
                moves, cheaper, sent, err = self.traffic(
                    mode, [(0, "0:" + SLOW)], 6)
                self.assertGreaterEqual(moves[0], 1, err)
                self.assertLessEqual(max(cheaper), 3, err)
                self.assertGreater(sent[0].get("net1", 0), 100, err)
                self.assertRegex(err, r"rank 0: process 1: measured net0 "
                                 r"[\d.]+ us, net1 [\d.]+ us; now through "
                                 r"'net1', after \d moves for that")

    def test_bulk_leaves_a_path_that_lets_less_through(self):
        _, cheaper, sent, err = self.traffic("bulk", [(0, "0:rate=40")],
                                             12)
        self.assertLessEqual(max(cheaper), 4, err)
        self.assertGreater(sent[0].get("net1", 0), 100, err)
        self.assertIn("now through 'net1'", err)

    def test_with_an_order_of_preference_it_stays(self):
        moves, _, sent, err = self.traffic(
            "pingpong", [(0, "0:" + SLOW)], 4, policy="order")
        self.assertGreater(sent[0]["net0"], 10, err)
        if moves == [0, 0]:  # no failover, either
            self.assertLess(sent[0].get("net1", 0), 10, err)
        self.assertNotIn("measured", err)

    def test_equal_paths_are_left_alone(self):
        _, cheaper, _, err = self.traffic("pingpong", [], 6)
        self.assertLessEqual(max(cheaper), 1, err)

    def test_it_comes_back_when_the_other_path_is_slow(self):
        moves, cheaper, _, err = self.traffic(
            "pingpong", [(0, "0:" + SLOW), (4, "0:heal"),
                         (4, "1:" + SLOW)], 11)
        self.assertGreaterEqual(moves[0], 2, err)
        self.assertLessEqual(max(cheaper), 5, err)
        self.assertIn("now through 'net0'", err)

    def test_explain_says_so(self):
        done = subprocess.run([INFO, "--ini", self.ini("measured"),
                               "--explain", "0@a->1@b"], capture_output=True,
                              text=True, timeout=LIMIT)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("measured: starts with 'net0', and may move to 'net1'",
                      done.stdout)


if __name__ == "__main__":
    faultnet.test_main(WIRE)
