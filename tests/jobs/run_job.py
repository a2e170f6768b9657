"""run_job.py COMMAND...: run a job and see that nothing of it stays behind.

Afterwards no process of the job lives, and $TMPDIR and /dev/shm hold nothing
new of its. The status is the job's, or 1 when something was left. What
JOB_PRELOAD names is loaded into the job only, not into this program.
SPDX-License-Identifier: BSD-3-Clause
"""
import os
import subprocess
import sys
import tempfile

import launch

MARK = "JOB_TEST_MARK"


def shared_segments():
    """Names in /dev/shm that Weft might have made."""
    try:
        return {n for n in os.listdir("/dev/shm") if "weft" in n.lower()}
    except OSError:
        return set()


def find_left(mark, folder, segments):
    left = [f"$TMPDIR/{n}" for n in os.listdir(folder)]
    left += [f"/dev/shm/{n}" for n in shared_segments() - segments]
    if not launch.wait_until(lambda: not launch.processes_with(mark)):
        for pid in launch.processes_with(mark):
            left.append(f"process {pid}")
    return left


def main():
    segments = shared_segments()
    with tempfile.TemporaryDirectory(prefix="job") as folder:
        mark = f"{MARK}={os.getpid()}.{os.urandom(6).hex()}"
        name, value = mark.split("=")
        env = dict(os.environ, TMPDIR=folder, **{name: value})
        if "JOB_PRELOAD" in env:
            env["LD_PRELOAD"] = env.pop("JOB_PRELOAD")
        status = subprocess.run(sys.argv[1:], env=env).returncode
        left = find_left(mark, folder, segments)
    for what in left:
        print(f"the job left {what} behind", file=sys.stderr)
    return status if status else 1 if left else 0


if __name__ == "__main__":
    sys.exit(main())
