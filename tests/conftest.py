"""What many tests need: the example networks, and networks from a fabric file written in the test."""

from __future__ import annotations

import gc
import os
import signal
from fnmatch import fnmatch
from functools import cache
from itertools import groupby
from pathlib import Path
from textwrap import dedent

import pytest
import typer.main
from hypothesis import settings

from railweave.model.intent.lock import Lock
from railweave.model.network.model import Network
from railweave.outputs.folder.designing import design_file
from tests import printed_json
from tests.drawn import KEPT, day, drawn, every

# A slow machine is no failure, and a failure is the same on every machine.
settings.register_profile("railweave", deadline=None, derandomize=True)
settings.load_profile("railweave")

# Tests share large networks that live until the end: a collection walks all of them, and took an eighth of the time.
gc.set_threshold(200_000, 20, 50)

# Typer makes the commands anew at every call, which takes longer than what most calls of the tests do.
typer.main.get_command = cache(typer.main.get_command)

printed_json.watch()

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "examples"
SMALL = sorted(
    path.stem
    for path in EXAMPLES.glob("*.yaml")
    if not path.stem.startswith("scale-") and not path.stem.endswith("-512")
)
"""Examples that are cheap enough to be built wherever a test likes."""


KINDS = {
    "lab": (
        "operations/deploy/test_ztp_servers.py",
        "docs/test_howto.py",
        "docs/test_prove.py",
        "live/fleet/test_lab.py",
        "host/test_apply.py",
        "host/test_interruption.py",
        "host/test_zipapp.py",
        "live/lab/test_drift.py",
        "live/lab/test_graceful_restart.py",
        "live/lab/test_interruption.py",
        "live/lab/test_lab.py",
        "live/lab/test_protection.py",
        "live/lab/test_sonic.py",
        "live/lab/test_tenants.py",
        "live/lab/test_wrong_designs.py",
        "outputs/rendering/host/test_net_setup.py",
        "outputs/rendering/host/test_network_manager.py",
        "outputs/rendering/host/test_networkd.py",
    ),
    "validator": (
        "analysis/checks/test_validator*.py",
        "outputs/rendering/host/test_boot.py",
        "outputs/rendering/host/test_naming.py",
        "outputs/rendering/host/test_netplan_validator.py",
        "outputs/rendering/host/test_nic_scripts.py",
        "outputs/rendering/host/test_units.py",
    ),
    "browser": ("outputs/report/test_browser.py",),
    "scale": ("golden/test_scale.py",),
    "slow": (
        "cli/test_init_sizing.py",
        "operations/deploy/test_campaign.py",
        "design/sizing/test_growth_cost.py",
        "design/sizing/test_grid.py",
        "outputs/folder/test_stopped.py",
        "protection/test_sessions.py",
        "test_workers.py",
        "analysis/routing/test_mistakes.py",
        "analysis/routing/test_properties.py",
        "validation/*.py",
    ),
}
"""What a file's tests need or take, by patterns below ``tests``; a single test has the mark itself. See CONTRIBUTING.md."""


signal.signal(signal.SIGINT, signal.default_int_handler)
"""A shell that runs tests in the background has Ctrl-C ignored, and so would all that they start; many are about Ctrl-C."""


@pytest.hookimpl(tryfirst=True)  # before ``-m`` chooses
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark the tests of the files in ``KINDS``, and draw those of the day."""
    tests = ROOT / "tests"
    for kind, patterns in KINDS.items():
        for pattern in patterns:
            if not any(tests.glob(pattern)):
                raise pytest.UsageError(f"tests/conftest.py: no file is like {pattern!r}, which is marked {kind}")
    for path, tests_of_file in groupby(items, key=lambda item: item.path):
        file = path.relative_to(tests).as_posix()
        kinds = [kind for kind, patterns in KINDS.items() if any(fnmatch(file, pattern) for pattern in patterns)]
        for item in tests_of_file:
            for kind in kinds:
                item.add_marker(kind)
    if not config.option.keyword and not any("::" in word for word in config.args):
        items[:], left = drawn(items)
        config.hook.pytest_deselected(items=left)
    items[:] = shared_out(items, int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1")))


def shared_out(items: list[pytest.Item], workers: int) -> list[pytest.Item]:
    """Return tests in the order in which two of the workers begin with labs, and the others with the rest.

    Labs wait for most of their time. Each worker begins with an equal share of the list, from one end to the other, and takes
    tests from the end of other shares once its own are done (``--dist worksteal``).
    """
    if workers < 3:
        return items
    labs: tuple[list[pytest.Item], list[pytest.Item]] = ([], [])
    rest: list[pytest.Item] = []
    files: dict[Path, int] = {}
    for item in items:
        lab = item.get_closest_marker("lab") is not None or item.path.parent == ROOT / "tests" / "live" / "lab"
        (labs[files.setdefault(item.path, len(files)) % 2] if lab else rest).append(item)
    share = len(items) // workers
    first = max(share - len(labs[0]), 0)
    return [*labs[0], *rest[:first], *labs[1], *rest[first:]]


def pytest_configure() -> None:
    """Settle the day of the run before its workers start."""
    day()


def pytest_report_header() -> str:
    """Say which tests are drawn."""
    return (
        "every case of every test" if every() else f"cases of {day()} of {len(KEPT)} long tests; RAILWEAVE_EVERY=1: all"
    )


@cache
def example(name: str) -> Network:
    """The network of an example, designed with the lock beside it."""
    return design_file(EXAMPLES / f"{name}.yaml")[0]


def designed(folder: Path, text: str, lock: Lock | None = None, inventory: str = "") -> tuple[Network, Lock]:
    """The network of a fabric file given as text."""
    file = folder / "fabric.yaml"
    file.write_text(dedent(text))
    if inventory:
        (folder / "fabric.inventory.csv").write_text(inventory)
    return design_file(file, lock)


def frr_root() -> Path | None:
    """A root folder with FRR for the vtysh validator: RAILWEAVE_FRR_ROOT, or what `make validators` made."""
    given = os.environ.get("RAILWEAVE_FRR_ROOT")
    place = Path(given) if given else ROOT / ".validators" / "frr"
    return place if place.is_dir() else None


@pytest.fixture
def rlb() -> Network:
    return example("h100-rlb")
