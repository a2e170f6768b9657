"""need_sctp.py COMMAND...: run it where the kernel has SCTP; else say that it has
none, with status 77.
SPDX-License-Identifier: BSD-3-Clause
"""
import socket
import subprocess
import sys

try:
    socket.socket(socket.AF_INET, socket.SOCK_STREAM, 132).close()
except OSError as error:
    print("skipped: this kernel has no SCTP:", error)
    sys.exit(77)
sys.exit(subprocess.run(sys.argv[1:]).returncode)
