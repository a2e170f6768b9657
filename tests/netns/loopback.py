"""Strangers on the loopback interface of a job's only host.

A job of two ranks on one host talks over udp-reliable, then sctp, and checks
every message (cuts.c), while an attacker reads the packets on the interface and
sends others that look right:

    spoofed    with the addresses and ports of the ranks, so from a raw socket
    stranger   from a socket of its own, as any user of the host could

All in a network namespace, as root. Nothing of it may have an effect. That
spoofed packets have one where the job says security = none shows that the attack
works.

SPDX-License-Identifier: BSD-3-Clause
"""
import os
import re
import select
import socket
import struct
import subprocess
import sys
import unittest

import faultnet

MPIRUN = os.environ.get("MPIRUN", "mpirun")
WIRE = os.environ.get("WIRE", "netns_wire")
TRAFFIC = os.environ.get("CUTS", "./netns_cuts")
FABRICS = os.environ.get("FABRICS", "tcp udp-reliable sctp").split()
LIMIT = 120  # seconds; only a hang takes so long
SECONDS = 2
IP, UDP = struct.Struct("!BBHHHBBH4s4s"), struct.Struct("!HHHH")
HEAD = struct.Struct("<BBHIIIQIIQ")  # of udp-reliable: packet.h
DATA, RESET, CHECK = 5, 5, 4


def udp_of(packet):
    """Source, destination and payload of an IP packet; None: not UDP."""
    size = (packet[0] & 15) * 4
    if packet[0] >> 4 != 4 or packet[9] != 17 or len(packet) < size + 8:
        return None
    here, there, _, _ = UDP.unpack_from(packet, size)
    return ((packet[12:16], here), (packet[16:20], there), packet[size + 8:])


def as_packet(source, dest, payload):
    udp = UDP.pack(source[1], dest[1], 8 + len(payload), 0)
    return IP.pack(0x45, 0, 28 + len(payload), 0, 0, 64, 17, 0, source[0],
                   dest[0]) + udp + payload


def crc32c(data):
    crc = 0xffffffff
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82f63b78 if crc & 1 else 0)
    return crc ^ 0xffffffff


def resets(payload):
    """Of sctp (wire.c): nobody here knows this link, in the name of each side."""
    to, source = struct.unpack_from("<II", payload, 4)
    for ids in ((to, source), (source, to)):
        word = bytearray(bytes((RESET,)) + payload[1:4] +
                         struct.pack("<IIIII", *ids, 0, 0, 0))
        word[12:16] = struct.pack("<I", crc32c(word))
        yield bytes(word)


def altered(payload):
    """The same with other data: of udp-reliable also what is still to come."""
    if payload[0] != DATA or payload[1] != 1 or len(payload) <= HEAD.size:
        return [payload[:-8] + bytes(8), payload[:20] + b"?" * 20,
                *(resets(payload) if len(payload) > 24 else [])]
    head = list(HEAD.unpack_from(payload))
    size = min(len(payload) - HEAD.size, 4000)
    forged = []
    for ahead in (0, 1, 4):
        mine = head.copy()
        mine[2] &= ~CHECK
        mine[4] = (head[4] + 1 + ahead) & 0xffffffff
        mine[9] = head[9] + size + 4096 * ahead
        forged.append(HEAD.pack(*mine) + b"?" * size)
    return forged


def attack(spoof):
    """Until the standard input ends; how many were sent."""
    tap = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(0x800))
    tap.bind(("lo", 0))
    tap.settimeout(0.1)
    raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
    own = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    own.bind(("127.0.0.1", 0))
    sent, me = 0, own.getsockname()[1]
    print("ready", flush=True)
    while not select.select([sys.stdin], [], [], 0)[0]:
        try:
            found = udp_of(tap.recv(70000))
        except socket.timeout:
            continue
        if not found or me in (found[0][1], found[1][1]) or b"?" * 20 in found[2]:
            continue
        source, dest, payload = found
        for forged in altered(payload):
            try:
                if spoof:
                    raw.sendto(as_packet(source, dest, forged),
                               (socket.inet_ntoa(dest[0]), 0))
                else:
                    for whom in (dest, source):
                        own.sendto(forged, (socket.inet_ntoa(whom[0]), whom[1]))
                sent += 1
            except OSError:
                pass  # too long, or its queue is full
    print(sent)


class Loopback(unittest.TestCase):
    def setUp(self):
        self.net = faultnet.Net(WIRE, hosts=1, cables=0)
        self.net.__enter__()
        self.addCleanup(self.net.remove)

    def job(self, fabric, how, *options):
        """Exit status and output of a job under attack."""
        if fabric not in FABRICS:
            self.skipTest(f"this build has no {fabric}")
        inside = ["ip", "netns", "exec", self.net.hosts[0]]
        with subprocess.Popen(
                [*inside, sys.executable, "-B", __file__, "attack", how],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                text=True) as attacker:
            self.assertEqual(attacker.stdout.readline(), "ready\n")
            r = subprocess.run(
                [*inside, MPIRUN, "-n", "2", "--timeout", "20", "--route", fabric,
                 "--set", "core.stats=yes", *options, TRAFFIC, "stream",
                 str(SECONDS)],
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT, text=True, timeout=LIMIT, check=False)
            sent = int(attacker.communicate(timeout=LIMIT)[0])
        print(f"{fabric}, {how}: {sent} packets forged; exit {r.returncode}")
        self.assertGreater(sent, 100)
        return r.returncode, r.stdout

    def unharmed(self, fabric, how):
        code, text = self.job(fabric, how)
        self.assertEqual(code, 0, text)
        found = re.search(r"messages (\d+)", text)
        self.assertTrue(found and int(found.group(1)) > 0, text)
        return text

    def test_spoofed_packets_have_no_effect_on_udp_reliable(self):
        text = self.unharmed("udp-reliable", "spoofed")
        self.assertIn("damaged or strange packets", text)

    def test_a_strangers_packets_have_no_effect(self):
        for fabric in ("udp-reliable", "sctp"):
            with self.subTest(fabric=fabric):
                self.unharmed(fabric, "stranger")

    def test_without_codes_spoofed_packets_would_be_believed(self):
        for _ in range(5):
            if self.job("udp-reliable", "spoofed", "--set",
                        "core.security=none")[0] != 0:
                return
        self.fail("none of five attacks had an effect")


if __name__ == "__main__":
    if sys.argv[1:2] == ["attack"]:
        attack(sys.argv[2] == "spoofed")
    else:
        faultnet.test_main(WIRE)
