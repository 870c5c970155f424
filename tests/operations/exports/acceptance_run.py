"""The acceptance tools themselves: gcm's ``health_checks`` (PyPI: gpucm) and ROCm CVS, each in a Python of its own.

RAILWEAVE_HEALTH_CHECKS names gcm's program where it is not on PATH, RAILWEAVE_CVS the folder with CVS's package ``cvs``, and
RAILWEAVE_CVS_PYTHON a Python that has what CVS's requirements.txt lists.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

HEALTH_CHECKS = os.environ.get("RAILWEAVE_HEALTH_CHECKS") or shutil.which("health_checks") or ""
CVS = os.environ.get("RAILWEAVE_CVS", "")
NO_GCM = (
    ""
    if HEALTH_CHECKS
    else "there is no program health_checks: pip install gpucm, and name it by RAILWEAVE_HEALTH_CHECKS"
)
NO_CVS = (
    "" if CVS else "there is no ROCm CVS: name its checkout by RAILWEAVE_CVS, and its Python by RAILWEAVE_CVS_PYTHON"
)

_MPIRUN = """\
#!/bin/sh
echo "$@" >> {log}
echo "# Avg bus bandwidth    : {busbw}"
"""
_CHECK = """\
import json, sys
sys.path.insert(0, sys.argv[1])
from cvs.lib import globals, rccl_lib
from cvs.lib.utils_lib import resolve_test_config_placeholders
config = json.load(open(sys.argv[2]))["rccl"]
answer = {"refused": False, "errors": {}}
try:
    resolve_test_config_placeholders(config, {"username": "root"})
except SystemExit:
    answer["refused"] = True
parameters, tests = config["cvs_params"], config["rccl_test_params"]
ranks = int(config["mpi_params"]["no_of_nodes"]) * int(config["mpi_params"]["no_of_local_ranks"])
for program in tests["rccl_collective"]:
    expected = parameters["results"][parameters["nic_model"]][f"{program}-{'_'.join(tests['data_types'])}-{ranks}"]
    for part in (1.0, 0.951, 0.949):
        globals.error_list = []
        rows = [
            {"size": int(size), "inPlace": place, "busBw": part * float(row["bus_bw"])}
            for size, row in expected.items() for place in (0, 1)
        ]
        rccl_lib.check_bus_bw(program, rows, expected)
        answer["errors"][f"{program} {part}"] = len(globals.error_list)
print("ANSWER " + json.dumps(answer))
"""


def health_check(folder: Path, config: str, busbw: float, hosts: str) -> tuple[int, list[str]]:
    """Run gcm's check-nccl with a configuration, beside an mpirun that prints a bus bandwidth. Return its exit code and mpirun's arguments."""
    (folder / "config.toml").write_text(config)
    log = folder / "mpirun.log"
    log.unlink(missing_ok=True)
    mpirun = folder / "mpirun"
    mpirun.write_text(_MPIRUN.format(log=log, busbw=busbw))
    mpirun.chmod(0o755)
    words = [HEALTH_CHECKS, "--config", str(folder / "config.toml"), "check-nccl", "cluster", "prolog"]
    words += ["--sink", "do_nothing", "--log-folder", str(folder), "--nccl-tdir", "/opt/nccl-tests/build"]
    words += ["--mpi-binpath", str(mpirun), "--hostlist", hosts]
    done = subprocess.run(words, check=False, capture_output=True, text=True)
    assert log.exists(), f"{done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.returncode, log.read_text().splitlines()


def cvs_check(folder: Path, config: str) -> dict[str, Any]:
    """Return what CVS makes of a configuration: whether it refuses values to fill in, and the errors for results at parts of the thresholds."""
    file = folder / "rccl_config.json"
    file.write_text(config)
    python = os.environ.get("RAILWEAVE_CVS_PYTHON") or sys.executable
    done = subprocess.run([python, "-c", _CHECK, CVS, str(file)], check=False, capture_output=True, text=True)
    line = next((line for line in done.stdout.splitlines() if line.startswith("ANSWER ")), None)
    assert line is not None, f"{done.returncode}\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}"
    answer: dict[str, Any] = json.loads(line.removeprefix("ANSWER "))
    return answer
