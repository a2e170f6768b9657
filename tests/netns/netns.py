"""Two network namespaces, joined by a cable, as two hosts.

    host a  eth0 10.77.0.1/24 -------- eth0 10.77.0.2/24  host b

TALK names the program that the ranks run, MPIRUN the launcher. Needs root;
where namespaces cannot be made the whole test is skipped, with the reason.

SPDX-License-Identifier: BSD-3-Clause
"""
import atexit
import os
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

MPIRUN = os.environ.get("MPIRUN", "mpirun")
TALK = os.environ.get("TALK", "./netns_talk")
LIMIT = 60  # seconds; only a hang takes so long
SKIP = 77
SUBNET = "10.77.0.0/24"
IP = ("10.77.0.1", "10.77.0.2")
IP6 = ("fd00:77::1", "fd00:77::2")
NAME = [f"weft{os.getpid()}{host}" for host in "ab"]


def ip(*args):
    """The command ip; its complaint, or nothing."""
    r = subprocess.run(["ip", *args], capture_output=True, text=True,
                       timeout=LIMIT)
    return "" if r.returncode == 0 else r.stderr.strip() or "ip failed"


def remove_hosts():
    for name in NAME:
        r = subprocess.run(["ip", "netns", "pids", name], capture_output=True,
                           text=True, timeout=LIMIT)
        for pid in r.stdout.split():
            try:
                os.kill(int(pid), signal.SIGKILL)
            except ProcessLookupError:
                pass
        ip("netns", "del", name)


def make_hosts():
    for name in NAME:
        trouble = ip("netns", "add", name) or ip("-n", name, "link", "set",
                                                 "lo", "up")
        if trouble:
            return trouble
    return cable("eth0")


def cable(interface):
    trouble = ip("-n", NAME[0], "link", "add", interface, "type", "veth",
                 "peer", "name", interface, "netns", NAME[1])
    for name in NAME:
        trouble = trouble or ip("-n", name, "link", "set", interface, "up")
    return trouble


def running(name, interface):
    """Wait for the carrier: the kernel reports it a while later."""
    end = time.monotonic() + LIMIT
    while time.monotonic() < end:
        r = subprocess.run(["ip", "-n", name, "link", "show", interface],
                           capture_output=True, text=True, timeout=LIMIT)
        if " state UP " in r.stdout:
            return True
        time.sleep(0.01)
    return False


def why_not():
    """Why there can be no namespaces here, or nothing."""
    if os.geteuid() != 0:
        return "network namespaces need root"
    try:
        trouble = make_hosts()
    except OSError as e:
        return f"ip: {e.strerror}"
    remove_hosts()
    return trouble


def listening(pid):
    """Addresses on which anything listens in the namespace of a process."""
    found = set()
    for table, family in (("tcp", socket.AF_INET), ("tcp6", socket.AF_INET6)):
        try:
            with open(f"/proc/{pid}/net/{table}", encoding="ascii") as f:
                lines = [line.split() for line in f][1:]
        except FileNotFoundError:  # a kernel without IPv6
            continue
        for word in lines:
            if word[3] == "0A":
                raw = bytes.fromhex(word[1].split(":")[0])
                host = b"".join(int.from_bytes(raw[i:i + 4], sys.byteorder)
                                .to_bytes(4, "big")
                                for i in range(0, len(raw), 4))
                found.add(socket.inet_ntop(family, host))
    return found


class Hosts(unittest.TestCase):
    def setUp(self):
        self.addCleanup(remove_hosts)
        self.assertEqual(make_hosts(), "")
        for name, address in zip(NAME, IP):
            self.assertTrue(running(name, "eth0"))
            self.must("-n", name, "addr", "add", f"{address}/24", "dev", "eth0")
        folder = tempfile.TemporaryDirectory(prefix="netns")
        self.addCleanup(folder.cleanup)
        self.dir = folder.name

    def must(self, *args):
        self.assertEqual(ip(*args), "", args)

    def write(self, name, text):
        path = os.path.join(self.dir, name)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        os.chmod(path, 0o600)
        return path

    def ini(self, interface, tcp=("", ""), more=""):
        key = self.write("key", "the secret of this test\n")
        hosts = "".join(f"[host {h}]\naddress = {a}\n" if not t else
                        f"[host {h}]\ntcp = {t}\n"
                        for h, a, t in zip("ab", IP, tcp))
        return self.write("mpi.ini", f"""
[core]
bootstrap = static
job = two hosts
job_key_file = {key}
start_timeout = 3s
[transport tcp]
interface = {interface}
port = 7000
connect_timeout = 1s
{more}
[route all]
use = tcp
{hosts}
[rank 0]
host = a
[rank 1]
host = b
""")

    def end(self, process):
        if process.poll() is None:
            process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout, process.stderr):
            pipe.close()

    def start(self, rank, ini):
        env = {k: v for k, v in os.environ.items()
               if not k.startswith(("WEFT_", "PMI"))}
        env.update(WEFT_RANK=str(rank), WEFT_SIZE="2", WEFT_INI=ini)
        pipe = subprocess.PIPE
        process = subprocess.Popen(
            ["ip", "netns", "exec", NAME[rank], TALK], env=env, stdin=pipe,
            stdout=pipe, stderr=pipe, text=True)
        self.addCleanup(self.end, process)
        return process

    def talk(self, ini):
        """Run the job; for each rank where it listened."""
        ranks = [self.start(rank, ini) for rank in (0, 1)]
        where = []
        for process in ranks:
            if process.stdout.readline() != "talking\n":
                self.fail([r.communicate(timeout=LIMIT) for r in ranks])
            where.append(listening(process.pid))
        for process in ranks:
            process.stdin.close()
        for process in ranks:
            process.wait(LIMIT)
            self.assertEqual((process.returncode, process.stdout.read()),
                             (0, "fine\n"), process.stderr.read())
        return where

    def fail_in_time(self, ini):
        """Run a job that cannot start; what its ranks complained about."""
        begin = time.monotonic()
        ranks = [self.start(rank, ini) for rank in (0, 1)]
        said = []
        for process in ranks:
            out, err = process.communicate(timeout=LIMIT)
            self.assertNotEqual(process.returncode, 0, err)
            self.assertEqual(out, "")
            said.append(err)
        # start_timeout, one last attempt, and a slow machine
        self.assertLess(time.monotonic() - begin, 20, said)
        return said


class Jobs(Hosts):
    def test_a_job_of_two_hosts_uses_the_interface_of_the_subnet(self):
        where = self.talk(self.ini(SUBNET))
        self.assertEqual(where, [{IP[0]}, {IP[1]}])

    def add_docker(self):
        """The bridge of a container engine, with a running container."""
        for name in NAME:
            for line in ("link add docker0 type bridge forward_delay 0",
                         "addr add 172.17.0.1/16 dev docker0",
                         "link add veth7 type veth peer name inside7",
                         "link set veth7 master docker0",
                         "link set veth7 up", "link set inside7 up",
                         "link set docker0 up"):
                self.must("-n", name, *line.split())
            self.assertTrue(running(name, "docker0"))

    def test_auto_listens_on_no_bridge_tunnel_or_interface_that_is_down(self):
        self.add_docker()
        self.assertEqual(cable("eth1"), "")
        for name in NAME:
            self.must("-n", name, "addr", "add", "10.78.0.1/24", "dev", "eth1")
            self.must("-n", name, "link", "set", "eth1", "down")
            if not ip("-n", name, "tuntap", "add", "mode", "tun", "name",
                      "ppp0"):
                self.must("-n", name, "addr", "add", "10.79.0.1", "peer",
                          "10.79.0.2", "dev", "ppp0")
                self.must("-n", name, "link", "set", "ppp0", "up")
        where = self.talk(self.ini("auto"))
        self.assertEqual(where, [{IP[0]}, {IP[1]}])

    def launch(self, interface):
        """The job under mpirun, whose ranks tell each other all addresses."""
        script = self.write("rank", f"exec ip netns exec {NAME[0][:-1]}"
                            "$(echo $PMI_RANK | tr 01 ab) "
                            f"{shlex.quote(TALK)} </dev/null\n")
        ini = self.write("mpi.ini", f"[transport tcp]\ninterface = {interface}"
                         "\n[route all]\nuse = tcp\n")
        return subprocess.run([MPIRUN, "-n", "2", "--nodes", "2", "--ini", ini,
                               "sh", script], capture_output=True, text=True,
                              timeout=LIMIT)

    def test_an_address_that_both_hosts_have_is_never_called(self):
        self.add_docker()
        r = self.launch(f"172.17.0.0/16 {SUBNET}")
        self.assertEqual((r.returncode, r.stdout.count("fine\n")), (0, 2),
                         r.stderr)
        r = self.launch("172.17.0.0/16")
        self.assertNotEqual(r.returncode, 0)
        self.assertIn("tcp: no way from here to any of", r.stderr)

    def test_hosts_that_speak_only_ipv6_are_enough(self):
        for name, old, new in zip(NAME, IP, IP6):
            self.must("-n", name, "addr", "del", f"{old}/24", "dev", "eth0")
            trouble = ip("-n", name, "addr", "add", f"{new}/64", "dev", "eth0",
                         "nodad")
            if trouble:
                self.skipTest(f"no IPv6 here: {trouble}")
        texts = [f"[{address}]:7000" for address in IP6]
        for interface in ("auto", "fd00:77::/64"):
            with self.subTest(interface=interface):
                where = self.talk(self.ini(interface, texts))
                self.assertEqual(where, [{IP6[0]}, {IP6[1]}])


class Failures(Hosts):
    def test_a_host_that_swallows_everything_ends_the_job_with_a_table(self):
        for name, other in zip(NAME, (IP[1], IP[0])):
            # frames to a card that is not there: nobody answers, ever
            self.must("-n", name, "neigh", "add", other, "lladdr",
                      "02:00:00:00:77:77", "nud", "permanent", "dev", "eth0")
        said = self.fail_in_time(self.ini(SUBNET))
        for rank, text in enumerate(said):
            self.assertIn(f"process {1 - rank}", text)
            self.assertIn(f"eth0 {IP[rank]} -> {IP[1 - rank]}:7000: ", text)

    def test_a_host_that_is_unreachable_ends_the_job_with_a_table(self):
        for name, other in zip(NAME, (IP[1], IP[0])):
            self.must("-n", name, "route", "add", "unreachable", other)
        for rank, text in enumerate(self.fail_in_time(self.ini(SUBNET))):
            self.assertIn(f"eth0 {IP[rank]} -> {IP[1 - rank]}:7000: No route",
                          text)

    def test_an_address_without_a_route_is_an_error_at_once(self):
        far = ("10.88.0.1:7000", "10.88.0.2:7000")
        for rank, text in enumerate(self.fail_in_time(self.ini(SUBNET, far))):
            self.assertIn(f"no transport reaches rank {1 - rank}", text)
            self.assertIn("tcp: no way from here to any of", text)


if __name__ == "__main__":
    reason = why_not()
    if reason:
        print(f"skipped: {reason}")
        sys.exit(SKIP)
    for number in (signal.SIGTERM, signal.SIGALRM):
        signal.signal(number, signal.default_int_handler)
    signal.alarm(4 * LIMIT)  # a hang must not leave namespaces behind
    atexit.register(remove_hosts)
    unittest.main(verbosity=2)
