"""Run ``railweave host`` many times without starting Python as often: each run is a fork of this process.

Reads a line of JSON for each run from standard input, {"argv": […], "path": …, "out": FILE}, and answers its exit code,
negative for a signal.
"""

from __future__ import annotations

import json
import os
import sys

from railweave.host.commands import main

for line in sys.stdin:
    order = json.loads(line)
    child = os.fork()
    if child == 0:
        code = 70
        try:
            for stream in (1, 2):
                os.dup2(os.open(order["out"], os.O_WRONLY | os.O_CREAT | os.O_APPEND), stream)
            os.environ["PATH"] = order["path"]
            code = main(order["argv"])
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
