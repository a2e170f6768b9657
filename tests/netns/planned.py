"""A deployment is planned here, where nothing of it exists, and then run.

    host a  eth0 10.77.0.1 -- control -- eth0 10.77.0.2  host b
    ranks   eth1 10.78.0.1 --- data ---- eth1 10.78.0.2  ranks
    0, 1                                                 2, 3

The networks are two cables between two network namespaces. For each pair of
ranks the transports and routes that weft-info --explain names are those that
the ranks then say they use. INFO names the weft-info of a build, PAIRS the program
of the ranks, BULK the transport for the second network.

SPDX-License-Identifier: BSD-3-Clause
"""
import atexit
import itertools
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import unittest

import netns

INFO = os.environ.get("INFO", "weft-info")
PAIRS = os.environ.get("PAIRS", "./netns_pairs")
BULK = os.environ.get("BULK", "tcp")
RANKS = range(4)
STATIC = """
bootstrap = static
job = planned
job_key_file = {key}
"""
INI = """
[core]
log = debug
{start}
[transport shm]
[transport ctl]
plugin = tcp
interface = 10.77.0.0/24
port = 7000
[transport data]
plugin = {bulk}
interface = 10.78.0.0/24
port = 7100
[route node]
to = local
use = shm ctl
[route of-rank-0]
from = rank:0
use = ctl
[route to-rank-0]
to = rank:0
use = ctl
[route large]
size = 64K-
use = data
[route small]
use = ctl
[host a]
ctl = 10.77.0.1
data = 10.78.0.1
[host b]
ctl = 10.77.0.2
{data}
[rank 0-3]
host = a b
"""
LANE = re.compile(r"process (\d+): (messages|bulk payload) through '(\w+)' "
                  r"\((.*)\)")
ENV = {k: v for k, v in os.environ.items()
       if not k.startswith(("WEFT_", "PMI")) and k != "HOME"}


class Planned(netns.Hosts):
    def setUp(self):
        super().setUp()
        self.assertEqual(netns.cable("eth1"), "")
        for i, name in enumerate(netns.NAME):
            self.assertTrue(netns.running(name, "eth1"))
            self.must("-n", name, "addr", "add", f"10.78.0.{i + 1}/24", "dev",
                      "eth1")

    def ini_text(self, data="data = 10.78.0.2", start=STATIC):
        key = self.write("key", "the secret of this test\n")
        return self.write("mpi.ini", INI.format(
            start=start.format(key=key), bulk=BULK, data=data))

    def explain(self, ini, pair, status=0):
        """What is planned for a pair, and 1 MB, where there is no interface."""
        done = subprocess.run(["unshare", "-n", INFO, "--json", "--ini", ini, "--explain",
                               "%d->%d" % pair, "--size", "1M"], text=True,
                              capture_output=True, env=ENV, timeout=60)
        self.assertEqual(done.returncode, status, done.stderr)
        return json.loads(done.stdout)

    def plan(self, ini):
        """(messages, large payload) of each pair: transport and route."""
        plan = {}
        for pair in itertools.permutations(RANKS, 2):
            said = self.explain(ini, pair)
            self.assertEqual(said["planned"], 1)
            plan[pair] = tuple(
                (said[lane]["chosen"][0]["transport"], said[lane]["section"])
                for lane in ("messages", "payload"))
        return plan

    def start_rank(self, rank, ini):
        build = os.path.dirname(os.path.dirname(os.path.abspath(INFO)))
        env = dict(ENV, WEFT_RANK=str(rank), WEFT_SIZE="4", WEFT_INI=ini,
                   WEFT_PLUGIN_PATH=build + "/lib/weft")
        with open(os.path.join(self.dir, f"out{rank}"), "w",
                  encoding="utf-8") as out:
            return subprocess.Popen(
                ["ip", "netns", "exec", netns.NAME[rank // 2], PAIRS], env=env,
                stdin=subprocess.DEVNULL, stdout=out, stderr=out)

    def run_static(self, ini):
        ranks = [self.start_rank(rank, ini) for rank in RANKS]
        for process in ranks:
            self.addCleanup(process.kill)
        for process in ranks:
            process.wait(netns.LIMIT)
        return self.used()

    def run_launched(self, ini):
        """The ranks of a node are those of a namespace."""
        script = self.write("rank", f"""
name={netns.NAME[0][:-1]}$(echo $PMI_RANK | tr 0123 aabb)
exec ip netns exec $name {shlex.quote(PAIRS)} >{self.dir}/out$PMI_RANK 2>&1
""")
        done = subprocess.run(
            [netns.MPIRUN, "-n", "4", "--nodes", "2", "--ini", ini, "sh",
             script], env=ENV, capture_output=True, text=True,
            timeout=netns.LIMIT, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return self.used()

    def used(self):
        """The same as plan() says, as the ranks have said it."""
        used = {}
        for rank in RANKS:
            with open(os.path.join(self.dir, f"out{rank}"),
                      encoding="utf-8") as f:
                text = f.read()
            self.assertIn("fine\n", text)
            for peer, what, transport, route in LANE.findall(text):
                lanes = used.setdefault((rank, int(peer)), {})
                lanes[what] = (transport, route)
        return {pair: (lanes["messages"],
                       lanes.get("bulk payload", lanes["messages"]))
                for pair, lanes in used.items()}

    def assert_planned(self, plan, used, local):
        self.assertEqual(used, plan)
        for (a, b), lanes in plan.items():
            wanted = (local, local) if a // 2 == b // 2 else (
                "ctl", "data" if a and b else "ctl")
            self.assertEqual(tuple(lane[0] for lane in lanes), wanted, (a, b))

    def test_a_static_start_does_what_was_planned(self):
        ini = self.ini_text()
        self.assert_planned(self.plan(ini), self.run_static(ini), "shm")

    def test_a_launched_job_does_what_was_planned(self):
        ini = self.ini_text(start="")
        self.assert_planned(self.plan(ini), self.run_launched(ini), "shm")

    def test_the_plan_says_what_the_file_does_not(self):
        said = self.explain(self.ini_text(), (1, 2))
        self.assertEqual(said["assumed"], [
            "ctl: a (10.77.0.1) and b (10.77.0.2) can open it and reach each "
            "other",
            "data: a (10.78.0.1) and b (10.78.0.2) can open it and reach each "
            "other"])
        said = self.explain(self.ini_text(""), (1, 2))
        self.assertIn("[rank] and [host] give the receiver no address for it",
                      [r["reason"] for r in said["messages"]["rejected"]
                       if r["transport"] == "data"])
        said = self.explain(self.ini_text("data = 10.99.0.2"), (1, 2), 0)
        self.assertEqual(said["payload"]["chosen"], [])
        self.assertIn("b has 10.99.0.2 for it, which is not in interface = "
                      "10.78.0.0/24", [r["reason"] for r in
                                       said["payload"]["rejected"]])


if __name__ == "__main__":
    reason = netns.why_not()
    if reason:
        print(f"skipped: {reason}")
        sys.exit(netns.SKIP)
    for number in (signal.SIGTERM, signal.SIGALRM):
        signal.signal(number, signal.default_int_handler)
    signal.alarm(4 * netns.LIMIT)
    atexit.register(netns.remove_hosts)
    unittest.main(verbosity=2)
