"""A network that falls silent for ever: each rank has its error in time. And
what only looks like it: nobody has an error.

A cell is fabrics x fault x traffic. The fabrics of a pair have failover, each
its own cable; all cables fail at once. Limits are 2 s (`detect`, `vanished`,
`timeout`); the error must be there 1 s later at most, plus what a slow machine
takes. Of the peaceful faults `none` is none, `brief` a cut of half the limit,
`killed` ends all sockets that wait for callers or datagrams, and `hidden` is a
firewall that swallows calls to the port discard, so that hosts are not heard
of; there a rank that computes is left alone.

In further cells only the first cable is cut, and the second transport was never
used before. `first`: a rank that computes is left alone, the others go on by the
second cable. `broken`: so it is if the first transport has given up long before
the rank comes back. `shielded`: a firewall swallows the calls to the port discard
on the second cable; there it is unknown whether a rank computes unless that
transport is tcp. `filtered`: the second cable lets through nothing but those
calls, so hosts answer, and no rank reaches another one.

Without arguments a sample runs;
with `all`, the whole grid; otherwise only cells whose names hold one of the
words:

    silence.py udp:both tcp+sctp

SPDX-License-Identifier: BSD-3-Clause
"""
import concurrent.futures
import itertools
import os
import re
import subprocess
import sys
import tempfile
import threading
import time

import faultnet

MPIRUN = os.environ.get("MPIRUN", "mpirun")
WIRE = os.environ.get("WIRE", "netns_wire")
PROGRAM = os.environ.get("SILENCE", "./netns_silence")
HAVE = os.environ.get("FABRICS", "tcp udp-reliable sctp").split()
LIMIT = 2.0   # seconds, of every option
EXTRA = 1.0   # and the error is there
SLACK = 1.0   # of a machine that is shared
EARLY = 1.0   # before that nobody can know
HANG = 60     # more is a hang
SECONDS = 6   # for which rank 1 computes
SETTLE = 0.3  # seconds of traffic before the fault
AT_ONCE = 6   # cells

NAMES = {"tcp": "tcp", "udp": "udp-reliable", "sctp": "sctp"}
FABRICS = ["tcp", "udp", "sctp", "tcp+udp", "udp+tcp", "tcp+sctp", "udp+sctp",
           "tcp+tcp", "shm+tcp"]
SEVERAL = ["tcp+tcp", "udp+tcp", "sctp+tcp", "tcp+udp", "udp+udp", "sctp+udp",
           "tcp+sctp", "udp+sctp"]
FAULTS = ["both", "ab", "ba", "deleted", "down", "address", "blackhole",
          "prohibit", "port", "host", "admin", "net"]
TRAFFIC = ["stream", "pingpong", "idle", "receive"]
FIRST = ["call", "test"]  # nothing was sent before the network fell silent
PEACEFUL = [("none", "compute"), ("hidden", "compute"), ("brief", "last"),
            ("killed", "call"), ("killed", "last")]
SECOND = list(itertools.product(["first", "broken", "shielded"],
                                ["compute", "await", "last"])) + \
    [("filtered", t) for t in TRAFFIC + ["compute"]]
# of a cable that lets through calls to the port discard only
FILTER = """table ip f {{ chain c {{ type filter hook input priority 0;
iifname != "{0}" accept; tcp dport 9 accept; tcp sport 9 accept;
meta l4proto {{ tcp, udp }} drop; }}; }}"""
ICMP = {"port": "port-unreachable", "host": "host-unreachable",
        "admin": "admin-prohibited", "net": "net-unreachable"}
SAMPLE = ["tcp both stream", "tcp ab pingpong", "tcp deleted receive",
          "udp both stream", "udp ba pingpong", "udp both idle",
          "udp host stream", "sctp both stream", "sctp ab pingpong",
          "sctp both receive", "tcp+udp both stream", "tcp+udp ab pingpong",
          "udp+tcp deleted stream", "tcp+sctp both pingpong",
          "tcp+sctp ba stream", "tcp+udp blackhole pingpong",
          "tcp prohibit stream", "sctp address pingpong", "udp+sctp both receive",
          "udp+sctp admin pingpong", "tcp+tcp both idle",
          "tcp none compute", "udp none compute", "sctp none compute",
          "tcp+udp none compute", "udp+tcp hidden compute",
          "sctp hidden compute", "tcp both compute", "udp both compute",
          "sctp both compute", "tcp+udp both compute", "tcp brief last", "udp brief last",
          "sctp brief last", "tcp+sctp brief last", "tcp killed call",
          "udp killed call", "sctp killed call", "tcp both call",
          "udp both call", "udp ab call", "sctp both call", "sctp ab call",
          "tcp both test", "udp both test", "sctp both test", "udp+sctp killed last",
          "tcp+tcp first compute", "tcp+udp first await", "udp+sctp first last",
          "udp+tcp shielded compute", "tcp+udp shielded await",
          "sctp+tcp broken compute", "tcp+udp broken await",
          "tcp+tcp filtered compute", "tcp+sctp filtered pingpong",
          "udp+udp filtered receive"]
INI = """[core]
log = warn
job_key = silence
"""
SECTION = """
[transport net{i}]
plugin = {plugin}
interface = 10.90.{i}.0/24
{limits}
"""
LIMITS = {"tcp": "detect = 2s\nconnect_timeout = 2s",
          "udp-reliable": "vanished = 2s\nconnect_timeout = 2s",
          "sctp": "vanished = 2s\nconnect_timeout = 2s"}
ROUTE = """
[route all]
use = {use}
failover = {failover}
{timeout}
"""
# the limit of a carrier is not to be what ends the pair
PATIENT = {"tcp": "detect = 60s\nconnect_timeout = 2s",
           "udp-reliable": "vanished = 60s\nconnect_timeout = 2s",
           "sctp": "vanished = 60s\nconnect_timeout = 2s"}


class Cell:
    def __init__(self, fabrics, fault, traffic):
        self.name = f"{fabrics} {fault} {traffic}"
        self.plugins = [NAMES.get(f, f) for f in fabrics.split("+")]
        self.fault, self.traffic = fault, traffic

    def ini(self):
        several = len(self.plugins) > 1
        text = INI
        for i, plugin in enumerate(self.plugins):
            if plugin != "shm":
                limits = (PATIENT if several and i == 0 and
                          self.fault != "broken" else LIMITS)[plugin]
                text += SECTION.format(i=i, plugin=plugin, limits=limits)
        use = ", ".join("shm" if p == "shm" else f"net{i}"
                        for i, p in enumerate(self.plugins))
        return text + ROUTE.format(
            use=use, failover="yes" if several else "no",
            timeout="timeout = 2s" if several else "")

    def filter(self, net, hook, verdict, cables="net*"):
        rules = (f"table ip f {{ chain c {{ type filter hook {hook} priority "
                 f"0; iifname \"{cables}\" {verdict}; }}; }}")
        self.filter_all(net, rules)

    @staticmethod
    def filter_all(net, rules):
        for host in net.hosts:
            subprocess.run(["ip", "netns", "exec", host, "nft", rules],
                           check=True)

    @staticmethod
    def waiting(host, *options):
        """Sockets that wait for anybody; with -K they are ended."""
        return faultnet.run("ip", "netns", "exec", host, "ss", "-Htuan",
                            *options, "state", "unconnected", "state",
                            "listening")

    def kill_sockets(self, net):
        """Until they are back, or for as long as that may take."""
        before = [self.waiting(h).count("10.90.") for h in net.hosts]
        for host in net.hosts:
            self.waiting(host, "-K")
        end = time.monotonic() + LIMIT
        while time.monotonic() < end and before != [
                self.waiting(h).count("10.90.") for h in net.hosts]:
            time.sleep(0.01)

    def break_host(self, net):
        """By its administrator, all cables at once."""
        words = {"deleted": "link del net{0}",
                 "address": "addr flush dev net{0}",
                 "blackhole": "route add blackhole 10.90.{0}.2",
                 "prohibit": "route add prohibit 10.90.{0}.2"}.get(self.fault)
        if words:
            subprocess.run(["ip", "-n", net.hosts[0], "-batch", "-"],
                           input="\n".join(map(words.format, net.cables)),
                           text=True, check=True)

    def break_network(self, net):
        if self.fault == "killed":
            self.kill_sockets(net)
        if self.fault == "brief":
            net.say("all", "both cut=1")
            time.sleep(LIMIT / 2)
            net.say("all", "heal")
        if self.fault in ("first", "broken", "shielded", "filtered"):
            net.say("0", "both cut=1")
        if self.fault in ("both", "ab", "ba"):
            net.say("all", f"{self.fault} cut=1")
            return
        if self.fault == "down":
            net.carrier("all", "down")
        self.break_host(net)
        if self.fault in ICMP:
            # what comes is refused, as a firewall of that host would
            self.filter(net, "input", f"reject with icmp type "
                        f"{ICMP[self.fault]}")

    def run(self):
        """Seconds that each rank took, and the error; or a complaint."""
        with faultnet.Net(WIRE, hosts=2, cables=len(self.plugins)) as net, \
                tempfile.NamedTemporaryFile("w", suffix=".ini") as ini:
            ini.write(self.ini())
            ini.flush()
            net.wait_for_carrier()
            net.go = ini.name + ".go"
            if self.fault == "hidden":
                self.filter(net, "input", "tcp dport 9 drop")
            if self.fault == "shielded":
                self.filter(net, "input", "tcp dport 9 drop", "net1")
            if self.fault == "filtered":
                self.filter_all(net, FILTER.format("net1"))
            job = subprocess.Popen(
                net.command([MPIRUN, "-n", "2", "-l", "--ini", ini.name,
                             PROGRAM, self.traffic,
                             *([net.go] if self.traffic in FIRST else [])]),
                stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT, text=True)
            watchdog = threading.Timer(HANG, job.kill)
            watchdog.start()
            try:
                return self.watch(net, job)
            finally:
                watchdog.cancel()
                job.kill()
                job.wait()
                if os.path.exists(net.go):
                    os.unlink(net.go)

    def watch(self, net, job):
        seen, began, said, cut = [], 0, {}, time.monotonic()
        breaking = 0 # seconds that the fault took, which begins in them
        for line in job.stdout:
            seen.append(line)
            began += "begun" in line
            if "begun" in line and began == 2:
                time.sleep(SETTLE)  # traffic, or none
                start = time.monotonic()
                self.break_network(net)
                cut = time.monotonic()
                breaking = cut - start
                if self.traffic in FIRST:
                    open(net.go, "w").close()
                if self.traffic == "idle":
                    time.sleep(SETTLE)
                    job.stdin.write("\n")
                    job.stdin.flush()
            found = re.search(r"(\d).*class (\w+) at ([\d.]+)", line)
            if found:
                said[found[1]] = (float(found[3]) - cut, found[2])
                if len(said) == 2:
                    return self.judge(said, seen, breaking)
        return said, "hang: " + "".join(seen)

    def is_peaceful(self):
        if self.fault == "shielded":
            return self.traffic == "last" or self.plugins[1] == "tcp"
        return (self.fault in ("first", "broken") or
                (self.fault, self.traffic) in PEACEFUL)

    def judge(self, said, seen, breaking):
        if self.is_peaceful():
            trouble = any(c != "SUCCESS" for _, c in said.values())
            return said, "".join(seen) if trouble else ""
        if self.fault == "filtered" and self.traffic == "compute":
            said["0"] = (said["0"][0] - SECONDS, said["0"][1])
        if self.traffic in ("compute", "await"):  # rank 1 comes back that much later
            said["1"] = (said["1"][0] - SECONDS, said["1"][1])
        late = max(t for t, _ in said.values()) > LIMIT + EXTRA + SLACK
        # a port that is unreachable is a process that has ended
        early = said["0"][0] + breaking < EARLY and self.fault != "port"
        other = any(c != "PROC_ABORTED" for _, c in said.values())
        return said, "".join(seen) if late or early or other else ""


def cells(words):
    grid = [Cell(*c) for c in itertools.product(FABRICS, FAULTS, TRAFFIC)]
    grid += [Cell(f, *c) for f in FABRICS for c in PEACEFUL]
    grid += [Cell(f, *c) for f in SEVERAL for c in SECOND]
    grid += [Cell(f, "both", c) for f in FABRICS for c in ("compute", "await")]
    grid += [Cell(f, c, t) for f in FABRICS for c in ("both", "ab") for t in FIRST]
    if not words:
        grid = [c for c in grid if c.name in SAMPLE]
    elif words != ["all"]:
        grid = [c for c in grid
                if any(w.replace(":", " ") in c.name for w in words)]
    return [c for c in grid
            if all(p in HAVE or p == "shm" for p in c.plugins)]


def main():
    try:
        with faultnet.Net(WIRE, hosts=1, cables=0):
            pass
    except faultnet.Trouble as e:
        print(f"skipped: {e}")
        return faultnet.SKIP
    chosen, bad = cells(sys.argv[1:]), 0
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        for cell, (said, wrong) in zip(chosen,
                                       pool.map(Cell.run, chosen)):
            times = " ".join(f"{r}: {t:.2f} s{'' if c == 'PROC_ABORTED' else ' ' + c}"
                             for r, (t, c) in sorted(said.items()))
            print(f"{'FAILED' if wrong else 'ok'}  {cell.name:28} {times}",
                  flush=True)
            if wrong:
                bad += 1
                print("    " + wrong.replace("\n", "\n    "), flush=True)
    print(f"{len(chosen)} cells, {bad} failed")
    return 1 if bad or not chosen else 0


if __name__ == "__main__":
    sys.exit(main())
