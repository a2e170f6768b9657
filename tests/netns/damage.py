"""Networks that change bytes behind every checksum of their own.

    damage.py [SECONDS]    of traffic in each case; 3 without a number

Every message of the traffic is checked by its receiver (cuts.c). With each
transport: no altered message is ever received. tcp alone ends by an error that
names peer, transport and remedy; with failover, and by the transports that send
again themselves, the job goes on, and what was damaged is counted.

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
FABRICS = os.environ.get("FABRICS", "tcp udp-reliable sctp").split()
LIMIT = 120  # seconds; only a hang takes half of that
SECONDS = 3
PERCENT = 1  # of the frames are damaged
ALTERED = re.compile("altered|another length")  # what cuts.c says of a message


class Damage(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="damage")
        self.addCleanup(folder.cleanup)
        self.dir = folder.name

    def ini(self, plugin, route):
        path = os.path.join(self.dir, "mpi.ini")
        with open(path, "w", encoding="utf-8") as f:
            f.write(f"[transport net]\nplugin = {plugin}\n"
                    f"interface = 10.90.0.0/24\n[route all]\nuse = net\n{route}\n"
                    "[core]\nstats = yes\n")
        os.chmod(path, 0o600)
        return path

    def traffic(self, plugin, mode, route="", percent=PERCENT):
        """The job on a network that is whole at its beginning and its end: exit
        status, output, messages that arrived, frames that were damaged."""
        if plugin not in FABRICS:
            self.skipTest(f"this build has no {plugin}")
        with faultnet.Net(WIRE, hosts=2, cables=1) as net:
            net.wait_for_carrier()
            with subprocess.Popen(
                    net.command([MPIRUN, "-n", "2", "--timeout", str(LIMIT / 2),
                                 "--config", self.ini(plugin, route), TRAFFIC,
                                 mode, str(SECONDS + 1)]),
                    stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                    text=True) as job:
                end = time.monotonic() + LIMIT
                while self.forwarded(net) < 20 and job.poll() is None:
                    self.assertLess(time.monotonic(), end)
                net.fault(f"0:corrupt={percent}")
                try:
                    job.wait(SECONDS / 2)
                except subprocess.TimeoutExpired:
                    net.fault("0:heal")
                text = job.communicate(timeout=LIMIT)[0]
            damaged = sum(int(n) for n in re.findall(r"corrupted=(\d+)",
                                                     net.say(0, "count")[0]))
        found = re.search(r"(\d+) messages", text)
        print(f"{plugin}, {mode}: {damaged} frames damaged, "
              f"{found.group(1) if found else 'no'} messages received")
        return job.returncode, text, damaged

    @staticmethod
    def forwarded(net):
        return sum(int(n) for n in re.findall(r"forwarded=(\d+)",
                                              net.say(0, "count")[0]))

    def test_tcp_alone_ends_by_an_error_that_names_the_remedy(self):
        for mode in ("stream", "pingpong", "bulk"):
            with self.subTest(mode=mode):
                code, text, damaged = self.traffic("tcp", mode, percent=2)
                self.assertNotRegex(text, ALTERED)
                self.assertGreater(damaged, 0)
                self.assertNotEqual(code, 0, text)
                self.assertRegex(text, r"process [01] on \S+( is gone|\)): a message "
                                 "from it arrived damaged by transport 'net'")
                self.assertIn("failover = yes", text)

    def test_tcp_with_failover_sends_again(self):
        code, text, damaged = self.traffic("tcp", "stream", "failover = yes",
                                           percent=0.2)
        self.assertNotRegex(text, ALTERED)
        self.assertEqual(code, 0, text)
        counted = sum(int(n) for n in re.findall(r"(\d+) damaged,", text))
        self.assertGreater(damaged, 0)
        self.assertGreater(counted, 0, text)

    def dropped(self, plugin, mode, route=""):
        code, text, damaged = self.traffic(plugin, mode, route)
        self.assertNotRegex(text, ALTERED)
        self.assertEqual(code, 0, text)
        self.assertGreater(damaged, 0)
        counted = sum(int(n) for n in re.findall(
            r"dropped (\d+) damaged or strange packets", text))
        # not a full socket's, nor of bytes that mean nothing in such a packet
        self.assertGreaterEqual(counted, 0.9 * damaged, text)

    def test_udp_reliable_counts_every_damaged_packet(self):
        for route in ("", "security = none"):
            for mode in ("stream", "bulk"):
                with self.subTest(mode=mode, route=route):
                    self.dropped("udp-reliable", mode, route)

    def test_sctp_counts_every_damaged_packet(self):
        for mode in ("stream", "bulk"):
            with self.subTest(mode=mode):
                self.dropped("sctp", mode)

    def test_without_crc_damage_is_delivered(self):
        """So the others would notice if nobody looked. A damaged tag or length may
        have a process wait for a message that never comes: mpirun ends it."""
        for _ in range(5):
            text = self.traffic("tcp", "stream", "crc = no", percent=2)[1]
            if ALTERED.search(text):
                return
        self.fail("no damage was delivered in five runs")


if __name__ == "__main__":
    if len(sys.argv) > 1 and sys.argv[1].isdigit():
        SECONDS = int(sys.argv.pop(1))
    faultnet.test_main(WIRE)
