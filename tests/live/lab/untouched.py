"""A lab from up to down on a machine, and how the machine differs afterwards; a program, for a mount namespace of its own.

    unshare --mount python -m tests.live.lab.untouched FABRIC FOLDER

Prints JSON: what differs while the lab is up, and what differs when it is gone. The limits of the neighbor tables are files in
FOLDER, because other labs may raise the kernel's meanwhile; /run is this program's own, too.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from railweave.live.lab import life
from railweave.live.lab.frr.routers import FOLDERS
from railweave.live.lab.kernel import neighbors
from tests.conftest import example, frr_root
from tests.live.lab.machine import bring_up

LIMITS = {"gc_thresh1": 128, "gc_thresh2": 512, "gc_thresh3": 1024}
SLICE = "rails=1,stripes=1,spines=1,servers=2"

COUNTERS = (
    "kernel/ns_last_pid",
    "kernel/perf_event_max_sample_rate",
    "kernel/pty/nr",
    "kernel/random/",
    "net/netfilter/nf_conntrack_count",
)
"""Kernel parameters that change by themselves."""


def state() -> dict[str, str]:
    """The machine: its links, addresses, routes, rules, packet filters, kernel parameters, modules, and folders of FRR, by name."""
    shown = {
        "addresses": ["ip", "-json", "address"],
        "routes": ["ip", "-json", "route", "show", "table", "all"],
        "routes of IPv6": ["ip", "-6", "-json", "route", "show", "table", "all"],
        "rules": ["ip", "-json", "rule"],
        "rules of IPv6": ["ip", "-6", "-json", "rule"],
        "nftables": ["nft", "list", "ruleset"],
    }
    values = {name: _printed(words) for name, words in shown.items()}
    for branch in ("net", "kernel"):
        for path in Path("/proc/sys", branch).rglob("*"):
            name = str(path.relative_to("/proc/sys"))
            if not name.startswith(COUNTERS) and path.is_file():
                values[name] = _read(path)
    root = frr_root()
    if root is not None:
        for folder in (*FOLDERS, "run/netns", "etc/lldpd.d"):
            values[f"FRR's folder {folder}"] = str((root / folder).exists())
    loaded = Path("/proc/modules")  # a kernel without modules has none
    return values | {f"module {row.split()[0]}": "" for row in _read(loaded).splitlines()}


def _printed(words: list[str]) -> str:
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return ""
    lifetimes = ("valid_life_time", "preferred_life_time", "expires")
    if "-json" not in words:
        return done.stdout
    return json.dumps(
        json.loads(done.stdout or "[]", object_hook=lambda one: {k: one[k] for k in one if k not in lifetimes})
    )


def _read(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8", "replace")
    except OSError:  # only written
        return ""


def differences(before: dict[str, str], after: dict[str, str]) -> dict[str, tuple[str | None, str | None]]:
    """What differs, as (before, after) by name."""
    return {
        name: (before.get(name), after.get(name))
        for name in before.keys() | after.keys()
        if before.get(name) != after.get(name)
    }


def main(fabric: Path, folder: Path) -> None:
    """Do it."""
    _mount("-t", "tmpfs", "none", "/run")
    for name in neighbors.LIMITS:
        if (limit := neighbors.SYSTEM / name).exists():
            file = folder / name.replace("/", "-")
            file.write_text(f"{LIMITS[limit.name]}\n")
            _mount("--bind", str(file), str(limit))
    life.SETTLE_S = 0  # this is not about routes
    before = state()
    try:
        bring_up(fabric, example("h100-rlb"), SLICE)
        during = state()
    finally:
        life.down(fabric)
    print(json.dumps([differences(before, during), differences(before, state())]))


def _mount(*words: str) -> None:
    subprocess.run(["mount", *words], check=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
