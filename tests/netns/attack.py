"""A running job and strangers: wrong keys, replays, noise, half-open calls.

    attack.py [-k NAME]          what takes seconds
    attack.py long[=KIND,...] [-k NAME]
                                10000 half-open calls, 10 MB of noise, ...; and
                                the 99th percentile of the job, where no rank
                                waited for a processor, is held to twice that
                                of peace

Two ranks on two hosts exchange messages; a third host on the same network
attacks both, with whatever it saw when the job began. On one machine the
attacker's work takes the processor of a rank: attack.c leaves out the round
trips in which that one waited for it.

SPDX-License-Identifier: BSD-3-Clause
"""
import os
import random
import re
import resource
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import unittest

import faultnet

MPIRUN = os.environ.get("MPIRUN", "mpirun")
WIRE = os.environ.get("WIRE", "netns_wire")
ATTACK = os.environ.get("ATTACK", "./netns_attack")
FABRICS = os.environ.get("FABRICS", "tcp udp-reliable sctp").split()
LONG = False
KINDS = None  # all
LIMIT = 120
PEACE = "peace"
# No rank waits for the other one's processor, nor goes to sleep while the other
# waits for his: attack.c could not tell that from work.
BOUND = ("--bind-to", "core", "--set", "core.spin=100ms")
BURST = 100  # attacks in a row
SECONDS = {"half-open": 4, "noise": 2.5, "scan": 4}  # of the long form; else 1
MAGIC = b"WFTA"
HELLO = 64


# ---- on a host of the job: what an eavesdropper sees -------------------------

def record(where, stop):
    """Payloads of TCP and UDP over IPv4, until the file `stop` is there."""
    seen = []
    tap = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
    tap.settimeout(0.05)
    print("ready", flush=True)
    while not os.path.exists(stop) and len(seen) < 400:
        try:
            frame = tap.recv(70000)
        except socket.timeout:
            continue
        at = 14 + (frame[14] & 15) * 4
        if frame[12:14] != b"\x08\0" or frame[23] not in (6, 17):
            continue
        at += 8 if frame[23] == 17 else (frame[at + 12] >> 4) * 4
        if frame[at:]:
            seen.append(frame[at:at + 1500])
    with open(where, "w", encoding="ascii") as f:
        f.writelines(payload.hex() + "\n" for payload in seen)


# ---- on the third host ---------------------------------------------------------

class Attacker:
    """tcp: doors are (address, port); each attack is a generator of bursts."""

    def __init__(self, doors, seen, dice):
        self.doors, self.seen, self.dice, self.held = doors, seen, dice, []
        hellos = [p for p in seen if MAGIC in p]
        self.hellos = hellos or [MAGIC + bytes(HELLO - len(MAGIC))]

    def wrong_key(self, zero):
        """A hello with a fresh nonce, and a code that its key does not make."""
        p = bytearray(self.dice.choice(self.hellos))
        at = p.index(MAGIC) + 16
        tail = len(p) - at
        p[at:] = bytes(tail) if zero else self.dice.randbytes(tail)
        return bytes(p)

    def payload(self, kind):
        whole = self.dice.choice(self.seen or self.hellos)
        return {"wrong-key": lambda: self.wrong_key(False),
                "no-key": lambda: self.wrong_key(True),
                "replay": lambda: whole,
                "truncated": lambda: whole[:self.dice.randrange(len(whole))],
                "random": lambda: self.dice.randbytes(
                    self.dice.randrange(1, 300)),
                "half-open": lambda: self.dice.choice(self.hellos),
                "noise": lambda: self.dice.randbytes(1000)}[kind]()


class Caller(Attacker):
    """Over TCP."""

    def one(self, kind):
        s = socket.socket()
        s.setblocking(False)
        try:
            s.connect(self.dice.choice(self.doors))
        except BlockingIOError:
            pass
        self.held.append(s)
        if len(self.held) > (12000 if kind == "half-open" else 2 * BURST):
            self.held.pop(0).close()
        return s

    def burst(self, kind):
        calls = [(self.one(kind), self.payload(kind)) for _ in range(BURST)]
        time.sleep(0.002)
        for s, payload in calls:
            try:
                if kind == "noise":
                    payload *= 10
                if kind != "half-open" or self.dice.random() < 0.5:
                    s.send(payload)
                if kind == "replay":
                    s.send(self.payload(kind))
            except OSError:
                pass  # turned away

    def scan(self, first, ports):
        for port in range(first, first + ports):
            s = socket.socket()
            s.setblocking(False)
            s.connect_ex((self.doors[0][0], port))
            s.close()


class Shouter(Attacker):
    """Over UDP."""

    def burst(self, kind):
        for _ in range(BURST):
            s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            s.setblocking(False)
            try:
                s.sendto(self.payload(kind)[:1400], self.dice.choice(self.doors))
            except OSError:
                pass
            s.close()

    def scan(self, first, ports):
        s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        s.setblocking(False)
        for port in range(first, first + ports):
            try:
                s.sendto(b"", (self.doors[0][0], port))
            except OSError:
                pass
        s.close()


def attack(proto, doors, seen_file, kind, times, seconds):
    """`times` attacks of a kind, in bursts, spread over so many seconds; from
    the last processor, so that of two ranks only one has to give way."""
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    resource.setrlimit(resource.RLIMIT_NOFILE, (20000, 20000))
    with open(seen_file, encoding="ascii") as f:
        seen = [bytes.fromhex(line) for line in f]
    doors = [(a, int(p)) for a, p in (d.split(":") for d in doors.split(","))]
    them = (Caller if proto == "tcp" else Shouter)(doors, seen,
                                                   random.Random(kind))
    print("ready", flush=True)
    sys.stdin.readline()
    begin = time.monotonic()
    for i in range(0, times, BURST):
        if kind == "scan":
            them.scan(1 + i, BURST)
        else:
            them.burst(kind)
        due = begin + seconds * (i + BURST) / times
        time.sleep(max(0, due - time.monotonic()))


# ---- the test --------------------------------------------------------------------

class Switch(faultnet.Net):
    """Hosts on one switch, without wires that could break."""

    def join(self, kind, ends):
        self.cables[kind] = []
        name = f"sw{kind}"
        faultnet.run("ip", "-n", self.switch, "link", "add", name, "type",
                     "bridge", "forward_delay", "0")
        faultnet.run("ip", "-n", self.switch, "link", "set", name, "up")
        for end in ends:
            faultnet.run("ip", "-n", self.switch, "link", "set", end, "master",
                         name)

    def command(self, words):
        """On all hosts but the last, which is the attacker's."""
        text = super().command(words)
        return [str(self.count - 1) if w == str(self.count) else w
                for w in text]

    def on(self, host, *words, **options):
        return subprocess.Popen(
            ["ip", "netns", "exec", self.hosts[host], sys.executable, "-B",
             __file__, *map(str, words)], **options)


class Siege(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="attack")
        self.addCleanup(folder.cleanup)
        self.dir = folder.name

    def doors(self, net, proto):
        """Where the ranks listen."""
        found = []
        for host in net.hosts[:2]:
            text = faultnet.run("ip", "netns", "exec", host, "ss",
                                "-ltnH" if proto == "tcp" else "-lunaH")
            found += re.findall(r"(10\.90\.0\.\d+):(\d+)\s", text)
        self.assertTrue(found)
        return ",".join(sorted({f"{a}:{p}" for a, p in found}))

    def start(self, net, fabric, seen):
        """The job, overheard from its first packet on."""
        stop = os.path.join(self.dir, "stop")
        tap = net.on(0, "record", seen, stop, stdout=subprocess.PIPE, text=True)
        self.assertEqual(tap.stdout.readline(), "ready\n")
        job = subprocess.Popen(
            net.command([MPIRUN, "-n", "2", *(BOUND if LONG else ()),
                         "--route", fabric, ATTACK]),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True)
        job.stdin.write(PEACE + "\n")
        job.stdin.flush()
        if not job.stdout.readline():  # about the time before
            self.fail(job.stderr.read())
        with open(stop, "w", encoding="ascii"):
            pass
        tap.communicate(timeout=LIMIT)
        return job

    def phase(self, job, name):
        """Ends the one before: its figures."""
        if name:
            job.stdin.write(name + "\n")
            job.stdin.flush()
        else:
            job.stdin.close()
        words = job.stdout.readline().split()
        self.assertEqual(len(words), 7, job.poll())
        return words[0], [float(w) for w in words[1:]]

    def attack(self, fabric):
        if fabric not in FABRICS:
            self.skipTest(f"this build has no {fabric}")
        proto = "tcp" if fabric == "tcp" else "udp"
        few, many = (2000, 10000) if LONG else (100, 300)
        kinds = {"wrong-key": few, "no-key": few, "replay": few,
                 "truncated": few, "random": few, "half-open": many,
                 "scan": 60000 if LONG else 2000,
                 "noise": 10000 if LONG and proto == "udp" else few // 2}
        seen = os.path.join(self.dir, "seen")
        figures = []
        with Switch(WIRE, hosts=3) as net:
            net.wait_for_carrier()
            job = self.start(net, fabric, seen)
            self.addCleanup(job.kill)
            doors = self.doors(net, proto)
            time.sleep(1 if LONG else 0.2)
            for kind in KINDS or kinds:
                times = kinds[kind]
                a = net.on(2, "attack", proto, doors, seen, kind, times,
                           SECONDS.get(kind, 1) if LONG else 0.1,
                           stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                           text=True)
                self.assertEqual(a.stdout.readline(), "ready\n")
                figures.append(self.phase(job, kind))
                a.communicate("go\n", timeout=LIMIT)
                figures.append(self.phase(job, PEACE))
                self.assertEqual(a.returncode, 0)
            time.sleep(1 if LONG else 0.2)
            figures.append(self.phase(job, None))
            self.assertEqual(job.wait(LIMIT), 0, job.stderr.read())
        for stream in (job.stdout, job.stderr):
            stream.close()
        self.judge(fabric, figures)

    def judge(self, fabric, figures):
        peace = statistics.median(f[2] for name, f in figures[:1] + figures[-1:])
        peace = peace or float("nan")  # each waited: the machine is too busy
        for name, (n, median, p99, longest, whole, waits) in figures[:1] + [
                f for f in figures if f[0] != PEACE] + figures[-1:]:
            print(f"  {fabric} {name}: {n:.0f} round trips, median "
                  f"{median:.1f} us, p99 {p99:.1f} ({p99 / peace:.2f} x "
                  f"peace), longest {longest / 1000:.1f} ms; with those that "
                  f"waited, {100 * waits:.2f} %, p99 {whole:.1f}",
                  file=sys.stderr)
            self.assertGreater(n, 0)
        for name, f in figures if LONG else []:
            if name != PEACE:  # between two attacks an attacker is started
                self.assertLess(f[2], 2 * peace, name)

    def test_strangers_at_tcp(self):
        self.attack("tcp")

    def test_strangers_at_udp_reliable(self):
        self.attack("udp-reliable")

    def test_strangers_at_sctp(self):
        self.attack("sctp")


if __name__ == "__main__":
    if sys.argv[1:2] == ["record"]:
        record(*sys.argv[2:])
    elif sys.argv[1:2] == ["attack"]:
        attack(*sys.argv[2:6], int(sys.argv[6]), float(sys.argv[7]))
    else:
        if sys.argv[1:] and sys.argv[1].startswith("long"):
            LONG = True
            KINDS = list(filter(None, sys.argv.pop(1)[5:].split(",")))
        faultnet.test_main(WIRE, verbosity=1)
