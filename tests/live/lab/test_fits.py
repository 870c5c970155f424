"""A lab that does not fit a machine is refused before anything is made, with the slice that does."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from railweave.errors import LabError
from railweave.live.lab import slicing
from railweave.live.lab.kernel import namespace
from railweave.live.lab.kernel.links import router_lines
from railweave.live.lab.life import check_fits, size_of, what_is_missing
from railweave.live.lab.plan import Plan, make_plan
from railweave.live.lab.running import Machine, machine
from railweave.model.device.build import device_config
from railweave.model.network.model import Network
from tests.conftest import example

AMPLE = Machine(memory_kb=1 << 40, files=1 << 30)


def _plan(network: Network) -> Plan:
    return Plan(network, None, {}, {}, ())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("has", "words"),
    [
        (replace(AMPLE, memory_kb=2_000_000), "2.0 GB are free"),
        (
            replace(AMPLE, memory_kb=20_000_000),
            "192 routers and 1,024 servers would take about 2[0-9].. GB, and 20.0 GB are",
        ),
        (replace(AMPLE, files=1024), "a process may have 1,024 files open"),
        (replace(AMPLE, tasks=4096), "processes and threads, and 4,096 more may run"),
    ],
)
def test_what_does_not_fit_is_refused_with_the_slice_that_does(has: Machine, words: str) -> None:
    network = example("scale-8k")
    with pytest.raises(LabError, match=words) as refused:
        check_fits(_plan(network), has=has)
    part = re.search(r"such as --slice (\S+)$", str(refused.value))
    assert part is not None
    there = slicing.sliced(network, slicing.parse(part[1]))
    assert what_is_missing(size_of(there), has) == ""
    check_fits(_plan(there), network, has)


@pytest.mark.slow
def test_where_no_slice_fits_that_is_said() -> None:
    with pytest.raises(LabError, match="--slice rails=1,stripes=2,spines=2,servers=2, which does not fit either"):
        check_fits(_plan(example("scale-8k")), has=replace(AMPLE, memory_kb=1))


def test_a_small_lab_fits_here() -> None:
    assert machine().memory_kb > 0
    part = slicing.sliced(example("h100-rlb"), slicing.parse("rails=1,spines=1,servers=1"))
    assert what_is_missing(size_of(part), replace(machine(), memory_kb=1 << 40)) == ""


def test_sessions_and_paths_count_as_the_control_plane_has_them() -> None:
    """Each end of a session is one, and so is each prefix that a session brings."""
    for network in (example("h100-rlb"), slicing.sliced(example("scale-8k"), slicing.parse("rails=2,stripes=2"))):
        size = size_of(network)
        control = make_plan(network, None).control_plane()
        routes = control.routes()
        assert size.sessions == len(routes.received)
        assert size.prefixes == len(network.switches) * len(routes.prefixes)
        received = sum(int(mask.sum()) for mask in routes.received.values())
        assert (
            received <= size.paths <= 1.3 * received
        )  # a leaf does not get its own prefixes back, and the estimate counts them


GROUPS = {
    "2": (
        "0::/jobs/one\n",
        {"jobs/memory.max": "3000000000", "jobs/memory.current": "1000000000", "jobs/one/memory.max": "max"},
    ),
    "1": (
        "4:memory:/one\n",
        {"memory/one/memory.limit_in_bytes": "3000000000", "memory/one/memory.usage_in_bytes": "1000000000"},
    ),
}


@pytest.mark.parametrize("version", GROUPS)
def test_a_control_group_s_limit_counts(version: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said, files = GROUPS[version]
    for name, text in {
        "proc/self/cgroup": said,
        "proc/meminfo": "MemTotal: 9000000 kB\nMemAvailable:    8000000 kB\n",
        "proc/loadavg": "1.0 1.0 1.0 2/500 1234\n",
        "proc/sys/kernel/pid_max": "32768\n",
        "proc/sys/kernel/threads-max": "190000\n",
        **{f"groups/{name}": text for name, text in files.items()},
        "groups/pids.max": "max\n",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.setattr("railweave.live.lab.running.PROC", tmp_path / "proc")
    monkeypatch.setattr("railweave.live.lab.running.CGROUPS", tmp_path / "groups")
    found = machine()
    assert (found.memory_kb, found.tasks) == (2_000_000_000 // 1024, 32_768 - 500)


def test_one_ip_takes_so_many_lines_that_it_can_keep_their_namespaces_open(monkeypatch: pytest.MonkeyPatch) -> None:
    batches: list[list[str]] = []

    def taken(_: list[str], text: str | None) -> str:
        batches.append((text or "").splitlines())
        return ""

    monkeypatch.setattr(namespace, "_run", taken)
    lines = [f"link add name a{n} netns one type veth peer name b{n} netns two" for n in range(1_000)]
    namespace.ip_batch(lines)
    assert [line for batch in batches for line in batch] == lines
    assert max(map(len, batches)) * 2 < 1024 / 2  # the usual limit of open files, with room for others
    namespace.ip_batch([])
    assert [] not in batches


def test_the_gateway_of_a_leaf_without_servers_is_down() -> None:
    whole = example("h100-rlb")
    bare = slicing.sliced(whole, slicing.parse("rails=1,servers=1-2"))
    for network, leaf, up in (
        (whole, "stripe2-leaf1", True),
        (bare, "stripe2-leaf1", False),
        (bare, "stripe1-leaf1", True),
    ):
        config = device_config(network, leaf, "frr")
        names = {one.name for one in config.gateways}
        assert names
        lines = list(router_lines(config))
        bridges = {line.split()[3] for line in lines if " type bridge " in line}
        assert bridges == (names if up else set())
        # Without a port there is no carrier: the other end of the interface is left down.
        ends = {line.split()[-1] for line in lines if " type veth " in line}
        assert ends == (set() if up else {f"{name}-off" for name in names})
        assert not any(line.startswith(f"link set {end} ") for line in lines for end in ends)
