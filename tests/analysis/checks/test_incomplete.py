"""A configuration that lacks something: the rest is worked out, and what is missing is named with its device and field."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

import pytest
from tests.mutants.configs import designed, networks

from railweave.analysis.checks.checks import checks, run_checks
from railweave.analysis.checks.devices import compare_device
from railweave.analysis.checks.incomplete import incomplete_config
from railweave.analysis.checks.subject import Subject
from railweave.analysis.drift.drift import drift
from railweave.analysis.routing import control_plane
from railweave.analysis.routing.control_plane import pair_sessions
from railweave.analysis.routing.paths import queue_pair_paths
from railweave.errors import InputError, UnsettledError
from railweave.model.catalog import in_force
from railweave.outputs.folder.verify import verify
from railweave.prediction.simulation.model.fabric import packet_fabric
from railweave.systems import system, systems

if TYPE_CHECKING:
    from collections.abc import Callable

    from railweave.model.device.model import DeviceConfig, QosConfig
    from railweave.model.device.qos_model import Buffers
    from railweave.model.findings import Finding

LINT = checks()["junos-lint"]
EXAMPLE, LEAF = "h100-rlb", "stripe1-leaf1"


@cache
def _files(nos: str, device: str = LEAF) -> dict[str, str]:
    config = designed(EXAMPLE, nos)[1][device]
    files = system(nos).files(config)
    return {file: files[file] for file in system(nos).configurations(config)}


def _edited(nos: str, old: str, new: str, *, every: bool = False) -> tuple[str, str]:
    """The file of a leaf that has a text, with another in its place."""
    file, text = next((file, text) for file, text in _files(nos).items() if old in text)
    return file, text.replace(old, new) if every else text.replace(old, new, 1)


def _found(nos: str, file: str, text: str) -> list[Finding]:
    """What is wrong with the text of a leaf, and what its configuration lacks."""
    network, configs = designed(EXAMPLE, nos)
    stood = compare_device(configs[LEAF], _files(nos), {file: (file, text)})
    assert stood.config is not None
    return [*stood.findings, *incomplete_config.run(Subject(network, {LEAF: stood.config}))]


@pytest.mark.parametrize(
    ("nos", "old", "new", "field"),
    [
        ("junos", "no-loss pfc-priority 3;", "no-loss;", "qos.classes.no-loss.pfc_priority"),
        ("junos", "    community blue {", "    community other {", "community"),
        ("frr", "bgp large-community-list standard path-blue", "bgp large-community-list standard other", "community"),
        (
            "sonic",
            "bgp large-community-list standard path-blue",
            "bgp large-community-list standard other",
            "community",
        ),
        ("dell_sonic", "bgp community-list standard path-blue", "bgp community-list standard other", "community"),
        ("eos", "ip large-community-list path-blue", "ip large-community-list other", "community"),
    ],
)
def test_a_statement_without_its_partner_is_named(nos: str, old: str, new: str, field: str) -> None:
    found = _found(nos, *_edited(nos, old, new))
    lacking = [one for one in found if one.id == "incomplete-config"]
    assert {one.where for one in lacking} == {LEAF}
    assert any(field in one.what for one in lacking)
    (statement, *_) = [one for one in found if one.line]  # the text's own line is named too
    assert statement.where == LEAF


@pytest.mark.slow
def test_verify_goes_on_where_one_switch_has_lost_a_statement() -> None:
    """The folder of the whole network is looked at, and the switch is named: it was a ``TypeError`` out of a renderer."""
    network, _ = designed(EXAMPLE, "junos")
    file, text = _edited("junos", "no-loss pfc-priority 3;", "no-loss;")
    result = verify(network, running={LEAF: {f"{LEAF}/{file}": text}})
    assert not result.good
    wrong = {(one.id, one.where) for one in result if one.severity == "error"}
    assert {("incomplete-config", LEAF), ("classifier-differs", LEAF), ("qos-mismatch", "backend")} <= wrong


def _qos(config: DeviceConfig, **values: object) -> DeviceConfig:
    assert config.qos is not None
    return replace(config, qos=replace(config.qos, **values))


def _of_class(qos: QosConfig | None, **values: object) -> dict[str, object]:
    assert qos is not None
    return {name: replace(one, **values) if one.lossless else one for name, one in qos.classes.items()}


def _thresholds(qos: QosConfig | None, index: int) -> Buffers:
    assert qos is not None
    return replace(qos.buffers, ingress_dynamic_threshold=index)


LACKS: dict[str, tuple[Callable[[DeviceConfig], DeviceConfig], str]] = {
    "model": (lambda one: replace(one, model="no-such"), "model: the catalog has no switch model 'no-such'"),
    "priority": (
        lambda one: _qos(one, classes=_of_class(one.qos, pfc_priority=None)),
        "qos.classes.no-loss.pfc_priority: the class is lossless, and no PFC priority is given",
    ),
    "threshold": (
        lambda one: _qos(one, classes=_of_class(one.qos, dynamic_threshold=4_200_000_000)),
        "qos.classes.no-loss.dynamic_threshold: 4200000000 is no index of a dynamic threshold, which goes from 0 to 10",
    ),
    "threshold below 0": (
        lambda one: _qos(one, classes=_of_class(one.qos, dynamic_threshold=-1_000_000)),
        "qos.classes.no-loss.dynamic_threshold: -1000000 is no index of a dynamic threshold, which goes from 0 to 10",
    ),
    "ingress threshold": (
        lambda one: _qos(one, buffers=_thresholds(one.qos, 11)),
        "qos.buffers.ingress_dynamic_threshold: 11 is no index of a dynamic threshold, which goes from 0 to 10",
    ),
    "ingress threshold below 0": (
        lambda one: _qos(one, buffers=_thresholds(one.qos, -1)),
        "qos.buffers.ingress_dynamic_threshold: -1 is no index of a dynamic threshold, which goes from 0 to 10",
    ),
    "default class": (lambda one: _qos(one, default_class=""), "qos.default_class: no class is given"),
    "classes": (lambda one: _qos(one, classes={}), "qos.default_class: the device has no class 'best-effort'"),
    "port": (
        lambda one: replace(one, interfaces=one.interfaces[1:]),
        "qos.ports: the device has no port",
    ),
    "name of a port": (
        lambda one: replace(one, interfaces=(replace(one.interfaces[0], name=""), *one.interfaces[1:])),
        "interfaces: the port to",
    ),
    "VRF": (
        lambda one: replace(one, interfaces=(replace(one.interfaces[0], kind="external"), *one.interfaces[1:])),
        "no VRF is given",
    ),
    "split": (
        lambda one: replace(one, splits=(replace(one.splits[0], channels=0), *one.splits[1:])),
        "a port that is split has at least one channel",
    ),
    "communities": (
        lambda one: replace(one, bgp=one.bgp and replace(one.bgp, communities=())),
        ": the device has no community",
    ),
    "policies": (
        lambda one: replace(one, bgp=one.bgp and replace(one.bgp, policies=())),
        "export_policy: the device has no policy",
    ),
    "prefix lists": (
        lambda one: replace(one, bgp=one.bgp and replace(one.bgp, prefix_lists={})),
        "match.prefix_list: the device has no prefix list",
    ),
    "sampling": (
        lambda one: replace(one, balancing=replace(one.balancing, dlb=replace(one.balancing.dlb, sampling_rate=0))),
        "balancing.dlb.sampling_rate: DLB takes at least one sample a second",
    ),
    "flowsets": (
        lambda one: replace(
            one, balancing=replace(one.balancing, dlb=replace(one.balancing.dlb, flowset_table_size=0))
        ),
        "balancing.dlb.flowset_table_size: 0 is not a power of two",
    ),
}


@pytest.mark.parametrize("what", LACKS)
@pytest.mark.parametrize("nos", systems())
def test_what_is_missing_is_named_and_the_rest_is_rendered(nos: str, what: str) -> None:
    network, configs = designed(EXAMPLE, nos)
    change, said = LACKS[what]
    if nos == "frr" and "qos." in said:
        pytest.skip("FRR has no quality of service")
    config = change(configs[LEAF])
    found = list(incomplete_config.run(Subject(network, {LEAF: config})))
    assert any(said in one.what for one in found)
    assert {(one.id, one.severity, one.where) for one in found} == {("incomplete-config", "error", LEAF)}
    here = system(nos)
    assert here.files(config).keys() == here.files(configs[LEAF]).keys()
    here.gaps(config)
    here.trees(config)
    here.lint(config)


@pytest.mark.parametrize(("name", "nos"), list(networks()))
def test_no_design_lacks_anything(name: str, nos: str) -> None:
    network, configs = designed(name, nos)
    with in_force(network.catalog):
        assert list(incomplete_config.run(Subject(network, configs))) == []


def test_a_value_without_a_form_is_a_finding_of_its_device() -> None:
    """The lint of the others goes on, and the verdict is not good."""
    network, configs = designed(EXAMPLE, "junos")
    broken = replace(configs[LEAF], extra="no end")
    found = list(LINT.run(Subject(network, {**configs, LEAF: broken})))
    (one,) = [one for one in found if one.id == "unprintable"]
    assert (one.where, one.severity) == (LEAF, "error")
    assert "not ended by ';'" in one.what


def test_neighbors_on_ports_without_a_cable_are_not_each_others() -> None:
    """Texts of two switches may have neighbors on ports that no cable of the design is on."""
    _, configs = designed(EXAMPLE, "frr")
    both = [configs[LEAF], configs["spine1"]]
    apart: dict[str, DeviceConfig] = {}
    for one in both:
        assert one.bgp is not None
        group = one.bgp.groups[0]
        lost = replace(group, sessions=(replace(group.sessions[0], link="", peer_as=0),), peer_as_list=None)
        apart[one.name] = replace(one, bgp=replace(one.bgp, groups=(lost,)))
    asns = {name: one.bgp.asn for name, one in apart.items() if one.bgp}
    for name, one in apart.items():
        (other,) = set(asns) - {name}
        assert one.bgp is not None
        sessions = (replace(one.bgp.groups[0].sessions[0], peer_as=asns[other]),)
        apart[name] = replace(one, bgp=replace(one.bgp, groups=(replace(one.bgp.groups[0], sessions=sessions),)))
    assert pair_sessions(apart) == {LEAF: [], "spine1": []}


def test_routes_that_never_settle_are_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    network, configs = designed(EXAMPLE, "frr")
    monkeypatch.setattr(control_plane, "MAXIMUM_ROUNDS", 1)
    found = run_checks(Subject(network, configs), slow=False)
    (one,) = [one for one in found if one.id == "routes-unsettled"]
    assert (one.where, one.severity) == (network.name, "error")
    assert "routes do not settle after 1 rounds" in one.what


def test_drift_says_that_routes_never_settle(monkeypatch: pytest.MonkeyPatch) -> None:
    network, _ = designed(EXAMPLE, "junos")
    file, text = _edited("junos", "no-loss pfc-priority 3;", "no-loss;")
    plain = control_plane.ControlPlane.routes
    seen: list[object] = []

    def second_never_settles(self: control_plane.ControlPlane) -> object:
        seen.append(self)
        if len(seen) == 1:
            return plain(self)
        raise UnsettledError("routes do not settle")

    monkeypatch.setattr(control_plane.ControlPlane, "routes", second_never_settles)
    found = drift(network, {LEAF: {file: text}})
    assert not found.equal
    assert found.effects.unsettled == "routes do not settle"
    assert "what it does: routes do not settle" in found.lines()
    assert "routes-unsettled" in {one.id for one in found.findings}


def test_a_prefix_that_no_switch_has_leads_nowhere() -> None:
    """The leaf has lost its gateways: queue pairs to its servers have no path, and a simulation says which prefix is gone."""
    network, configs = designed(EXAMPLE, "junos")
    subject = Subject(network, {**configs, LEAF: replace(configs[LEAF], gateways=())})
    (far, near) = (
        f"{server.name}:{nic.name}"
        for leaf in ("stripe2-leaf1", LEAF)
        for server, nic in [next((s, n) for s in network.servers for n in s.nics if n.leaf == leaf)]
    )
    (path,) = queue_pair_paths(network, subject.routes, far, near, 1)
    assert path.hops == ()
    with pytest.raises(InputError, match=f"{near}: no switch has the prefix fc00:1:1:1::/64 of this NIC's gateway"):
        packet_fabric(network, subject.configs, subject.routes)


def test_a_session_over_a_cable_of_other_devices() -> None:
    """No text says so, for links follow from ports; a changed configuration may. Nothing leaves there, and nothing is raised."""
    network, configs = designed(EXAMPLE, "sonic")
    own = next(one for one in network.cables if one.b.device == LEAF).name
    bgp = configs["spine1"].bgp
    assert bgp is not None
    [first, *others] = bgp.groups
    groups = (replace(first, sessions=(replace(first.sessions[0], link=own), *first.sessions[1:])), *others)
    spine = replace(configs["spine1"], bgp=replace(bgp, groups=groups))
    subject = Subject(network, {**configs, "spine1": spine})
    [finding] = incomplete_config.run(subject)
    assert (finding.where, f"spine1 is not on {own!r}" in finding.what) == ("spine1", True)
    packet_fabric(network, subject.configs, subject.routes)
    isis_network, isis_configs = designed("dci-50km", "junos")
    isis = isis_configs["ptx-east"].isis
    assert isis is not None
    moved = tuple(replace(one, link="a cable of no design") for one in isis.ports)
    east = replace(isis_configs["ptx-east"], isis=replace(isis, ports=moved))
    found = incomplete_config.run(Subject(isis_network, {**isis_configs, "ptx-east": east}))
    assert len(list(found)) == len(moved)
