"""Run ``railweave host`` many times without starting Python as often: each run is a fork of this process.

Reads a line of JSON for each run from standard input, {"argv": […], "path": …, "out": FILE, "kill_at_write": N}, and
answers its exit code, negative for a signal. N: at the Nth time that it waits for the disk, which it does before and
after a file is put in place, it is killed; 0: never.
"""

from __future__ import annotations

import json
import os
import signal
import sys

from railweave.host.commands import main


def kill_at_write(number: int) -> None:
    """Be killed at the write of this number."""
    fsync, writes = os.fsync, 0

    def counting(file: int) -> None:
        nonlocal writes
        writes += 1
        if writes == number:
            os.kill(os.getpid(), signal.SIGKILL)
        fsync(file)

    os.fsync = counting


for line in sys.stdin:
    order = json.loads(line)
    child = os.fork()
    if child == 0:
        code = 70
        try:
            for stream in (1, 2):
                os.dup2(os.open(order["out"], os.O_WRONLY | os.O_CREAT | os.O_APPEND), stream)
            os.environ["PATH"] = order["path"]
            kill_at_write(order["kill_at_write"])
            code = main(order["argv"])
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
