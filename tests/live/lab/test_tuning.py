"""A study that ranks in the simulator and confirms on a lab: values of the fabric file come onto FRR's routers, and go again."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from railweave.api import tune_run
from railweave.api.deploying import deploy_history, deploy_log, deploy_plan
from tests.live.lab.machine import needs_lab
from tests.live.lab.test_deploy import DESIGN, designed

pytestmark = [needs_lab, pytest.mark.slow]

STUDY = """\
name: lab
fabric: fabric.yaml
goal:
  collectives:
    - {collective: all-reduce, size: 1M}
space:
  fabrics.backend.underlay.bfd.minimum_interval: [600ms, 700ms]
  hosts.job.qps_per_connection: [1, 8]
search: {sampler: grid}
seeds: 1
confirm: 3
evaluator: both
bench:
  best: 2
  launch_on: here
  settle: 60
  max_unavailable: 1
  guardrails: {drops: null, every: 1}
"""
MPIRUN = """#!{python} -SE
# Stands for MPI, as servers of a lab have no GPUs: its speed follows from the queue pairs that a run sets.
import re, sys
words = " ".join(sys.argv[1:])
found = re.search("NCCL_IB_QPS_PER_CONNECTION=([0-9]+)", words)
with open({ran!r}, "a") as file:
    file.write(words + "\\n")
qps = int(found[1]) if found else 4
speed = 40 + qps + len(open({ran!r}).readlines()) % 3 / 10
print("# nThread 1 nGpus 1 minBytes 1048576 maxBytes 1048576 step: 2(factor) warmup iters: 5 iters: 20 validation: 1")
print("#       size         count    type   redop     time   algbw   busbw  error     time   algbw   busbw  error")
print("#        (B)    (elements)                     (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)")
print("1048576 262144 float sum 10.0 %.2f %.2f 2e-07 10.0 %.2f %.2f 2e-07" % (speed, speed, speed, speed))
print("# Out of bounds values : 0 OK")
print("# Avg bus bandwidth    : %.2f" % speed)
"""


def test_values_are_on_the_routers_while_they_are_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fabric, study = tmp_path / "fabric.yaml", tmp_path / "lab.yaml"
    fabric.write_text(DESIGN)
    study.write_text(STUDY)
    tools = tmp_path / "bin"
    tools.mkdir()
    (tools / "mpirun").write_text(MPIRUN.format(python=sys.executable, ran=str(tmp_path / "ran")))
    (tools / "mpirun").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}:{Path(sys.executable).parent}:{os.environ['PATH']}")
    with designed(fabric):
        said: list[str] = []
        found = tune_run(study, lab=True, workers=1, progress=said.append)
        check = found.outcome.confirmed
        assert check is not None
        assert len(check.hardware) == 2
        assert all(one.score is not None for one in check.hardware), [one.why for one in check.hardware]
        assert not deploy_plan(fabric, lab=True).changed, "the routers run the file's own values"
        history = deploy_history(fabric)
        assert [one.state for one in history] == ["rolled back"] * 2
        _, _, steps = deploy_log(fabric, history[0].number)
        assert {(one.device, one.verb) for one in steps} == {
            (name, verb)
            for name in ("spine1", "spine2", "stripe1-leaf1", "stripe1-leaf2", "gpu-1", "gpu-2")
            for verb in ("rehearse", "commit", "revert")
        }
        kept = tmp_path / "fabric.state" / "revisions" / f"{history[0].number:04}" / "spine1"
        texts = {when: "".join(one.read_text() for one in (kept / when).iterdir()) for when in ("before", "after")}
        assert "receive-interval 700" in texts["after"] or "receive-interval 600" in texts["after"]
        assert "receive-interval 700" not in texts["before"]
    assert json.loads((tmp_path / "lab.tune" / "result.json").read_text())["evaluator"] == "both"
    assert any("NCCL_IB_QPS_PER_CONNECTION" in one for one in (tmp_path / "ran").read_text().splitlines())
