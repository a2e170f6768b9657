"""A call of the system that fails: once, some times, or from then on.

A cell is a job of two ranks over one transport (networks_talk.c) in which strace
makes a call of rank 1 fail, the n-th of them, three in a row, or all from the
n-th on. A failure that passes must not be noticed. One that stays may end the
pair, with an error that names what is lacking and what to do; it must not leave
anybody waiting, nor keep a processor busy.

Needs strace; options: torture.py.
SPDX-License-Identifier: BSD-3-Clause
"""
import os
import re
import shutil
import subprocess
import tempfile

import torture

MPIRUN = os.environ.get("MPIRUN", "mpirun")
TALK = os.environ.get("TALK", "networks_talk")
FABRICS = os.environ.get("FABRICS", "shm tcp udp-reliable sctp").split()
LIMIT = 60  # seconds: what is short of something waits ten of them
RANKS = 2
# the leak checker and strace exclude each other
os.environ["ASAN_OPTIONS"] = "detect_leaks=0:" + os.environ.get(
    "ASAN_OPTIONS", "")

# by transport: calls, and what each may fail with for a while
DATAGRAMS = {"sendto": ["ENOBUFS", "ENOMEM", "EAGAIN", "EINTR"],
             "sendmsg": ["ENOBUFS", "ENOMEM", "EAGAIN", "EINTR", "EPERM"],
             "recvfrom": ["ENOMEM", "EAGAIN", "EINTR"],
             "recvmsg": ["ENOMEM", "EAGAIN", "EINTR"],
             "epoll_wait": ["EINTR"]}
CALLS = {
    "tcp": {"sendto": ["ENOBUFS", "ENOMEM", "EAGAIN", "EINTR"],
            "sendmsg": ["ENOBUFS", "ENOMEM", "EAGAIN", "EINTR"],
            "recvmsg": ["ENOBUFS", "ENOMEM", "EAGAIN", "EINTR"],
            "recvfrom": ["ENOBUFS", "ENOMEM", "EAGAIN", "EINTR"],
            "accept4": ["EMFILE", "ENFILE", "ENOBUFS", "ECONNABORTED", "EINTR"],
            "epoll_wait": ["EINTR"]},
    "udp-reliable": DATAGRAMS,
    "sctp": DATAGRAMS,
    "shm": {"sendmsg": ["ENOBUFS", "ENOMEM", "EAGAIN", "EINTR"],
            "recvmsg": ["ENOMEM", "EAGAIN", "EINTR"],
            "accept4": ["EMFILE", "ENFILE", "ENOMEM", "ECONNABORTED", "EINTR"],
            "connect": ["EAGAIN", "EINTR"],
            "epoll_wait": ["EINTR"]},
}
# that is how often: once, three times from the n-th on, three far apart
WHEN = {"1": "1", "2": "2", "4": "4", "20": "20", "3in-a-row": "3..5",
        "every-7th": "7+7"}
# what stays, and what must be said about it
STAYS = {
    ("tcp", "sendmsg", "ENOBUFS"): "memory for sockets; raise",
    ("tcp", "sendmsg", "ENOMEM"): "memory for sockets; raise",
    ("udp-reliable", "sendmsg", "ENOBUFS"): "memory for sockets; raise",
    # also what rank 1 sends to its launcher
    ("sctp", "sendto", "ENOBUFS"): "memory for sockets; raise|No buffer space",
}
RESULT = re.compile(r"rank (\d) rounds (\d+) class (\S+)")


def wrapped(inject):
    """The command of every rank: strace around rank 1."""
    call = inject.split(":")[0]
    return ["sh", "-c",
            f'if [ "$PMI_RANK" = 1 ]; then exec strace -f -qq -o /dev/null '
            f'-e trace={call} -e inject={inject} "$@"; fi; exec "$@"', "sh"]


def talk(fabric, inject, folder):
    for name in ("go", "stop"):
        with open(os.path.join(folder, name), "w", encoding="utf-8"):
            pass
    return subprocess.run(
        [MPIRUN, "-n", str(RANKS), "--route", fabric, "--set",
         "core.close_timeout=1s", *wrapped(inject), TALK, folder],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, timeout=LIMIT)


def run(fabric, inject, remedy):
    with tempfile.TemporaryDirectory(prefix="calls") as folder:
        try:
            r = talk(fabric, inject, folder)
        except subprocess.TimeoutExpired:
            return "hangs"
    classes = [m[2] for m in RESULT.findall(r.stdout)]
    if "wrong: " in r.stdout or (remedy is None and r.returncode not in (0, 1)):
        return f"status {r.returncode}: {r.stdout}"
    if classes == ["none"] * RANKS and r.returncode == 0:
        return None  # also of one that stays: the transport does without
    if remedy is None:
        return f"it was noticed: {r.stdout}"
    if not re.search(remedy, r.stdout):
        return f"nobody says '{remedy}': {r.stdout}"
    return None


def cells():
    passing = [torture.Cell(f"{fabric}/{call}/{error}/{name}",
                            lambda f=fabric, i=f"{call}:error={error}:when={w}":
                            run(f, i, None))
               for fabric, calls in CALLS.items() if fabric in FABRICS
               for call, errors in calls.items() for error in errors
               for name, w in WHEN.items()]
    staying = [torture.Cell(f"{fabric}/{call}/{error}/stays",
                            lambda f=fabric, r=remedy,
                            i=f"{call}:error={error}:when=12+": run(f, i, r))
               for (fabric, call, error), remedy in STAYS.items()
               if fabric in FABRICS]
    return passing + staying


if __name__ == "__main__":
    if not shutil.which("strace"):
        torture.skip("strace is not installed")
    torture.main(cells())
