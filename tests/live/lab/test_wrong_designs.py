"""A wrong network is caught by the assertion that names what is wrong, although ``routes`` and FRR agree on it."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from railweave.live.lab import assertions
from railweave.live.lab.assertions import Outcome
from railweave.live.lab.names import namespace
from railweave.live.lab.running import Running
from railweave.model.device.build import device_config
from railweave.model.device.model import Action, DeviceConfig, Match, Policy, Term
from tests.conftest import example
from tests.live.lab.machine import lab, needs_lab, part_of

pytestmark = needs_lab

SWAPPED, LEAKING, SERVER = "stripe1-leaf1", "stripe2-leaf1", "H100-01"
PART = "rails=1,spines=2"


def _with_two_colors_swapped(config: DeviceConfig) -> DeviceConfig:
    """A leaf that prefers green prefixes on the blue uplink, and the other way around."""
    assert config.bgp is not None
    first, second, *rest = config.bgp.groups
    swapped = (
        replace(first, import_policy=second.import_policy),
        replace(second, import_policy=first.import_policy),
        *rest,
    )
    return replace(config, bgp=replace(config.bgp, groups=swapped))


def _without_export_policy(config: DeviceConfig) -> DeviceConfig:
    """A leaf that tells spines everything it knows, after its own prefixes."""
    assert config.bgp is not None
    anything = Term("anything", Match(), Action(accept=True))

    def opened(policy: Policy) -> Policy:
        own = tuple(term for term in policy.terms if term.action.accept)
        return replace(policy, terms=(*own, anything)) if policy.name == "to-spines" else policy

    return replace(config, bgp=replace(config.bgp, policies=tuple(map(opened, config.bgp.policies))))


def _looked_at(running: Running, *ids: str) -> dict[str, Outcome]:
    return {one.id: one for one in assertions.run(running, only=ids, retry_s=0)}


def test_swapped_colors_a_dropped_export_policy_and_a_missing_rule_are_each_named(tmp_path: Path) -> None:
    network = part_of(example("h100-rlb"), PART)
    configs = {one.name: device_config(network, one.name, "frr") for one in network.switches}
    configs[SWAPPED] = _with_two_colors_swapped(configs[SWAPPED])
    configs[LEAKING] = _without_export_policy(configs[LEAKING])
    with lab(tmp_path / "wrong.yaml", example("h100-rlb"), PART, configs) as (made, running):
        assert made.unsettled == ()  # FRR does what these configurations say, and `routes` knew it
        subprocess.run(
            ["ip", "-n", namespace(made.record.lab, SERVER), "-6", "rule", "del", "from", _rule(running)], check=True
        )
        found = _looked_at(running)
        wrong = {name for name, one in found.items() if not one.passed}
        assert {"path-colors", "no-leaf-transit", "host-tables"} <= wrong
        assert not {"bgp-sessions", "bfd-sessions", "slaac-addresses", "fib-equals-routes", "mtu"} & wrong

        colors = found["path-colors"]
        assert all(line.startswith(f"{SWAPPED} sends") for line in colors.failures)
        assert any("which is green, to stripe1-leaf1:et-0/0/1:0--spine2" in line for line in colors.failures)
        assert colors.failed == 4 * 1 // 2  # of the other leaf's four colors, the two that have an uplink here

        [leaf] = {line.split()[0] for line in found["no-leaf-transit"].failures}
        assert leaf == LEAKING
        assert "foreign prefix" in found["no-leaf-transit"].failures[0]

        [missing] = found["host-tables"].failures
        assert missing.startswith(f"{SERVER}: missing: ip -6 rule add from {_rule(running)}")


def _rule(running: Running) -> str:
    """What a rule of the server selects by."""
    return running.plan.hosts[SERVER].rules[0].from_ or ""


def test_what_changes_under_a_lab_is_named_by_the_assertion_of_that_part(tmp_path: Path) -> None:
    with lab(tmp_path / "changed.yaml", example("h100-rlb"), PART) as (made, running):
        space = namespace(made.record.lab, SERVER)

        def run(*words: str) -> None:
            subprocess.run(["ip", "-n", space, *words], check=True)

        nic = running.plan.hosts[SERVER].nics[0]
        run("addr", "add", "fc00:1:1:9::9/64", "dev", nic.netdev)
        assert _failures(running, "slaac-addresses") == [f"{SERVER} {nic.netdev}: has fc00:1:1:9::9/64 too"]
        run("addr", "del", "fc00:1:1:9::9/64", "dev", nic.netdev)
        assert _failures(running, "slaac-addresses") == []

        run("link", "set", nic.netdev, "mtu", "1500")
        assert any("9000 bytes do not arrive" in line for line in _failures(running, "mtu"))
        run("link", "set", nic.netdev, "mtu", "9000")

        leaf = "stripe1-leaf1"
        port = running.plan.configs[leaf].fabric_interfaces()[0]
        bgp = running.plan.configs[leaf].bgp
        assert bgp is not None
        with running.vty(leaf, "bgpd") as vty:
            vty.configure([f"router bgp {bgp.asn}", f"neighbor {port.name} shutdown"])
        assert any(line.startswith(f"{leaf} {port.name} to spine1: ") for line in _failures(running, "bgp-sessions"))
        _until_said(running, "fib-equals-routes", lambda line: line.startswith(f"{leaf} sends "))
        # Prefixes of that color take another uplink now, and so do the queue pairs.
        _until_said(running, "queue-pair-links", lambda line: "by green" in line and f"and not {port.link}" in line)


def _until_said(running: Running, name: str, wanted: Callable[[str], bool]) -> None:
    """Wait until an assertion says so: kernels follow the daemons, and these their neighbors."""
    end = time.monotonic() + 20
    found = _failures(running, name)
    while not any(map(wanted, found)):
        assert time.monotonic() < end, found
        found = _failures(running, name)


def _failures(running: Running, name: str) -> list[str]:
    [outcome] = assertions.run(running, only=[name], retry_s=0)
    return list(outcome.failures)
