"""A mistake in a configuration shows in the routes: ``routes`` reads what devices are told, not what was meant."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from railweave.analysis.checks.checks import run_checks
from railweave.analysis.checks.subject import Subject
from railweave.analysis.routing.control_plane import ControlPlane
from railweave.analysis.routing.table import Routes
from railweave.model.device.model import BgpGroup, DeviceConfig
from railweave.model.network.model import Network
from tests.analysis.routing.fabrics import configurations
from tests.conftest import example

LEAF, SPINE = "stripe1-leaf1", "spine1"
FAULTS = ["stripe1-leaf1:et-0/0/1:0--spine2:et-0/0/0:0", "stripe2-leaf1:et-0/0/0:0--spine1:et-0/0/4:0"]
FORMS = ["dpf", "local-preference", "frr", "frr-aigp"]


@cache
def _network(form: str) -> Network:
    network = example("h100-rlb")
    [fabric] = network.fabrics
    if form == "local-preference":
        fabric = replace(fabric, underlay=fabric.underlay.model_copy(update={"path_color": "local-preference"}))
    if form == "frr-aigp":
        fabric = replace(fabric, emulation="aigp")
    return replace(network, fabrics=(fabric,))


@cache
def _configs(form: str) -> dict[str, DeviceConfig]:
    nos = "frr" if form.startswith("frr") else None
    return {config.name: config for config in configurations(_network(form), nos)}


def _states(configs: dict[str, DeviceConfig]) -> list[Routes]:
    plane = ControlPlane(configs.values())
    return [plane.routes(), *(plane.routes([fault]) for fault in FAULTS)]


@cache
def _good(form: str) -> list[Routes]:
    return _states(_configs(form))


def _differ(one: list[Routes], other: list[Routes]) -> bool:
    """Whether any forwarding table differs, or anything that a session received."""
    for a, b in zip(one, other, strict=True):
        if not a.equal(b) or a.received.keys() != b.received.keys():
            return True
        if any(not np.array_equal(a.received[key], b.received[key]) for key in a.received):
            return True
    return False


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("device", [LEAF, SPINE])
def test_every_dropped_policy_term_changes_something(form: str, device: str) -> None:
    configs = _configs(form)
    good = _good(form)
    bgp = configs[device].bgp
    assert bgp is not None
    accepting = {
        (policy.name, term.name)
        for policy in bgp.policies
        for term in policy.terms
        if term.action.accept or term.name == "no-transit"
    }
    if device == SPINE:  # with one session a leaf there is nothing for a spine to prefer
        accepting = {(policy, term) for policy, term in accepting if term != "preferred"}
    if bgp.default_accept is False:  # where the default is to reject, the explicit rejection only says so
        accepting = {(policy, term) for policy, term in accepting if term != "no-transit"}
    for policy_name, term_name in sorted(accepting):
        policies = tuple(
            replace(
                policy,
                terms=tuple(term for term in policy.terms if (policy.name, term.name) != (policy_name, term_name)),
            )
            for policy in bgp.policies
        )
        # The closing rejection goes too: what a dropped term leaves to the system's default is what is looked at.
        if term_name == "no-transit":
            policies = tuple(
                replace(policy, terms=tuple(t for t in policy.terms if t.name != "rest"))
                if policy.name == policy_name
                else policy
                for policy in policies
            )
        changed = {**configs, device: replace(configs[device], bgp=replace(bgp, policies=policies))}
        assert _differ(good, _states(changed)), f"{policy_name} {term_name}"


def _swapped(groups: tuple[BgpGroup, ...]) -> tuple[BgpGroup, ...]:
    """The first two groups with their colors, and what goes with a color, exchanged."""
    first, second, *others = groups
    return (
        replace(first, fabric_color=second.fabric_color, import_policy=second.import_policy),
        replace(second, fabric_color=first.fabric_color, import_policy=first.import_policy),
        *others,
    )


@pytest.mark.parametrize("form", FORMS)
def test_a_swapped_color_changes_the_routes_and_is_found(form: str) -> None:
    configs = _configs(form)
    bgp = configs[LEAF].bgp
    assert bgp is not None
    changed = {**configs, LEAF: replace(configs[LEAF], bgp=replace(bgp, groups=_swapped(bgp.groups)))}
    assert _differ(_good(form), _states(changed))
    subject = Subject(_network(form), changed)
    assert {finding.id for finding in run_checks(subject) if finding.severity == "error"} & {
        "path-color",
        "unreachable",
    }


def test_a_leaf_that_becomes_transit_is_found() -> None:
    configs = _configs("dpf")
    bgp = configs[LEAF].bgp
    assert bgp is not None
    policies = tuple(
        replace(policy, terms=tuple(t for t in policy.terms if t.name == "own"))
        if policy.name == "to-spines"
        else policy
        for policy in bgp.policies
    )
    changed = {**configs, LEAF: replace(configs[LEAF], bgp=replace(bgp, policies=policies))}
    found = [finding for finding in run_checks(Subject(_network("dpf"), changed)) if finding.id == "leaf-transit"]
    assert {finding.where for finding in found} == {LEAF}
    routes = ControlPlane(changed.values()).routes([FAULTS[0]])
    assert routes.next_hops("spine2", "fc00:1:1:1::/64") == (), "spines do not take back what they sent"


def test_a_wrong_as_number_keeps_the_session_down() -> None:
    configs = _configs("dpf")
    bgp = configs[LEAF].bgp
    assert bgp is not None
    wrong = replace(bgp, groups=tuple(replace(group, local_as=64999) for group in bgp.groups))
    changed = {**configs, LEAF: replace(configs[LEAF], bgp=wrong)}
    routes = ControlPlane(changed.values()).routes()
    assert routes.next_hops("stripe2-leaf1", "fc00:1:1:1::/64") == ()
    assert "session-down" in {finding.id for finding in run_checks(Subject(_network("dpf"), changed))}


@pytest.mark.parametrize("form", FORMS)
def test_the_good_network_has_no_errors(form: str) -> None:
    subject = Subject(_network(form), _configs(form))
    assert [finding for finding in run_checks(subject) if finding.severity == "error"] == []
