"""Every kind of page that railweave writes to a file, made by the code that a user's command runs.

``python -m tests.pages.every_page FOLDER`` also keeps a picture of each page, as wide as a desktop, a tablet and a telephone show it, light and dark.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from typer.testing import CliRunner

from railweave.api import load, tune_run
from railweave.cli.app import app
from railweave.live.fleet.checked import checked
from railweave.live.fleet.meshed import meshed
from railweave.live.fleet.page import page as fleet_page
from railweave.live.fleet.probes import plan
from railweave.live.fleet.running import Answer, Verdict
from railweave.live.lab.faults.measure import FaultMeasurement
from railweave.live.lab.faults.page import InjectedFaults
from railweave.live.lab.state import Record
from railweave.operations.bench.comparing.reported import reported
from railweave.operations.bench.page import bench_html
from tests.chromium import browser
from tests.conftest import EXAMPLES, example
from tests.golden.refresh import build_example
from tests.live.check.captures import heard, write_capture
from tests.live.check.test_check import FRR, swapped
from tests.live.fleet.test_fleet import SUBJECTS
from tests.live.fleet.test_probes import _replies
from tests.operations.bench.test_page import all_kinds, baseline
from tests.operations.tune.studies import STUDY, study
from tests.outputs.folder.fabrics import fabric


def _run(*words: str | Path) -> None:
    done = CliRunner().invoke(app, list(map(str, words)), catch_exceptions=False)
    assert done.exit_code in {0, 1}, done.output


def _report(name: str) -> Callable[[Path], Path]:
    return lambda folder: build_example(name, folder) / "report.html"


def _512(folder: Path) -> Path:
    _run(
        "init",
        folder / "new",
        "--gpus",
        "512",
        "--nic",
        "cx7",
        "--switch",
        "qfx5240-64",
        "--html",
        folder / "sized.html",
    )
    (file,) = (folder / "new").glob("*.yaml")
    _run("build", file, "-o", folder / "out")
    return folder / "out" / "report.html"


def _sized(folder: Path) -> Path:
    _run(
        "init",
        folder / "new",
        "--gpus",
        "512",
        "--nic",
        "cx7",
        "--switch",
        "qfx5240-64",
        "--growth",
        "2x",
        "--html",
        folder / "sized.html",
    )
    return folder / "sized.html"


def _sim(*words: str, network: str = "h100-rlb") -> Callable[[Path], Path]:
    def made(folder: Path) -> Path:
        _run("sim", EXAMPLES / f"{network}.yaml", *words, "-o", folder / "page.html")
        return folder / "page.html"

    return made


def _check(folder: Path) -> Path:
    file = fabric(folder / "in")
    network = load(file, device=[":frr"])
    saved = write_capture(folder / "now", network, swapped(network)[0])
    _run("check", file, saved, *FRR, "--html", folder / "check.html")
    return folder / "check.html"


def _good_check(folder: Path) -> Path:
    file = fabric(folder / "in")
    network = load(file, device=[":frr"])
    _run("check", file, write_capture(folder / "now", network, heard(network)), *FRR, "--html", folder / "check.html")
    return folder / "check.html"


def _bench(folder: Path) -> Path:
    (folder / "page.html").write_text(bench_html(reported("runs.db", all_kinds(), baseline())))
    return folder / "page.html"


def _tune(folder: Path) -> Path:
    tune_run(study(folder, STUDY.replace("goal:\n", "goal:\n  objectives: [speed, marks]\n")), workers=1)
    return folder / "small.tune" / "report.html"


def _fleet(folder: Path) -> Path:
    bad = Verdict(
        "link-speed",
        "gpu0_eth",
        "failed",
        "200 Gbit/s",
        "400 Gbit/s",
        "host.json",
        "look at the cable and at the leaf's port",
    )
    odd = Verdict("nic-firmware", "gpu1_eth", "warning", "28.39.1002", "28.43.2026", "host.json", "flash it")
    good = [Verdict(check, "gpu2_eth", "ok", "as designed", "as designed", "host.json", "") for check in SUBJECTS]
    answers = [Answer(f"gpu-{n:03}", f"gpu-{n:03}", (*good, *([bad, odd] if n % 5 == 0 else []))) for n in range(24)]
    answers.append(Answer("gpu-100", "gpu-100", error="no answer within 70 s"))
    models = {answer.server: "dgx-h100" for answer in answers}
    (folder / "page.html").write_text(fleet_page(checked("pod1", answers, {}, models, SUBJECTS)))
    return folder / "page.html"


def _mesh(folder: Path) -> Path:
    probes = plan(example("h100-rlb"))
    outcomes = {probe: "lost" for probe in probes if "spine2" in probe.spines}
    (folder / "page.html").write_text(fleet_page(meshed("h100-rlb", *_replies(probes, outcomes))))
    return folder / "page.html"


def _faults(folder: Path) -> Path:
    record = Record("rw0", "/f.yaml", "h100-rlb", "", None, "/", "10.3", "up")
    network = example("h100-rlb")
    measured: list[FaultMeasurement] = []
    for place, cable in enumerate(network.cables[:40]):
        switch = None if place == 7 else 0.02 + place * 0.011
        kept = 60 if place == 7 else 64
        measured.append(
            FaultMeasurement(
                "link-down",
                cable.name,
                80,
                8000,
                12 + place,
                switch,
                switch,
                1.1 + place * 0.05,
                place % 3,
                64,
                kept,
                64,
                ("H100-01:gpu0_eth to H100-03:gpu0_eth qp 1",) if place == 7 else (),
                0.01,
            )
        )
    measured += [
        replace(measured[0], kind="device-down", target=switch.name, lost=200, switch_s=0.8)
        for switch in network.switches
    ]
    (folder / "page.html").write_text(InjectedFaults(record, measured).to_html())
    return folder / "page.html"


PAGES: dict[str, Callable[[Path], Path]] = {
    "report": _report("h100-rlb"),
    "report-tenants": _report("evpn-gpu-isolation"),
    "report-fabrics": _report("aidc-three-fabrics"),
    "report-sites": _report("dci-50km"),
    "report-one-leaf": _report("mi300x-leaf-24"),
    "report-512": _512,
    "sized": _sized,
    "check": _check,
    "check-good": _good_check,
    "sim": _sim("--size", "64M"),
    "sim-flow": _sim("--size", "64M", "--engine", "flow"),
    "sim-one-leaf": _sim("--size", "16M", network="mi300x-leaf-24"),
    "compare": _sim("--size", "16M", "--hosts", "stripes-alternate", "--compare", "lb=ecmp,rlb"),
    "grid": _sim("--compare", "size=1M,2M,4M qps=1,4"),
    "job": _sim("--job", str(EXAMPLES / "jobs" / "dense.yaml")),
    "job-variants": _sim("--job", str(EXAMPLES / "jobs" / "dense.yaml"), "--compare", "lb=ecmp,rlb"),
    "bench": _bench,
    "tune": _tune,
    "fleet": _fleet,
    "mesh": _mesh,
    "faults": _faults,
}  # fmt: skip
"""How each page is made, by name: in an empty folder, giving the page's file."""

KINDS = (
    "report", "sized", "check", "sim", "compare", "grid", "job", "job-variants", "bench", "tune", "fleet", "mesh", "faults"
)  # fmt: skip
"""One page of each kind; the others of ``PAGES`` are further networks."""


def main(target: Path, only: list[str]) -> None:
    """Keep the pages and their pictures."""
    with browser() as chromium:
        for name, make in PAGES.items():
            if only and name not in only:
                continue
            folder = target / name
            folder.mkdir(parents=True, exist_ok=True)
            file = make(folder) if not (folder / "done").exists() else Path((folder / "done").read_text())
            (folder / "done").write_text(str(file))
            for width, height in ((1280, 900), (800, 900), (400, 800)):
                for dark in (False, True):
                    page = chromium.open(file, width=width, height=height, dark=dark)
                    print(
                        name,
                        width,
                        dark,
                        page.evaluate("[document.documentElement.scrollWidth, document.documentElement.scrollHeight]"),
                        page.errors,
                        flush=True,
                    )
                    page.screenshot(target / f"{name}-{width}{'-dark' if dark else ''}.png", whole=True)
                    page.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
