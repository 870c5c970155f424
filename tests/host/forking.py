"""Run ``railweave host`` many times without starting Python as often: each run is a fork of this process.

Reads a line of JSON for each run from standard input, {"argv": […], "path": …, "out": FILE, "kill_at_write": N}, and
answers its exit code, negative for a signal. N: at the Nth time that it waits for the disk, which it does before and
after a file is put in place, it is killed; 0: never. {"ip": [words], "batch": TEXT} runs one ``ip`` with a batch instead,
here in the namespace, and answers what it printed as a JSON string.
"""

from __future__ import annotations

import functools
import gc
import json
import os
import signal
import subprocess
import sys

from railweave.host import options
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


# To make the parser of the options takes as long as all else that a run does by itself.
options.parser = functools.cache(options.parser)
options.parser()
gc.freeze()  # a fork then copies no page to count the references on it
for line in sys.stdin:
    order = json.loads(line)
    if "ip" in order:
        words = ["ip", *order["ip"], "-batch", "-"]
        done = subprocess.run(words, check=True, input=order["batch"], capture_output=True, text=True)
        print(json.dumps(done.stdout), flush=True)
        continue
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
