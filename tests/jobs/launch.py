"""What the launcher tests share: run mpirun, read its answers.

MPIRUN in the environment names the program under test.
SPDX-License-Identifier: BSD-3-Clause
"""
import os
import subprocess
import time

MPIRUN = os.environ.get("MPIRUN", "mpirun")
LIMIT = 500  # seconds; only a hang takes so long


def run(*args, input=None, stdin=None, env=None, cwd=None):
    """mpirun with these arguments; .returncode, .stdout, .stderr as text."""
    return subprocess.run([MPIRUN, *map(str, args)], input=input, stdin=stdin,
                          env=env, cwd=cwd, capture_output=True, timeout=LIMIT,
                          text=not isinstance(input, bytes))


def start(*args, **kw):
    return subprocess.Popen([MPIRUN, *map(str, args)], stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True, **kw)


def remote_shell(folder, name="rsh"):
    """A remote shell that stays on this host; what it starts has its first word,
    the host, as FAR_HOST."""
    path = os.path.join(folder, name)
    with open(path, "w", encoding="ascii") as f:
        f.write('#!/bin/sh\nexport FAR_HOST="$1"\nshift\nexec sh -c "$*"\n')
    os.chmod(path, 0o755)
    return path


def processes_with(mark):
    """Processes whose environment holds mark, zombies excluded."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/environ", "rb") as f:
                if mark.encode() in f.read().split(b"\0"):
                    found.append(int(pid))
        except OSError:
            pass
    return found


def wait_until(true, seconds=LIMIT):
    """Poll a condition that another process makes true."""
    end = time.monotonic() + seconds
    while not true():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


def main():
    import unittest  # here: run_job.py runs a thousand times and needs none

    unittest.main(verbosity=2)
