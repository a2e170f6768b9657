"""A network that falls silent for ever: each rank has its error in time.

A cell is fabrics x fault x traffic. The fabrics of a pair have failover, each
its own cable; all cables fail at once. Limits are 2 s (`detect`, `vanished`,
`timeout`); the error must be there 1 s later at most, plus what a slow machine
takes. Without arguments a sample; with `all`, the whole grid; otherwise only
cells whose names hold one of the words:

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
HANG = 20     # more is a hang
SETTLE = 0.3  # seconds of traffic before the fault
AT_ONCE = 6   # cells

NAMES = {"tcp": "tcp", "udp": "udp-reliable", "sctp": "sctp"}
FABRICS = ["tcp", "udp", "sctp", "tcp+udp", "udp+tcp", "tcp+sctp", "udp+sctp",
           "tcp+tcp", "shm+tcp"]
FAULTS = ["both", "ab", "ba", "deleted", "port", "host", "admin", "net"]
TRAFFIC = ["stream", "pingpong", "idle", "receive"]
ICMP = {"port": "port-unreachable", "host": "host-unreachable",
        "admin": "admin-prohibited", "net": "net-unreachable"}
SAMPLE = ["tcp both stream", "tcp ab pingpong", "tcp deleted receive",
          "udp both stream", "udp ba pingpong", "udp both idle",
          "udp host stream", "sctp both stream", "sctp ab pingpong",
          "sctp both receive", "tcp+udp both stream", "tcp+udp ab pingpong",
          "udp+tcp deleted stream", "tcp+sctp both pingpong",
          "tcp+sctp ba stream", "udp+sctp both receive",
          "udp+sctp admin pingpong", "tcp+tcp both idle"]
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
LIMITS = {"tcp": "detect = 2s", "udp-reliable": "vanished = 2s",
          "sctp": "vanished = 2s"}
ROUTE = """
[route all]
use = {use}
failover = {failover}
{timeout}
"""
# the limit of a carrier is not to be what ends the pair
PATIENT = {"tcp": "detect = 60s", "udp-reliable": "vanished = 60s",
           "sctp": "vanished = 60s"}


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
                limits = (PATIENT if several and i == 0 else LIMITS)[plugin]
                text += SECTION.format(i=i, plugin=plugin, limits=limits)
        use = ", ".join("shm" if p == "shm" else f"net{i}"
                        for i, p in enumerate(self.plugins))
        return text + ROUTE.format(
            use=use, failover="yes" if several else "no",
            timeout="timeout = 2s" if several else "")

    def break_network(self, net):
        if self.fault in ("both", "ab", "ba"):
            net.say("all", f"{self.fault} cut=1")
            return
        for kind in net.cables:
            if self.fault == "deleted":
                faultnet.run("ip", "-n", net.hosts[0], "link", "del",
                             f"net{kind}")
        if self.fault in ICMP:
            # what comes is refused, as a firewall of that host would
            rules = ("table ip f { chain i { type filter hook input priority "
                     "0; iifname \"net*\" reject with icmp type "
                     f"{ICMP[self.fault]}; }}; }}")
            for host in net.hosts:
                subprocess.run(["ip", "netns", "exec", host, "nft", rules],
                               check=True)

    def run(self):
        """Seconds that each rank took, and the error; or a complaint."""
        with faultnet.Net(WIRE, hosts=2, cables=len(self.plugins)) as net, \
                tempfile.NamedTemporaryFile("w", suffix=".ini") as ini:
            ini.write(self.ini())
            ini.flush()
            net.wait_for_carrier()
            job = subprocess.Popen(
                net.command([MPIRUN, "-n", "2", "-l", "--ini", ini.name,
                             PROGRAM, self.traffic]),
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

    def watch(self, net, job):
        seen, began, said = [], 0, {}
        for line in job.stdout:
            seen.append(line)
            began += "begun" in line
            if "begun" in line and began == 2:
                time.sleep(SETTLE)  # traffic, or none
                self.break_network(net)
                cut = time.monotonic()
                if self.traffic == "idle":
                    time.sleep(SETTLE)
                    job.stdin.write("\n")
                    job.stdin.flush()
            found = re.search(r"(\d).*class (\w+) at ([\d.]+)", line)
            if found:
                said[found[1]] = (float(found[3]) - cut, found[2])
                if len(said) == 2:
                    return self.judge(said, seen)
        return said, "hang: " + "".join(seen)

    def judge(self, said, seen):
        late = max(t for t, _ in said.values()) > LIMIT + EXTRA + SLACK
        # a port that is unreachable is a process that has ended
        early = min(t for t, _ in said.values()) < EARLY and (
            self.fault != "port")
        other = any(c != "PROC_ABORTED" for _, c in said.values())
        return said, "".join(seen) if late or early or other else ""


def cells(words):
    grid = [Cell(*c) for c in itertools.product(FABRICS, FAULTS, TRAFFIC)]
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
