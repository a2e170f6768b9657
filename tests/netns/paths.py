"""sctp on two cables: one is cut, silently, and the job goes on by the other;
it heals, and is used again; then the other is cut. And several associations
over one cable that loses packets.

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
    def job(self, seconds, faults, values="heartbeat=100ms"):
        """Exchanges, the longest in ms, and what the ranks said. VALUES are
        words of the ranks' shells."""
        shell = (f'WEFT_SET="core.log=info; core.stats=yes; transport.sctp.'
                 f'{values}" exec {GAP} {seconds}')
        with faultnet.Net(WIRE, hosts=2, cables=2) as net:
            net.wait_for_carrier()
            job = subprocess.Popen(
                net.command([MPIRUN, "-n", "2", "--route", "sctp", "sh", "-c",
                             shell]),
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

    def test_associations_of_different_numbers_meet_and_lose_nothing(self):
        count, _, err = self.job(2, [(0, "all:loss=2,delay=1")],
                                 "associations=$((1 + 7 * PMI_RANK))")
        self.assertGreater(count, 16, err)


if __name__ == "__main__":
    faultnet.test_main(WIRE)
