"""sctp on two cables: one is cut, silently, and the job goes on by the other;
it heals, and is used again; then the other is cut.

SPDX-License-Identifier: BSD-3-Clause
"""
import os
import re
import subprocess
import unittest

import faultnet

MPIRUN = os.environ.get("MPIRUN", "mpirun")
WIRE = os.environ.get("WIRE", "netns_wire")
GAP = os.environ.get("GAP", "./netns_gap")
LIMIT = 120
PATIENCE_MS = 2000  # what a cut may cost; heavily loaded machines included


class Paths(unittest.TestCase):
    def job(self, seconds, faults):
        """Exchanges, the longest in ms, and what the ranks said."""
        with faultnet.Net(WIRE, hosts=2, cables=2) as net:
            net.wait_for_carrier()
            job = subprocess.Popen(
                net.command([MPIRUN, "-n", "2", "--route", "sctp", "--set",
                             "core.log=info", "--set", "core.stats=yes", "--set",
                             "transport.sctp.heartbeat=100ms", GAP,
                             str(seconds)]),
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                stderr=subprocess.PIPE, text=True)
            net.faults_during(job, faults)
            out, err = job.communicate(timeout=LIMIT)
        self.assertEqual(job.returncode, 0, out + err)
        found = re.search(r"exchanges=(\d+) longest_ms=(\d+)", out)
        return int(found[1]), int(found[2]), err

    def test_a_cut_path_costs_less_than_two_seconds_and_comes_back(self):
        count, longest, err = self.job(3, [(0.7, "0:cut"), (1.5, "0:heal"),
                                           (2.2, "1:cut")])
        self.assertGreater(count, 50, err)
        self.assertLess(longest, PATIENCE_MS, err)
        self.assertRegex(err, r"path net0 -> 10\.90\.0\.\d:\d+ to process \d "
                              r"failed")
        self.assertRegex(err, r"now go net1 -> 10\.90\.1\.\d")
        self.assertRegex(err, r"path net0 -> .* is back")
        self.assertRegex(err, r"now go net0 -> 10\.90\.0\.\d")


if __name__ == "__main__":
    faultnet.test_main(WIRE)
