"""sctp on two cables: one is cut, silently, and the job goes on by the other;
it heals, and is used again; then the other is cut. And several associations
over one cable that loses packets.

SPDX-License-Identifier: BSD-3-Clause
"""
import os
import re
import subprocess
import sys
import unittest

import faultnet

MPIRUN = os.environ.get("MPIRUN", "mpirun")
WIRE = os.environ.get("WIRE", "netns_wire")
GAP = os.environ.get("GAP", "./netns_gap")
LIMIT = 500  # seconds; only a hang takes so long
LONGEST_MS = 20000  # milliseconds on a quiet machine


class Paths(unittest.TestCase):
    def job(self, steps, values="heartbeat=100ms"):
        """The longest exchange in ms. STEPS are pairs: what a rank says, and
        the fault that follows. VALUES are words of the ranks' shells."""
        shell = (f'WEFT_SET="core.log=info; core.stats=yes; transport.sctp.'
                 f'{values}" exec {GAP}')
        with faultnet.Net(WIRE, hosts=2, cables=2) as net:
            net.wait_for_carrier()
            job = subprocess.Popen(
                net.command([MPIRUN, "-n", "2", "--timeout", str(LIMIT),
                             "--route", "sctp", "sh", "-c", shell]),
                stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                stderr=subprocess.PIPE, text=True)
            self.addCleanup(job.kill)
            heard = []
            for words, fault in steps:
                self.hear(job, words, heard)
                if fault:
                    net.fault(fault)
            out, err = job.communicate()
        self.assertEqual(job.returncode, 0, out + "".join(heard) + err)
        return int(re.search(r"longest_ms=(\d+)", out)[1])

    def hear(self, job, words, heard):
        for line in job.stderr:
            heard.append(line)
            if re.search(words, line):
                return
        self.fail(f"nobody said '{words}':\n{''.join(heard)}")

    def test_a_cut_path_is_left_and_taken_again_when_it_is_back(self):
        longest = self.job([
            ("begun", "0:cut"),
            (r"path net0 -> 10\.90\.0\.\d:\d+ to process \d failed", None),
            (r"now go net1 -> 10\.90\.1\.\d", "0:heal"),
            (r"path net0 -> .* is back", None),
            (r"now go net0 -> 10\.90\.0\.\d", "1:cut"),
            (r"path net1 -> .* failed", None)])
        print(f"  longest exchange {longest} ms", file=sys.stderr)
        self.assertLess(longest, LONGEST_MS)

    def test_associations_of_different_numbers_meet_and_lose_nothing(self):
        self.job([("begun", "all:loss=2,delay=1")],
                 "associations=$((1 + 7 * PMI_RANK))")


if __name__ == "__main__":
    faultnet.test_main(WIRE)
