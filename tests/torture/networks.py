"""Every network fault under every kind of route.

A cell is a job of four ranks on two hosts (network namespaces, faultnet.py): one
pair talks all the time, one was idle when the fault began and talks then
(networks_talk.c). What must hold, whatever breaks:

    nothing is lost, doubled, altered or out of order;
    a fault that a transport or a route with failover can cure gives no error;
    one that nothing can cure gives MPI_ERR_PROC_ABORTED on both sides, at most
    `timeout` and a second after it began (and SLACK, for a busy machine);
    every rank ends.

Each transport of a route has a cable of its own. A fault is of all cables, or of
the first transport's only, so that the others can take over.

Needs root, nft and ss; beside them the options of torture.py.
SPDX-License-Identifier: BSD-3-Clause
"""
import collections
import concurrent.futures
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

import torture

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "netns"))
import faultnet  # noqa: E402  (from the folder beside this one)

MPIRUN = os.environ.get("MPIRUN", "mpirun")
WIRE = os.environ.get("WIRE", "netns_wire")
TALK = os.environ.get("TALK", "networks_talk")
FABRICS = os.environ.get("FABRICS", "tcp udp-reliable sctp").split()
RANKS = 4
START = 60  # seconds until everybody is ready
HANG = 30  # still running then: a rank waits for ever
SLACK = 4.0  # of a machine that does other things, too
BEFORE = 0.2  # seconds of traffic before the fault
AFTER = 0.5  # and after it has gone
CURED, GONE, EITHER = "cured", "gone", "either"

# ---- routes ------------------------------------------------------------------

Route = collections.namedtuple("Route", "transports failover options")
ROUTES = {
    "tcp": Route(["tcp"], False, ""),
    "udp": Route(["udp-reliable"], False, ""),
    "sctp": Route(["sctp"], False, ""),
    "tcp-udp": Route(["tcp", "udp-reliable"], True, ""),
    "udp-tcp": Route(["udp-reliable", "tcp"], True, ""),
    "tcp-sctp": Route(["tcp", "sctp"], True, ""),
    "sctp-udp": Route(["sctp", "udp-reliable"], True, ""),
    "all": Route(["tcp", "udp-reliable", "sctp"], True, ""),
    "stripe": Route(["tcp", "udp-reliable"], True, "policy = stripe\n"),
    "encrypt": Route(["tcp"], True, "security = encrypt\n"),
    "tcp-tcp": Route(["tcp", "tcp"], True, ""),
}
# how soon each transport notices, from the route's timeout in ms
NOTICE = {
    "tcp": "detect = {t}ms\nconnect_timeout = {t}ms\n",
    "udp-reliable": "keepalive = 500ms\nvanished = {t}ms\n"
                    "unreachable = {t}ms\nconnect_timeout = {t}ms\n",
    "sctp": "heartbeat = 200ms\nkeepalive = 500ms\nvanished = {t}ms\n"
            "unreachable = {t}ms\nconnect_timeout = {t}ms\n",
}


def configuration(route, timeout):
    text = "[core]\nclose_timeout = 1s\nlog = info\n"
    for i, plugin in enumerate(route.transports):
        text += (f"[transport net{i}]\nplugin = {plugin}\n"
                 f"interface = 10.90.{i}.0/24\n"
                 + NOTICE[plugin].format(t=int(timeout * 1000)))
    names = ", ".join(f"net{i}" for i in range(len(route.transports)))
    return (f"{text}[route all]\nuse = {names}\ntimeout = "
            f"{int(timeout * 1000)}ms\nfailback = 500ms\n"
            f"failover = {'yes' if route.failover else 'no'}\n"
            f"{route.options}")


# ---- faults ------------------------------------------------------------------


def inside(net, host, *words):
    """A command in a host that must do its work."""
    return faultnet.run("ip", "netns", "exec", net.hosts[host], *words)


def filter_in(net, host, *rules, hook="input priority 0"):
    """What comes to the host over its cables is filtered by these rules."""
    text = ("table inet torture {\nchain c {\ntype filter hook " + hook + ";\n"
            + "\n".join(rules) + "\n}\n}\n")
    subprocess.run(["ip", "netns", "exec", net.hosts[host], "nft", "-f", "-"],
                   input=text, text=True, check=True, timeout=HANG)


def filter_both(*rules, cables="net*", **options):
    def begin(net):
        for host in range(2):
            filter_in(net, host, *(f'iifname "{cables}" {r}' for r in rules),
                      **options)
    return begin


def no_filter(net):
    for host in range(2):
        inside(net, host, "nft", "delete", "table", "inet", "torture")


def on_cable(text):
    return lambda net: net.fault(text)


def one_way(way):
    return lambda net: net.say("all", f"{way} cut=1")


def delete_interface(net):
    inside(net, 0, "ip", "link", "del", "net0")


def replace_address(net):
    inside(net, 0, "ip", "addr", "flush", "dev", "net0")
    inside(net, 0, "ip", "addr", "add", "10.90.0.77/24", "dev", "net0")


def kill_sockets(*selection):
    def kill(net):
        for host in range(2):
            inside(net, host, "ss", "-K", *selection)
    return kill


def again_and_again(what, times=4, pause=0.25):
    def begin(net):
        for _ in range(times):
            what(net)
            time.sleep(pause)
    return begin


def ends_of(net, *kind):
    """Ports of sockets on the first cable: (here, there), as host 0 sees them."""
    lines = inside(net, 0, "ss", "-Hn", *kind).splitlines()
    found = (re.search(r"10\.90\.0\.\d+:(\d+)\s+(\S+):(\S+)", line)
             for line in lines)
    return [(m[1], m[3]) for m in found if m]


def drop_flows(net):
    """The connections of now, and the datagrams to sockets of now."""
    rules = [f'iifname "net0" tcp sport {there} tcp dport {here} drop'
             for here, there in ends_of(net, "-t", "state", "established")]
    rules += [f'iifname "net0" udp dport {here} drop'
              for here, _ in ends_of(net, "-u", "-a")]
    filter_in(net, 0, *sorted(set(rules)))


# begin, heal (None: it stays to the end), seconds until that, how it is cured
# with what it hits (NOISE: always; PASSES: it ends in time; LASTS: another cable),
# which cables, the route's timeout
Fault = collections.namedtuple("Fault", "begin heal seconds kind first timeout")
NOISE, PASSES, LASTS = "noise", "passes", "lasts"


def noise(begin, heal=None):
    return Fault(begin, heal, 1.0, NOISE, False, 4.0)


def passes(begin, heal, seconds=1.0, timeout=4.0):
    return Fault(begin, heal, seconds, PASSES, False, timeout)


def lasts(begin, first):
    return Fault(begin, None, 1.0, LASTS, first, 2.0)


MESSAGES = "meta l4proto { tcp, udp }"  # and not what is told about them
FAULTS = {
    "loss": noise(on_cable("all:loss=5")),
    "burst": noise(on_cable("all:burst=1,length=3")),
    "nth": noise(filter_both("numgen inc mod 20 0 drop")),
    "duplicate": noise(on_cable("all:duplicate=10")),
    "corrupt": noise(on_cable("all:corrupt=1")),
    "reorder": noise(on_cable("all:reorder=20,gap=3")),
    "delay": noise(on_cable("all:delay=20,jitter=20")),
    "rate": noise(on_cable("all:rate=20")),
    "mtu": noise(filter_both("meta length > 1300 drop")),
    "reset": noise(filter_both("meta l4proto tcp numgen inc mod 500 0 "
                               "reject with tcp reset")),
    "kill-tcp": noise(again_and_again(kill_sockets("-t", "state",
                                                   "established"))),
    "kill-all": noise(kill_sockets("-a", "-t", "-u")),
    "flap": passes(on_cable("all:down"), on_cable("all:up")),
    "blink": passes(on_cable("all:cut"), on_cable("all:heal")),
    "outage": passes(on_cable("all:cut"), on_cable("all:heal"), 3.0, 9.0),
    "unreachable": passes(
        filter_both(f"{MESSAGES} numgen inc mod 2 0 "
                    "reject with icmp host-unreachable",
                    f"{MESSAGES} reject with icmp admin-prohibited"),
        no_filter),
    "cut": lasts(on_cable("all:cut"), False),
    "cut-first": lasts(on_cable("0:cut"), True),
    "to-b": lasts(one_way("ab"), False),
    "to-a": lasts(one_way("ba"), False),
    "down": lasts(on_cable("0:down"), True),
    "delete": lasts(delete_interface, True),
    "address": lasts(replace_address, True),
    "no-port": lasts(filter_both(f"{MESSAGES} reject with icmp port-unreachable",
                                 cables="net0"), True),
    "flow": lasts(drop_flows, True),
}
TCP_ONLY = {"reset", "kill-tcp"}


def expected(name, route):
    """CURED: no error may be reported; GONE: the other one must count as gone;
    EITHER: both are right, as long as what arrives is right."""
    fault, plain_tcp = FAULTS[name], route.transports == ["tcp"]
    if fault.kind == LASTS:
        if fault.first and len(route.transports) > 1:
            return CURED
        if name == "address" and route.failover:
            return EITHER  # whose address is new can still call the other one
        if name == "flow" and route.failover:
            return EITHER  # a new connection is a new flow, if in time
        return GONE
    if plain_tcp and not route.failover and name in TCP_ONLY | {"corrupt"}:
        return EITHER  # a connection is all it has
    if name == "mtu" and route.transports[0] == "tcp" and \
            "udp-reliable" not in route.transports:
        # tcp finds no size where nothing is told about it, and takes the pair
        # back from sctp by its answers to probes, perhaps before sctp has one
        return EITHER
    if name == "kill-all" and plain_tcp and not route.failover:
        return EITHER
    return CURED


# ---- a cell ------------------------------------------------------------------

RESULT = re.compile(r"rank (\d) rounds (\d+) class (\S+) at ([\d.]+) call "
                    r"(\S+): (.*)")


class Job:
    """networks_talk between two hosts, and the files that it is led by."""

    def __init__(self, net, folder, text):
        self.folder = folder
        ini = os.path.join(folder, "mpi.ini")
        with open(ini, "w", encoding="utf-8") as f:
            f.write(text)
        os.chmod(ini, 0o600)
        self.out = open(os.path.join(folder, "out"), "w+", encoding="utf-8")
        self.process = subprocess.Popen(
            net.command([MPIRUN, "-n", str(RANKS), "--ini", ini, TALK, folder]),
            stdin=subprocess.DEVNULL, stdout=self.out,
            stderr=subprocess.STDOUT)

    def wait_until_ready(self):
        end = time.monotonic() + START
        while not all(os.path.exists(f"{self.folder}/ready.{r}")
                      for r in range(RANKS)):
            if self.process.poll() is not None or time.monotonic() > end:
                return "the job did not begin"
            time.sleep(0.01)
        return None

    def say(self, name):
        with open(os.path.join(self.folder, name), "w", encoding="utf-8"):
            pass

    def text(self):
        self.out.flush()
        self.out.seek(0)
        return self.out.read()


def judge_rank(line, want, begun, timeout):
    rank, _, name, at, call, text = line
    if name == "none":
        return (f"rank {rank} had no error, though nothing could reach it"
                if want == GONE else None)
    after = float(at) - begun
    if want == CURED:
        return f"rank {rank}, {call} after {after:.1f} s: {name}: {text}"
    if name != "MPI_ERR_PROC_ABORTED":
        return f"rank {rank}, {call}: {name} is not its class: {text}"
    if want == GONE and after > timeout + 1 + SLACK:
        return f"rank {rank}, {call}: only after {after:.1f} s: {text}"
    return None


def judge(text, ended, want, begun, timeout):
    """What was wrong with a job, by what it printed; or None."""
    wrong = [line for line in text.splitlines() if "wrong: " in line]
    lines = RESULT.findall(text)
    for line in lines:
        found = judge_rank(line, want, begun, timeout)
        if found:
            wrong.append(found)
    if not ended:
        missing = set("0123") - {line[0] for line in lines}
        wrong.append(f"hangs; ranks that said nothing: {sorted(missing)}")
    elif len(lines) != RANKS:
        wrong.append("a rank ended without a word")
    return "; ".join(wrong) or None


def lead(net, job, fault):
    """Do the fault to a job that is ready. Then it has what it needs to end."""
    time.sleep(BEFORE)
    begun = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        done = pool.submit(fault.begin, net)
        concurrent.futures.wait([done], timeout=BEFORE)  # some go on
        job.say("go")
        done.result()
    try:
        job.process.wait(max(0, begun + fault.seconds - time.monotonic()))
    except subprocess.TimeoutExpired:
        pass
    if fault.heal:
        fault.heal(net)
        time.sleep(AFTER)
    job.say("stop")
    return begun


def run(name, route):
    fault = FAULTS[name]
    want = expected(name, route)
    with tempfile.TemporaryDirectory(prefix="networks") as folder, \
            faultnet.Net(WIRE, cables=len(route.transports)) as net:
        net.wait_for_carrier()
        job = Job(net, folder, configuration(route, fault.timeout))
        try:
            wrong = job.wait_until_ready()
            if wrong:
                return f"{wrong}: {job.text()[-2000:]}"
            begun = lead(net, job, fault)
            ended = True
            try:
                job.process.wait(HANG)
            except subprocess.TimeoutExpired:
                ended = False
            wrong = judge(job.text(), ended, want, begun, fault.timeout)
            if wrong and os.environ.get("KEEP"):
                print(job.text(), flush=True)
            return wrong
        finally:
            job.process.terminate()
            job.process.wait(HANG)
            job.out.close()


def cells():
    return [torture.Cell(f"{fault}/{route}",
                         lambda f=fault, r=r: run(f, r))
            for fault in FAULTS for route, r in ROUTES.items()
            if set(r.transports) <= set(FABRICS)]


def need():
    """Skip where the machine lacks something."""
    for tool in ("nft", "ss"):
        if not shutil.which(tool):
            torture.skip(f"{tool} is not installed")
    try:
        with faultnet.Net(WIRE, hosts=1, cables=0) as net:
            filter_in(net, 0, "drop")
    except (faultnet.Trouble, subprocess.CalledProcessError) as e:
        torture.skip(e)


if __name__ == "__main__":
    if "--list" not in sys.argv:
        need()
    torture.main(cells())
