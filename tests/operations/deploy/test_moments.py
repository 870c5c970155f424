"""What a plan says of the network between its waves, against routes that are computed apart from it."""

from __future__ import annotations

import copy
import dataclasses
import json
import re
import shutil
import typing
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from railweave.analysis.checks.subject import Subject
from railweave.analysis.drift.field_kinds import UNKNOWN, UNROUTED, kind_of
from railweave.analysis.drift.running import running_configs
from railweave.analysis.routing.control_plane import ControlPlane
from railweave.analysis.routing.table import UNREACHABLE
from railweave.model.catalog import in_force
from railweave.model.device.build import device_config
from railweave.model.device.fields import differences
from railweave.model.device.management import Management
from railweave.model.device.model import DeviceConfig
from railweave.model.network.model import Network
from railweave.model.network.status import reachable
from railweave.operations.deploy.making import Answers, make_plan
from railweave.operations.deploy.moments import Moments, stages
from railweave.operations.deploy.plan import Plan, plan_of
from railweave.operations.deploy.waves import UNDISTURBED, PlanLimits
from railweave.outputs.folder.designing import design_file
from tests.conftest import EXAMPLES, example
from tests.operations.deploy.eos_network import of_eos
from tests.operations.deploy.test_mixed import designed as load_text
from tests.operations.deploy.test_mixed import texts
from tests.operations.deploy.test_rollout import SMALL

NO_EFFECT = UNDISTURBED.partition(" {}")[0]
BACKEND = "fabrics.backend"
DSCP = "    qos: {{classes: {{no-loss: {{dscp: [{}]}}}}}}\n"
ROUTE_TARGET = f"{BACKEND}.overlay.route_target"
SILENT: list[tuple[str, object]] = [
    ("management.ntp", ["172.20.0.9"]),
    ("management.snmp.location", "hall 2"),
    ("management.snmp.contact", "noc@example.net"),
    ("management.syslog", [{"host": "172.20.0.11"}]),
    ("management.domain", "other.example.net"),
    ("management.dns", ["172.20.0.12"]),
    ("management.banner", "keep out"),
    ("management.time_zone", "Europe/Berlin"),
]
"""Changes that move nothing."""
MOVING: list[tuple[str, object]] = [
    (f"{BACKEND}.addressing", {"server_pool": "fc01::/16", "local_prefixes": ["fc01::/16"]}),
    (f"{BACKEND}.pools.leaf_asn", "4210000000-4210000100"),
    (f"{BACKEND}.pools.spine_asn", "4220000000-4220000100"),
    (f"{BACKEND}.pools.router_id", "10.77.0.0/24"),
    (f"{BACKEND}.colors", [{"name": "green"}, {"name": "blue"}, {"name": "red"}, {"name": "violet"}]),
    ("status", {"spine1": "drained"}),
    ("status", {"stripe1-leaf1": "drained"}),
    ("status", {"spine2": "drained", "spine3": "drained"}),
    ("status", {"stripe2-leaf1--spine1": "drained"}),
]
"""Changes of routes, on every system. Some move nothing on some systems."""
SYSTEMS = ("junos", "eos", "sonic", "frr")
CASES = [
    *(("h100-rlb", nos, key, value) for nos in SYSTEMS for key, value in (*SILENT, *MOVING)),
    *(("h100-rlb-8up", nos, key, value) for nos in ("junos", "frr") for key, value in (SILENT[1], MOVING[5])),
    *(("mi300x-leaf-31", nos, key, value) for nos in SYSTEMS for key, value in SILENT[:3]),
    *(("two-planes", nos, key, value) for nos in SYSTEMS for key, value in SILENT[:3]),
]


def designs(folder: Path, example: str, nos: str, key: str, value: object) -> tuple[Network, Network, Path]:
    """An example on a system, and with another value."""
    document: dict[str, Any] = yaml.safe_load((EXAMPLES / f"{example}.yaml").read_text())
    changed: dict[str, Any] = copy.deepcopy(document)
    *above, last = key.split(".")
    place = changed
    for name in above:
        place = place.setdefault(name, {})
    place[last] = value
    old, _ = designed(folder, "old", example, nos, document)
    new, path = designed(folder, "new", example, nos, changed)
    return old, new, path


def designed(folder: Path, name: str, example: str, nos: str, document: dict[str, Any]) -> tuple[Network, Path]:
    """A fabric file with what stands beside the example, in a folder of its own."""
    (folder / name).mkdir()
    for beside in EXAMPLES.glob(f"{example}.*"):
        shutil.copy(beside, folder / name)
    file = folder / name / f"{example}.yaml"
    file.write_text(yaml.safe_dump(document, sort_keys=False))
    return reachable(design_file(file, device=[f":{nos}"] if nos else [])[0]), file


def configs_of(network: Network) -> dict[str, DeviceConfig]:
    return {switch.name: device_config(network, switch.name) for switch in network.switches}


class Walked:
    """Which gateways a leaf reaches, hop by hop, where some devices have changed and others not."""

    def __init__(
        self, network: Network, old: dict[str, DeviceConfig], new: dict[str, DeviceConfig], done: set[str]
    ) -> None:
        self.configs = {name: (new if name in done else old)[name] for name in old}
        self.routes = Subject(network, self.configs).routes
        self.ends = {cable.name: (cable.a.device, cable.b.device) for cable in network.cables}

    def arrives(self, device: str, prefix: str, seen: frozenset[str] = frozenset()) -> bool:
        """Whether any way from a device leads to the prefix."""
        if self.routes.is_local(device, prefix):
            return True
        return device not in seen and any(
            self.arrives(next(end for end in self.ends[link] if end != device), prefix, seen | {device})
            for link in self.routes.next_hops(device, prefix)
        )

    def pairs(self) -> Iterator[tuple[str, str, str, int]]:
        """Yield (leaf, other leaf, gateway, number of its prefix) of what is reached."""
        leaves = [name for name, config in self.configs.items() if config.gateways]
        for owner in leaves:
            for gateway in self.configs[owner].gateways:
                for number, prefix in enumerate(gateway.prefixes):
                    for leaf in leaves:
                        if leaf != owner and self.arrives(leaf, prefix):
                            yield leaf, owner, gateway.name, number

    def tables(self) -> dict[tuple[str, str], frozenset[str]]:
        """The links by which each switch sends each prefix."""
        return {
            (device, prefix): frozenset(self.routes.next_hops(device, prefix))
            for device in self.configs
            for prefix in self.routes.prefixes
        }


def planned(folder: Path, example: str, nos: str, key: str, value: object) -> tuple[Plan, Network, Network]:
    old, new, path = designs(folder, example, nos, key, value)
    with in_force(new.catalog):
        return make_plan(path, new, Answers(texts(old))), old, new


@pytest.mark.parametrize(("example", "nos", "key", "value"), CASES)
def test_what_is_cut_and_moved_is_what_routing_says(
    tmp_path: Path, example: str, nos: str, key: str, value: object
) -> None:
    plan, old, new = planned(tmp_path, example, nos, key, value)
    with in_force(new.catalog):
        before, after = configs_of(old), configs_of(new)
        done: set[str] = set()
        last = Walked(new, before, after, set(plan.changed))
        ends = set(last.pairs())
        was = Walked(new, before, after, done)
        ever = set(was.pairs()) & ends
        for number, wave in enumerate(plan.waves, 1):
            done |= set(wave.devices)
            now = Walked(new, before, after, done)
            lost = ever - set(now.pairs())
            told = {
                place.partition(" ")[0]
                for cut in wave.effect.cuts
                if cut.until
                for there in cut.prefixes.values()
                for place in there
            }
            assert told == {leaf for leaf, *_ in lost}, (number, wave.devices)
            names = {name for cut in wave.effect.cuts if cut.until for name in cut.prefixes}
            prefixes = {
                prefix
                for _, owner, gateway, at in lost
                for prefix in gateway_prefixes(before[owner], gateway)[at : at + 1]
            }
            assert {name.partition(",")[0] for name in names if name.partition(",")[0] in gateways(before)} == prefixes
            if any(NO_EFFECT in line for line in wave.risks):
                assert now.tables() == was.tables(), (number, wave.risks)
                assert not lost
            was = now
        assert all(
            cut.until > number for number, wave in enumerate(plan.waves, 1) for cut in wave.effect.cuts if cut.until
        )
        if (key, value) in SILENT:
            assert all(NO_EFFECT in line for wave in plan.waves for line in wave.risks), plan.waves
    assert plan_of(json.loads(json.dumps(plan.to_json()))).digest == plan.digest


def gateway_prefixes(config: DeviceConfig, name: str) -> tuple[str, ...]:
    return next(gateway.prefixes for gateway in config.gateways if gateway.name == name)


def gateways(configs: dict[str, DeviceConfig]) -> set[str]:
    return {prefix for config in configs.values() for gateway in config.gateways for prefix in gateway.prefixes}


def test_other_route_targets_cut_tenants_until_the_last_leaf_has_them(tmp_path: Path) -> None:
    plan, _, _ = planned(tmp_path, "multitenancy-lab", "", ROUTE_TARGET, "64513:{tenant*100}")
    assert [len(wave.devices) for wave in plan.waves] == [1, 1, 2]
    first = plan.waves[0]
    (cut,) = first.effect.cuts
    assert cut.until == 3
    assert "gpu-leaf01 VRF tenant-1" in cut.prefixes["10.101.9.0/24"]
    assert "gpu-leaf03 VRF tenant-1" in cut.prefixes["10.101.1.0/24"]
    assert any(line.startswith("CUT until wave 3: 32 prefixes") for line in first.risks)
    assert not any(NO_EFFECT in line for wave in plan.waves for line in wave.risks)


def test_leaves_that_commit_one_after_another_in_one_wave_cut_each_other(tmp_path: Path) -> None:
    """After the wave all is well, and in the middle of it nothing is."""
    old, new, _ = designs(tmp_path, "multitenancy-lab", "", ROUTE_TARGET, "64513:{tenant*100}")
    leaves = ["gpu-leaf01", "gpu-leaf02", "gpu-leaf03", "gpu-leaf04"]
    with in_force(new.catalog):
        (effect,) = Moments(new, configs_of(old), configs_of(new), [leaves]).effects()
    assert effect.states == 5
    (cut,) = effect.cuts
    assert cut.until == 0
    assert "gpu-leaf01 VRF tenant-1" in cut.prefixes["10.101.9.0/24"]


def test_a_cut_is_refused_by_name_and_the_steps_that_cut_nothing_are_offered(tmp_path: Path) -> None:
    old, new, path = designs(tmp_path, "multitenancy-lab", "", ROUTE_TARGET, "64513:{tenant*100}")
    running = texts(old)

    def plan(step: int = 0, allow: tuple[str, ...] = ()) -> Plan:
        return make_plan(path, new, Answers(running), limits=PlanLimits(allow_cut=frozenset(allow), step=step))

    with in_force(new.catalog):
        refused = plan().refused
        assert len(refused) == 12  # four tenants after the first wave, all eight after the second
        assert "Plan and apply with `--step 1`, then `--step 2`, then without it: these steps cut nothing" in refused[0]
        assert len(plan(allow=("tenant-1",)).refused) == 10
        for step in (1, 2, 0):
            made = plan(step)
            assert made.refused == []
            assert set(made.changed) == {"gpu-leaf01", "gpu-leaf02", "gpu-leaf03", "gpu-leaf04"}
            assert not any(wave.effect.cuts for wave in made.waves)
            for name, change in made.changed.items():
                running[name] = {**running[name], **change.target}
        assert not plan().changed


ASN = "    pools: {leaf_asn: 4210000000-4210000100}\n"
STEPPED = [
    ("junos", ASN, (2, 2, 2)),
    ("eos", ASN, (2, 2, 2)),
    ("junos", DSCP.format("24"), (4, 0, 4)),
    ("eos", DSCP.format("24"), (4, 0, 4)),
    ("junos", DSCP.format("24, 26"), None),
]
"""A new line of a small fabric, with the number of devices that each step changes; None: the direct way loses nothing."""


@pytest.mark.parametrize(("nos", "line", "counts"), STEPPED)
def test_steps_accept_both_then_offer_the_new_and_lose_nothing(
    tmp_path: Path, nos: str, line: str, counts: tuple[int, ...] | None
) -> None:
    """AS numbers and DSCPs, by the texts: what each step leaves is what the next one begins with, and the last is the design."""
    small = SMALL if nos == "junos" else of_eos(SMALL)
    path = tmp_path / "new.yaml"
    old = load_text(tmp_path / "old.yaml", small)
    new = load_text(path, small.replace("    colors:", f"{line}    colors:"))
    running = texts(old)

    def plan(step: int) -> Plan:
        return make_plan(path, new, Answers(running), limits=PlanLimits(allow_cut=frozenset(), step=step))

    with in_force(new.catalog):
        direct = plan(0)
        steps = [line for wave in direct.waves for line in (*wave.risks, *wave.refused) if "`--step 1`" in line]
        if counts is None:
            assert not steps
            assert not any(text.startswith("qos-mismatch") for wave in direct.waves for text, _ in wave.effect.risks)
            return
        assert steps
        assert all("these steps cut nothing" in line for line in steps)
        assert all(("`--step 2`" in line) == bool(counts[1]) for line in steps)
        for step, count in zip((1, 2, 0), counts, strict=True):
            made = plan(step)
            assert not made.refused
            assert len(made.changed) == count
            for wave in made.waves:
                assert not any(cut.until for cut in wave.effect.cuts)
                assert not any(text.startswith(("qos-mismatch", "mtu-mismatch")) for text, _ in wave.effect.risks)
            for name, change in made.changed.items():
                running[name] = {**running[name], **change.target}
        assert not plan(0).changed


@pytest.mark.parametrize("nos", ["junos", "eos"])
def test_gateways_have_their_new_address_before_they_lose_the_old_one(tmp_path: Path, nos: str) -> None:
    """Another pool of server addresses: the direct way cuts servers between the waves; the steps never do."""
    small = SMALL if nos == "junos" else of_eos(SMALL)
    path = tmp_path / "new.yaml"
    old = load_text(tmp_path / "old.yaml", small)
    new = load_text(path, small.replace("fc00::/16", "fd00::/16"))
    running = texts(old)
    leaf = "stripe1-leaf1"
    pools = [
        {prefix for gateway in configs_of(network)[leaf].gateways for prefix in gateway.prefixes}
        for network in (old, new)
    ]

    def plan(step: int) -> Plan:
        return make_plan(path, new, Answers(running), limits=PlanLimits(allow_cut=frozenset(), step=step))

    with in_force(new.catalog):
        [refusal, *_] = plan(0).refused
        assert "it cuts backend until wave" in refusal
        assert "Plan and apply with `--step 1`" in refusal
        assert "these steps cut nothing" in refusal
        for step, prefixes in ((1, pools[0] | pools[1]), (2, pools[0] | pools[1]), (0, pools[1])):
            made = plan(step)
            assert not made.refused
            assert not any(cut.until for wave in made.waves for cut in wave.effect.cuts)
            for name, change in made.changed.items():
                running[name] = {**running[name], **change.target}
            read = running_configs(new, {leaf: running[leaf]}, configs_of(new))[leaf]
            assert {prefix for gateway in read.gateways for prefix in gateway.prefixes} == prefixes
        assert not plan(0).changed


def test_configured_neighbors_have_no_steps_to_other_as_numbers_and_the_plan_says_why(tmp_path: Path) -> None:
    old, new, path = designs(tmp_path, "multitenancy-lab", "junos", f"{BACKEND}.pools.leaf_asn", "65201-65299")
    with in_force(new.catalog):
        refused = make_plan(path, new, Answers(texts(old)), limits=PlanLimits(allow_cut=frozenset())).refused
    assert (
        "No steps are known that cut nothing, because a configured neighbor is accepted with one AS number only"
        in (refused[0])
    )


def sized(config: DeviceConfig, fabric: int, gateway: int) -> DeviceConfig:
    ports = tuple(dataclasses.replace(port, mtu=fabric) for port in config.interfaces)
    gateways = tuple(dataclasses.replace(each, mtu=gateway) for each in config.gateways)
    return dataclasses.replace(config, interfaces=ports, gateways=gateways)


@pytest.mark.parametrize(("sizes", "larger"), [(((9100, 9000), (9216, 9170)), 0), (((9216, 9170), (9100, 9000)), 1)])
def test_larger_packets_are_accepted_before_they_are_sent_and_smaller_sent_before_less_is_accepted(
    sizes: tuple[tuple[int, int], tuple[int, int]], larger: int
) -> None:
    """The direct way has moments at which servers send packets that a link does not take; the steps have none."""
    network = reachable(example("h100-rlb"))
    designed = configs_of(network)
    before, after = ({name: sized(config, *size) for name, config in designed.items()} for size in sizes)
    leaves = [name for name, config in before.items() if config.gateways]
    spines = [name for name in before if name not in leaves]
    order = [leaves, spines] if larger == 0 else [spines, leaves]

    def at_risk(old: dict[str, DeviceConfig], new: dict[str, DeviceConfig]) -> bool:
        effects = Moments(network, old, new, order).effects(meanwhile=False)
        return any(text.startswith("mtu-mismatch") for effect in effects for text, _ in effect.risks)

    first, second = stages(before, after)
    assert {port.mtu for config in first.values() for port in config.interfaces} == {9216}
    assert {each.mtu for config in first.values() for each in config.gateways} == {sizes[0][1]}
    assert {each.mtu for config in second.values() for each in config.gateways} == {sizes[1][1]}
    assert at_risk(before, after)
    assert not any(at_risk(old, new) for old, new in ((before, first), (first, second), (second, after)))


def test_other_mtus_that_every_packet_fits_are_named_and_put_nothing_at_risk(tmp_path: Path) -> None:
    """The two ends of a link differ between the waves, and servers send no packet that an end does not take."""
    path = tmp_path / "new.yaml"
    old = load_text(tmp_path / "old.yaml", SMALL)
    new = load_text(path, SMALL.replace("    colors:", "    mtu: {fabric: 9100}\n    colors:"))
    plan = make_plan(path, new, Answers(texts(old)))
    assert {gateway.mtu for config in configs_of(new).values() for gateway in config.gateways} == {9000}
    assert all("MTU" in wave.effect.subjects for wave in plan.waves)
    assert not any(wave.effect.risks for wave in plan.waves)
    assert not any(NO_EFFECT in line for wave in plan.waves for line in wave.risks)


STRANGE = {"junos": "set system foo bar", "eos": "foo bar", "frr": "foo bar", "sonic": '{"FOO": {"x": {"a": "1"}}}'}
"""A statement that no reader understands, by system."""


@pytest.mark.parametrize(
    ("nos", "line"),
    [("junos", "system foo bar"), ("eos", "foo bar"), ("frr", "foo bar"), ("sonic", "FOO|x a 1")],
)
def test_a_statement_that_no_reader_understands_is_unknown_and_is_named_with_its_line(
    tmp_path: Path, nos: str, line: str
) -> None:
    devices = {"leaf1": {"extra": {nos: STRANGE[nos]}}}
    plan, _, new = planned(tmp_path, "mi300x-leaf-31", nos, "overrides.devices", devices)
    (wave,) = plan.waves
    ((device, statement),) = wave.effect.unknown
    assert device == "leaf1"
    file, _, number = statement.rpartition("(")[2].rstrip(")").partition(":")
    assert statement.startswith(f"`+ {line}` ({file}:")
    there = texts(new)["leaf1"][file].splitlines()[int(number) - 1]
    assert line.rpartition(" ")[2] in there
    assert f"disruption unknown: leaf1: {statement}" in wave.risks
    assert not any(NO_EFFECT in risk for risk in wave.risks)


@pytest.mark.parametrize("nos", SYSTEMS)
def test_other_descriptions_of_every_port_and_neighbor_have_no_effect(tmp_path: Path, nos: str) -> None:
    document: dict[str, Any] = yaml.safe_load((EXAMPLES / "evpn-server-isolation.yaml").read_text())
    network, path = designed(tmp_path, "new", "evpn-server-isolation", nos, document)
    running = {
        name: {file: _DESCRIPTION.sub(r"\1cable-7", text) for file, text in there.items()}
        for name, there in texts(network).items()
    }
    assert all(running[name] != there for name, there in texts(network).items())
    with in_force(network.catalog):
        plan = make_plan(path, network, Answers(running))
    assert all(NO_EFFECT in line for wave in plan.waves for line in wave.risks), plan.waves


_DESCRIPTION = re.compile(r'(description"?:? "?)[^";\n]+')


def test_a_change_of_unknown_disruption_names_its_first_statement(tmp_path: Path) -> None:
    plan, _, new = planned(tmp_path, "mi300x-leaf-31", "eos", "management.security", {})
    (wave,) = plan.waves
    ((_, statement),) = wave.effect.unknown
    assert statement.startswith("`+ ip access-list control-plane-v4` (eos.conf:")
    assert statement.endswith(" and 4 other statements: protection")
    number = int(statement.partition("eos.conf:")[2].partition(")")[0])
    assert "control-plane-v4" in texts(new)["leaf1"]["eos.conf"].splitlines()[number - 1]


def test_a_nic_that_moves_between_tenants_is_named_and_a_server_is_where_all_its_nics_move(tmp_path: Path) -> None:
    tenants: dict[str, Any] = {
        "tenant-1": {"members": ["H100-[01-03]"]},
        "tenant-2": {"members": ["MI300-[01-04]:eth[1-4]", "MI300-01:eth5", "H100-04"]},
        "tenant-3": {"members": ["MI300-01:eth[6-8]", "MI300-[02-04]:eth[5-8]"]},
    }
    plan, _, _ = planned(tmp_path, "evpn-functional", "", f"{BACKEND}.tenants", tenants)
    moves = [line for wave in plan.waves for line in wave.risks if " moves " in line]
    assert sorted(moves) == [
        "H100-04 moves from tenant-1 to tenant-2",
        "MI300-01:eth5 moves from tenant-3 to tenant-2",
    ]


def test_devices_are_listed_once_in_the_order_of_waves(tmp_path: Path) -> None:
    plan, _, _ = planned(tmp_path, "multitenancy-lab", "eos", f"{BACKEND}.pools.leaf_asn", "65201-65299")
    order = [name for wave in plan.waves for name in wave.devices]
    lines = plan.lines()
    at = next(number for number, line in enumerate(lines) if line.split()[:2] == ["wave", "device"])
    assert [line.split()[1] for line in lines[at + 1 : at + 1 + len(order)]] == order
    assert [int(line.split()[0]) for line in lines[at + 1 : at + 1 + len(order)]] == [
        number for number, wave in enumerate(plan.waves, 1) for _ in wave.devices
    ]
    assert [line.removesuffix(" (eos)") for line in lines if line.endswith(" (eos)")] == order


def test_what_frr_does_not_hold_is_named_and_not_called_done(tmp_path: Path) -> None:
    plan, old, _ = planned(tmp_path, "h100-rlb", "frr", f"{BACKEND}.mtu", {"fabric": 9100})
    assert {command for change in plan.changed.values() for command in change.commands["links.conf"]} >= {
        "on et-0-0 ip link set dev et-0-0 mtu 9086"
    }
    assert any("MTU" in wave.effect.subjects for wave in plan.waves)
    assert "MTU" not in plan.outside["frr"]
    assert any(line.startswith("not in this plan: on frr, ") and "traffic classes" in line for line in plan.lines())
    unknown = {name: {"frr.conf": files["frr.conf"]} for name, files in texts(old).items()}
    with in_force(old.catalog):
        silent = make_plan(Path(plan.fabric), old, Answers(unknown))
    assert any("the device did not say its links.conf" in why for why in silent.refused)


@pytest.mark.parametrize("name", ["evpn-gpu-isolation", "h100-rlb"])
def test_routing_reads_no_field_whose_change_shares_routes(name: str) -> None:
    """Without BFD, graceful restart, traffic classes and names of neighbors the routes are the same (``UNROUTED``)."""
    configs = configs_of(example(name))
    bare = {
        device: replace(
            config,
            management=Management(),
            qos=None,
            interfaces=tuple(replace(port, pauses=False) for port in config.interfaces),
            bgp=config.bgp
            and replace(
                config.bgp,
                bfd=None,
                graceful_restart=not config.bgp.graceful_restart,
                groups=tuple(
                    replace(group, bfd=None, sessions=tuple(replace(session, peer="x") for session in group.sessions))
                    for group in config.bgp.groups
                ),
            ),
            overlay=config.overlay
            and replace(
                config.overlay,
                bfd=None,
                neighbors=tuple(replace(neighbor, peer="x") for neighbor in config.overlay.neighbors),
            ),
        )
        for device, config in configs.items()
    }
    changed = {change.field for device in configs for change in differences(configs[device], bare[device])}
    assert {kind_of(field) for field in changed} == UNROUTED
    first, second = (ControlPlane(every.values()).routes() for every in (configs, bare))
    assert first.prefixes == second.prefixes
    for device, fib in first.fibs.items():
        groups = [
            [() if at < 0 else routes.groups[at] for at in routes.fibs[device].group.tolist()]
            for routes in (first, second)
        ]
        assert groups[0] == groups[1]
        assert fib.group.tolist().count(UNREACHABLE) == second.fibs[device].group.tolist().count(UNREACHABLE)


def fields(kind: Any, place: str = "") -> Iterator[str]:
    """Yield the names of all fields of a configuration, with dots between."""
    inner = [kind, *typing.get_args(kind)]
    inner += [more for each in typing.get_args(kind) for more in typing.get_args(each)]
    classes = [each for each in inner if dataclasses.is_dataclass(each)]
    if not classes or place.count(".") > 5:
        yield place
    for each in classes:
        assert isinstance(each, type)
        hints = typing.get_type_hints(each, vars(__import__(each.__module__, fromlist=["x"])))
        for field in dataclasses.fields(each):
            yield from fields(hints[field.name], f"{place}.{field.name}".lstrip("."))


def test_every_field_of_a_configuration_is_of_a_kind() -> None:
    unknown = {name for name in fields(DeviceConfig) if kind_of(name) == UNKNOWN}
    assert {name.partition(".")[0] for name in unknown} == {"protection", "extra", "management"}
    assert {name for name in unknown if name.startswith("management")} == {
        "management.security.edge_ports.bpdu_guard",
        "management.security.edge_ports.storm_control",
    }


def test_a_wave_that_moves_nics_to_another_tenant_says_so(tmp_path: Path) -> None:
    members = {
        "tenant-1": ["H100-[01-04]:gpu0_eth"],
        "tenant-2": ["H100-[01-04]:gpu[1-3]_eth"],
        "tenant-3": ["H100-[01-04]:gpu[4-7]_eth"],
    }
    tenants = {name: {"members": nics} for name, nics in members.items()}
    plan, _, _ = planned(tmp_path, "evpn-gpu-isolation", "frr", f"{BACKEND}.tenants", tenants)
    moving = [wave for wave in plan.waves if "stripe1-leaf1" in wave.devices]
    assert [set(wave.effect.effects.tenants) for wave in moving] == [{"tenant-1", "tenant-2"}]
    assert not any("no effect on traffic" in line for wave in moving for line in wave.risks)
