#!/usr/bin/env python3
"""Hosts that are network namespaces, on cables that break by name.

    host a  net0 10.90.0.1 ---- wire ---- net0 10.90.0.2  host b
            net1 10.90.1.1 ---- wire ---- net1 10.90.1.2

    faultnet.py [--hosts N] [--cables N] [--seed N] [--at SECONDS FAULT]...
                -- mpirun [its options] PROGRAM...

runs a job whose ranks live on the hosts, one after the other, and does each
fault when its time has come. A FAULT is one of

    cable:loss=1,corrupt=0.1   percent, milliseconds or Mbit/s: see wire.c
    cable:cut  cable:heal      silently; cable is a number, or all
    cable:oneway               only what comes from the later host arrives
    cable:down  cable:up       with the carrier, so that the kernels know
    cable:flap=300             cut and healed every so many ms, to the end
    kill                       one TCP connection, any, both ends at once
    cable:kill                 the same, of one cable

With two hosts a cable joins them; with more each host has a cable of each
kind to a switch. Needs root. As a module: Net, for tests.

SPDX-License-Identifier: BSD-3-Clause
"""
import argparse
import ctypes
import itertools
import os
import random
import re
import socket
import struct
import subprocess
import sys
import threading
import time
import typing
import unittest

SKIP = 77
LIMIT = 60  # seconds for what takes milliseconds


class Trouble(Exception):
    """Why there is no such network here."""


def run(*words):
    """A command that must do its work."""
    try:
        r = subprocess.run(words, capture_output=True, text=True, timeout=LIMIT)
    except OSError as e:
        raise Trouble(f"{words[0]}: {e.strerror}") from e
    if r.returncode:
        raise Trouble(f"{' '.join(words)}: {r.stderr.strip() or 'failed'}")
    return r.stdout


class Cable:
    """One wire process between two interfaces."""

    def __init__(self, space, wire, ends, seed):
        self.process = subprocess.Popen(
            ["ip", "netns", "exec", space, wire, *ends, str(seed)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.lock = threading.Lock()
        if self.process.stdout.readline() != "ready\n":
            raise Trouble("the wire between two hosts did not start")

    def say(self, line):
        with self.lock:
            self.process.stdin.write(line + "\n")
            self.process.stdin.flush()
            answer = self.process.stdout.readline().strip()
        if answer in ("", "not understood"):
            raise ValueError(f"{line}: {answer or 'the wire is gone'}")
        return answer

    def end(self):
        self.process.stdin.close()
        self.process.wait(LIMIT)
        self.process.stdout.close()


class Connection(typing.NamedTuple):
    """Of TCP; ends: two pairs of address and port."""
    ends: tuple
    ident: bytes  # struct inet_diag_sockid


class Killer:
    """Ends TCP connections of a host by one message to its kernel: starting a
    program to do it (ss -K) would stop the job's ranks for longer than the
    fault does."""
    BY_FAMILY, DESTROY, DONE, ERROR = 20, 21, 3, 2
    REQUEST, DUMP = 1, 0x300
    ESTABLISHED = 1 << 1
    HEAD = struct.Struct("=IHHII")

    def __init__(self, space):
        self.socket, self.number = None, 0
        # the namespace is the thread's; the socket keeps that of its maker
        maker = threading.Thread(target=self.make, args=(space,))
        maker.start()
        maker.join()
        if not self.socket:
            raise Trouble(f"no socket to the kernel of {space}")

    def make(self, space):
        with open(f"/run/netns/{space}", "rb") as f:
            if ctypes.CDLL(None).setns(f.fileno(), 0) == 0:
                self.socket = socket.socket(socket.AF_NETLINK,
                                            socket.SOCK_RAW, 4)  # SOCK_DIAG

    def ask(self, kind, flags, ident):
        body = struct.pack("=BBxxI", socket.AF_INET, socket.IPPROTO_TCP,
                           self.ESTABLISHED) + ident
        self.number += 1
        self.socket.send(self.HEAD.pack(self.HEAD.size + len(body), kind,
                                        self.REQUEST | flags, self.number, 0)
                         + body)

    def connections(self):
        self.ask(self.BY_FAMILY, self.DUMP, bytes(48))
        while True:
            data = self.socket.recv(1 << 16)
            while data:
                size, kind, _, number, _ = self.HEAD.unpack_from(data)
                ident = data[self.HEAD.size + 4:self.HEAD.size + 52]
                data = data[(size + 3) & ~3:]
                if number != self.number:
                    continue  # a connection had ended before it was killed
                if kind in (self.DONE, self.ERROR):
                    return
                here, there = struct.unpack_from("!HH", ident)
                yield Connection(((socket.inet_ntoa(ident[4:8]), here),
                                  (socket.inet_ntoa(ident[20:24]), there)),
                                 ident)

    def kill(self, connection):
        self.ask(self.DESTROY, 0, connection.ident)

    def close(self):
        self.socket.close()


class Net:
    """Hosts and cables, for as long as the with statement lasts."""
    NUMBERS = itertools.count()

    def __init__(self, wire, hosts=2, cables=1, seed=1):
        self.tag = f"wf{os.getpid()}x{next(self.NUMBERS)}"
        self.wire, self.count, self.kinds = wire, hosts, cables
        self.seed = seed
        self.random = random.Random(seed)
        self.switch = f"{self.tag}-s"
        self.hosts = [f"{self.tag}-{i}" for i in range(hosts)]
        self.cables = {}  # by kind: its wires
        self.spaces = []
        self.killer = None

    def __enter__(self):
        try:
            self.build()
        except BaseException:
            self.remove()
            raise
        return self

    def __exit__(self, *_):
        self.remove()

    def build(self):
        if os.geteuid() != 0:
            raise Trouble("network namespaces need root")
        for space in [self.switch, *self.hosts]:
            run("ip", "netns", "add", space)
            self.spaces.append(space)
            run("ip", "-n", space, "link", "set", "lo", "up")
            run("ip", "netns", "exec", space, "sh", "-c",
                "echo 1 >/proc/sys/net/ipv6/conf/default/disable_ipv6")
        for kind in range(self.kinds):
            ends = [self.plug(host, kind) for host in range(self.count)]
            self.join(kind, ends)

    def plug(self, host, kind):
        """An interface of a host; the name of its other end."""
        end, name = f"h{host}n{kind}", f"net{kind}"
        run("ip", "-n", self.switch, "link", "add", end, "type", "veth",
            "peer", "name", name, "netns", self.hosts[host])
        run("ip", "-n", self.switch, "link", "set", end, "up")
        run("ip", "-n", self.hosts[host], "addr", "add",
            f"10.90.{kind}.{host + 1}/24", "dev", name)
        # frames as a real card sends them: faults hit one, not sixty-four
        run("ip", "-n", self.hosts[host], "link", "set", name, "gso_max_segs",
            "1")
        run("ip", "-n", self.hosts[host], "link", "set", name, "up")
        return end

    def join(self, kind, ends):
        if len(ends) == 2:
            self.cables[kind] = [Cable(self.switch, self.wire, ends,
                                       self.seed + kind)]
            return
        run("ip", "-n", self.switch, "link", "add", f"sw{kind}", "type",
            "bridge", "forward_delay", "0")
        run("ip", "-n", self.switch, "link", "set", f"sw{kind}", "up")
        self.cables[kind] = []
        for end in ends:
            port, hole = f"{end}p", f"{end}q"
            run("ip", "-n", self.switch, "link", "add", port, "type", "veth",
                "peer", "name", hole)
            run("ip", "-n", self.switch, "link", "set", hole, "master",
                f"sw{kind}")
            for name in (port, hole):
                run("ip", "-n", self.switch, "link", "set", name, "up")
            self.cables[kind].append(Cable(self.switch, self.wire, [end, port],
                                           self.seed + kind))

    def remove(self):
        for cable in sum(self.cables.values(), []):
            cable.end()
        self.cables = {}
        if self.killer:
            self.killer.close()
        for space in self.spaces:
            for pid in run("ip", "netns", "pids", space).split():
                try:
                    os.kill(int(pid), 9)
                except ProcessLookupError:
                    pass
            run("ip", "netns", "del", space)
        self.spaces = []

    # ---- faults ----------------------------------------------------------

    def kinds_of(self, which):
        return list(self.cables) if which == "all" else [int(which)]

    def say(self, which, line):
        return [c.say(line) for k in self.kinds_of(which)
                for c in self.cables[k]]

    def carrier(self, which, state):
        for kind in self.kinds_of(which):
            for host in range(self.count):
                run("ip", "-n", self.switch, "link", "set", f"h{host}n{kind}",
                    state)

    def kill_one(self, net=r"\d+"):
        """Both ends of one established connection between the hosts."""
        end = rf"10\.90\.{net}\.\d+"
        self.killer = self.killer or Killer(self.hosts[0])
        found = sorted(c for c in self.killer.connections()
                       if all(re.fullmatch(end, a) for a, _ in c.ends))
        if not found:
            return False
        self.killer.kill(self.random.choice(found))
        return True

    def fault(self, text):
        """One FAULT of the head comment."""
        if text == "kill":
            return self.kill_one()
        which, _, what = text.partition(":")
        if what == "kill":
            return self.kill_one(which)
        plain = {"heal": "heal", "cut": "both cut=1", "oneway": "ab cut=1"}
        if what in ("down", "up"):
            return self.carrier(which, what)
        if what.startswith("flap="):
            return self.flap(which, float(what[5:]) / 1000)
        return self.say(which, plain.get(what)
                        or "both " + what.replace(",", " "))

    def flap(self, which, period):
        def beat():
            line = "both cut=1"
            while self.cables:
                try:
                    self.say(which, line)
                except (ValueError, OSError):
                    return  # the end
                line = "both cut=0" if line.endswith("1") else "both cut=1"
                time.sleep(period)

        threading.Thread(target=beat, daemon=True).start()

    def wait_for_carrier(self):
        """Until every interface is up as ranks see it."""
        def up(host, kind):
            state = run("ip", "-n", host, "-o", "link", "show", "dev",
                        f"net{kind}")
            return "LOWER_UP" in state and "state UP" in state

        end = time.monotonic() + LIMIT
        while not all(up(h, k) for h in self.hosts for k in self.cables):
            if time.monotonic() > end:
                raise Trouble("the interfaces do not come up")
            time.sleep(0.01)

    # ---- jobs ------------------------------------------------------------

    def command(self, words):
        """mpirun and what follows, with the hosts as its nodes."""
        return [words[0], "--nodes", str(self.count), "--launcher-exec",
                f"ip netns exec {self.tag}-%n", *words[1:]]

    def faults_during(self, job, faults):
        """Each (seconds, fault) when its time has come, until the job ends."""
        begin = time.monotonic()
        for at, what in faults:
            try:
                job.wait(max(0, begin + at - time.monotonic()))
                return
            except subprocess.TimeoutExpired:
                self.fault(what)


def test_main(wire, verbosity=2):
    """unittest.main, or a skip that says why there are no namespaces."""
    try:
        with Net(wire, hosts=1, cables=0):
            pass
    except Trouble as e:
        print(f"skipped: {e}")
        sys.exit(SKIP)
    unittest.main(verbosity=verbosity)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hosts", type=int, default=2)
    parser.add_argument("--cables", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--wire", default=os.environ.get("WIRE", "netns_wire"))
    parser.add_argument("--at", nargs=2, action="append", default=[],
                        metavar=("SECONDS", "FAULT"))
    parser.add_argument("job", nargs="+")
    args = parser.parse_args()
    try:
        with Net(args.wire, args.hosts, args.cables, args.seed) as net:
            faults = sorted((float(at), what) for at, what in args.at)
            while faults and faults[0][0] <= 0:
                net.fault(faults.pop(0)[1])
            net.wait_for_carrier()  # else ranks take it for none
            job = subprocess.Popen(net.command(args.job))
            net.faults_during(job, faults)
            job.wait()
            for kind, cables in net.cables.items():
                for cable in cables:
                    print(f"net{kind}: {cable.say('count')}", file=sys.stderr)
            return job.returncode
    except Trouble as e:
        print(f"faultnet: no network of namespaces here: {e}", file=sys.stderr)
        return SKIP


if __name__ == "__main__":
    sys.exit(main())
