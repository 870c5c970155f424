"""A lab that does not fit a machine is refused before anything is made, with the slice that does."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from railweave.device.build import device_config
from railweave.errors import LabError
from railweave.lab import slicing
from railweave.lab.fits import Machine, check_fits, machine, size_of
from railweave.lab.kernel import namespace
from railweave.lab.kernel.links import router_lines
from railweave.lab.plan import Plan
from railweave.network.model import Network
from tests.conftest import example

AMPLE = Machine(memory_kb=1 << 40, files=1 << 30)


def _plan(network: Network) -> Plan:
    return Plan(network, None, {}, {}, ())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("has", "words"),
    [
        (replace(AMPLE, memory_kb=2_000_000), "2.0 GB are free"),
        (replace(AMPLE, files=1024), "a process may have 1,024 files open"),
    ],
)
def test_what_does_not_fit_is_refused_with_the_slice_that_does(has: Machine, words: str) -> None:
    network = example("scale-8k")
    with pytest.raises(LabError, match=words) as refused:
        check_fits(_plan(network), has=has)
    part = re.search(r"such as --slice (\S+)$", str(refused.value))
    assert part is not None
    there = slicing.sliced(network, slicing.parse(part[1]))
    assert size_of(there).missing(has) == ""
    check_fits(_plan(there), network, has)


@pytest.mark.slow
def test_where_no_slice_fits_that_is_said() -> None:
    with pytest.raises(LabError, match="--slice rails=1,stripes=2,spines=2,servers=2, which does not fit either"):
        check_fits(_plan(example("scale-8k")), has=replace(AMPLE, memory_kb=1))


def test_a_small_lab_fits_here() -> None:
    assert machine().memory_kb > 0
    part = slicing.sliced(example("h100-rlb"), slicing.parse("rails=1,spines=1,servers=1"))
    assert size_of(part).missing(replace(machine(), memory_kb=1 << 40)) == ""


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
