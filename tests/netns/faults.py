"""faultnet does what its faults say, and jobs run on its hosts.

SPDX-License-Identifier: BSD-3-Clause
"""
import os
import re
import subprocess
import sys
import time
import unittest

import faultnet

MPIRUN = os.environ.get("MPIRUN", "mpirun")
WIRE = os.environ.get("WIRE", "netns_wire")
TRANSPORTS = os.environ.get("TRANSPORTS", "tcp udp-reliable").split()
TALK = os.environ.get("TALK", "./netns_talk")
LIMIT = 200
MANY = 2000

# Numbered datagrams of 100 bytes, and an empty one at the end, which the cable
# may let others arrive after, but not for long: how many came, different ones,
# whole ones, overtaken ones.
LISTEN = """
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(socket.SOL_SOCKET, 33, 8 << 20)  # SO_RCVBUFFORCE
s.bind(('0.0.0.0', 7000))
print('ready', flush=True)
s.settimeout(60)
seen, last, late, whole = [], -1, 0, 0
try:
    while True:
        d = s.recv(200)
        if not d:
            s.settimeout(0.5)
            continue
        n = int.from_bytes(d[:4], 'big')
        whole += d == n.to_bytes(4, 'big') * 25
        late += n < last
        last = max(last, n)
        seen.append(n)
except TimeoutError:
    print(len(seen), len(set(seen)), whole, late)
"""
TALKER = """
import os, socket, sys, time
os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])  # keeps the order
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
# What waits for the other's hardware address is overtaken by what comes after:
# first a question that the other host's kernel answers, if it can.
s.connect((sys.argv[1], 7001))
s.settimeout(0.2)
for attempt in range(5):
    try:
        s.send(b'?')
        s.recv(1)
    except ConnectionRefusedError:
        break
    except TimeoutError:
        pass
s.close() # an answer that comes late is not to fail a send below
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.connect((sys.argv[1], 7000))
for n in range(int(sys.argv[2])):
    s.send(n.to_bytes(4, 'big') * 25)
    if n % 50 == 49:
        time.sleep(0.001)
print('sent', flush=True)
sys.stdin.read() # the cable is whole again
s.send(b'')
"""
# All frames of an interface, until the standard input ends; then how many of
# them hold the text.
SPY = """
import select, socket, sys
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
s.setsockopt(socket.SOL_SOCKET, 33, 64 << 20)
s.bind((sys.argv[1], 0))
text = bytes.fromhex(sys.argv[2])
print('ready', flush=True)
frames = found = 0
while True:
    for at in select.select([s, sys.stdin], [], [])[0]:
        if at is s:
            frame = s.recv(70000)
            frames += 1
            found += text in frame
        else:
            s.setblocking(False) # what has come meanwhile counts
            try:
                while True:
                    found += text in s.recv(70000)
                    frames += 1
            except BlockingIOError:
                print(frames, found)
                sys.exit()
"""
# what netns_talk sends: numbers, one after the other
SAID = b"".join(n.to_bytes(4, sys.byteorder) for n in range(1000, 1008))


class Faults(unittest.TestCase):
    def setUp(self):
        self.net = faultnet.Net(WIRE, hosts=2, cables=2)
        self.net.__enter__()
        self.addCleanup(self.net.remove)

    def python(self, host, text, *args):
        return subprocess.Popen(
            ["ip", "netns", "exec", self.net.hosts[host], sys.executable, "-c",
             text, *args], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            text=True)

    def dealt_with(self):
        """Frames for host 1 that the cable has passed on or lost."""
        n = dict(re.findall(r"(\w+)=(\d+)",
                            self.net.say(0, "count")[0].partition(" ba ")[0]))
        return int(n["forwarded"]) + int(n["lost"]) - int(n["duplicated"])

    def send(self, count=MANY):
        """What host 1 gets of count datagrams; then the cable is whole."""
        end = self.dealt_with() + count
        with self.python(1, LISTEN) as listener:
            self.assertEqual(listener.stdout.readline(), "ready\n")
            with self.python(0, TALKER, "10.90.0.2", str(count)) as talker:
                self.assertEqual(talker.stdout.readline(), "sent\n")
                while self.dealt_with() < end:
                    time.sleep(0.01)
                self.net.fault("0:heal")
                talker.communicate(timeout=LIMIT)
            return [int(w) for w in listener.stdout.read().split()]

    def test_a_cable_without_faults_carries_everything_in_order(self):
        self.assertEqual(self.send(), [MANY, MANY, MANY, 0])

    def test_loss_corruption_duplicates_and_order(self):
        self.net.fault("0:loss=10")
        seen = self.send()[1]
        self.assertTrue(0.8 * MANY < seen < 0.97 * MANY, seen)
        self.net.fault("0:corrupt=10,duplicate=10,reorder=10,gap=2")
        got, different, whole, late = self.send()
        self.assertEqual(different, len(range(different)))
        self.assertTrue(1.03 * MANY < got < 1.2 * MANY, got)
        self.assertTrue(0.8 * got < whole < 0.97 * got, whole)
        self.assertGreater(late, 0)

    def test_a_cut_is_silent_and_heals(self):
        self.net.fault("0:cut")
        talker = self.python(0, TALKER, "10.90.0.2", "100")
        self.assertEqual(talker.communicate(timeout=LIMIT)[0], "sent\n")
        before = self.net.say(0, "count")[0]
        self.assertIn("ab forwarded=0", before)
        self.net.fault("0:heal")
        self.assertEqual(self.send(count=100)[1], 100)

    def job(self, *options):
        r = subprocess.run(
            self.net.command([MPIRUN, "-n", "2", *options, TALK]),
            stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=LIMIT)
        self.assertEqual((r.returncode, r.stdout.count("fine\n")), (0, 2),
                         r.stderr)

    def test_jobs_run_across_the_hosts_whatever_the_cable_does(self):
        for transport in TRANSPORTS:
            for fault in ("loss=2", "delay=2,jitter=1", "rate=200"):
                with self.subTest(transport=transport, fault=fault):
                    self.net.fault("all:heal")
                    self.net.fault("all:" + fault)
                    self.job("--route", transport)

    def overheard(self, *options):
        """How many frames of a job hold what its ranks say to each other."""
        with self.python(0, SPY, "net0", SAID.hex()) as spy:
            self.assertEqual(spy.stdout.readline(), "ready\n")
            self.job(*options)
            frames, found = spy.communicate(timeout=LIMIT)[0].split()
        self.assertGreater(int(frames), 10)
        return int(found)

    def test_what_is_encrypted_cannot_be_overheard(self):
        for transport in TRANSPORTS:
            with self.subTest(transport=transport):
                route = ("--route", transport, "--set",
                         f"transport.{transport}.interface=10.90.0.0/24")
                self.assertGreater(self.overheard(*route), 0)
                self.assertEqual(self.overheard(
                    *route, "--set", "core.security=encrypt"), 0)


if __name__ == "__main__":
    faultnet.test_main(WIRE)
