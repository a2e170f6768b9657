"""A Slurm cluster of this machine alone, as long as a test needs it.

Two nodes, weft1 and weft2, are two slurmd here; nothing of an installed
configuration is read or changed, and any user can start one.
SPDX-License-Identifier: BSD-3-Clause
"""
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import time

PROGRAMS = ("munged", "slurmctld", "slurmd", "srun", "salloc", "sbatch",
            "sinfo")
CONF = """\
ClusterName=weft
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket={dir}/munge/socket
StateSaveLocation={dir}/state
SlurmdSpoolDir={dir}/spool.%n
TmpFS={dir}/tmp.%n
SlurmctldPidFile={dir}/slurmctld.pid
SlurmdPidFile={dir}/slurmd.%n.pid
SlurmctldLogFile={dir}/slurmctld.log
SlurmdLogFile={dir}/slurmd.%n.log
ProctrackType=proctrack/pgid
TaskPlugin=task/affinity
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerType=sched/builtin
SchedulerParameters=batch_sched_delay=0
MpiDefault=none
ReturnToService=2
SlurmdParameters=config_overrides
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
KillWait=5
NodeName=weft1 NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[1]} CPUs=4
NodeName=weft2 NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[2]} CPUs=4
PartitionName=all Nodes=ALL Default=YES State=UP OverSubscribe=FORCE:8
"""


def find(program):
    return shutil.which(program, path=os.environ["PATH"] + ":/usr/sbin")


def missing():
    """The programs of Slurm that this machine lacks."""
    return [p for p in PROGRAMS if not find(p)]


def free_ports(n):
    sockets = [socket.socket() for _ in range(n)]
    for s in sockets:
        s.bind(("127.0.0.1", 0))
    ports = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return ports


class Cluster:
    """Use as a context; env is for commands of Slurm."""

    def __init__(self, limit):
        self.limit = limit
        self.daemons = []

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="slurm")
        self.dir = self.folder.name
        self.env = dict(os.environ, SLURM_CONF=self.path("slurm.conf"))
        try:
            self.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for daemon in reversed(self.daemons):
            daemon.terminate()
        for daemon in self.daemons:
            try:
                daemon.wait(20)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()
        self.folder.cleanup()

    def path(self, *names):
        return os.path.join(self.dir, *names)

    def start(self):
        for name in ("munge", "state", "spool.weft1", "spool.weft2",
                     "tmp.weft1", "tmp.weft2"):
            os.mkdir(self.path(name), 0o755)
        os.chmod(self.dir, 0o755)
        with open(self.path("munge", "key"), "wb") as f:
            os.fchmod(f.fileno(), 0o600)
            f.write(os.urandom(128))
        with open(self.path("slurm.conf"), "w", encoding="utf-8") as f:
            f.write(CONF.format(
                dir=self.dir, host=socket.gethostname().split(".")[0],
                user=pwd.getpwuid(os.geteuid()).pw_name, ports=free_ports(3)))
        self.daemon("munged", "--foreground", "--force",
                    *(f"--{o}={self.path('munge', o.split('-')[0])}"
                      for o in ("key-file", "socket", "pid-file", "log-file",
                                "seed-file")))
        self.await_("munged", lambda: os.path.exists(
            self.path("munge", "socket")))
        self.daemon("slurmctld", "-D", "-c")
        for node in ("weft1", "weft2"):
            self.daemon("slurmd", "-D", "-N", node)
        self.await_("both nodes", lambda: subprocess.run(
            [find("sinfo"), "-h", "-t", "idle", "-o", "%D"], env=self.env,
            capture_output=True, text=True,
            check=False).stdout.split() == ["2"])

    def daemon(self, program, *args):
        with open(self.path(program + ".said"), "ab") as said:
            self.daemons.append(subprocess.Popen(
                [find(program), *args], env=self.env, stdout=said, stderr=said,
                stdin=subprocess.DEVNULL))

    def await_(self, what, ready):
        end = time.monotonic() + self.limit
        while not ready():
            dead = [d.args[0] for d in self.daemons if d.poll() is not None]
            if dead or time.monotonic() > end:
                raise RuntimeError(
                    f"{what}: not there{', ended: ' if dead else ''}"
                    f"{' '.join(dead)}\n{self.log()}")
            time.sleep(0.05)

    def log(self):
        text = ""
        for name in sorted(os.listdir(self.dir)):
            if name.endswith((".log", ".said")):
                with open(self.path(name), encoding="utf-8",
                          errors="replace") as f:
                    text += f"---- {name}\n{f.read()[-2000:]}"
        return text

    def run(self, *command, **kw):
        env = dict(self.env, **kw.pop("env", {}))
        return subprocess.run([str(c) for c in command], env=env, text=True,
                              capture_output=True, timeout=self.limit,
                              check=False, cwd=self.dir, **kw)
