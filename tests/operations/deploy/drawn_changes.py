"""Changes drawn by a seed over examples, systems and subjects: the effect that a plan states, beside the routes of the texts after each commit.

``make trial NAME=waves WORDS="1 2"`` draws 40 changes for each seed. Each device's commands are typed into its running configuration, as the
device does; the texts are read back and routed after every single commit. Junos and EOS are read without the design. The files of FRR and SONiC do
not hold every field, so the design gives the others. The trial ends with 1 if a plan's effect differs from these routes, if a plan says "no
effect" although a route moved, or if fewer than 90 % of the changes that move nothing are called so.
"""

from __future__ import annotations

import copy
import json
import random
import re
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET
from xml.sax.saxutils import escape

import yaml

from railweave.analysis.checks.devices import _cabled  # pyright: ignore[reportPrivateUsage]
from railweave.analysis.drift.running import running_configs
from railweave.analysis.routing.control_plane import ControlPlane
from railweave.analysis.routing.table import Routes
from railweave.errors import InputError, UnsettledError
from railweave.model.catalog import in_force
from railweave.model.config.section_tree import sections
from railweave.model.device.model import DeviceConfig
from railweave.model.device.reading import blank_config
from railweave.model.network.model import Network
from railweave.operations.deploy.changes import DeviceChange
from railweave.operations.deploy.making import Answers, make_plan
from railweave.operations.deploy.moments import Cut
from railweave.operations.deploy.plan import Plan
from railweave.operations.deploy.waves import Wave
from railweave.systems import system
from railweave.systems.junos.read import parsed, printed
from tests.conftest import EXAMPLES
from tests.model.config.line_switch import Lines, LineSwitch, Manual
from tests.model.config.manuals import EOS, FRR
from tests.model.config.test_sonic_patch import patched
from tests.operations.deploy.junos_box import JunosBox, as_set
from tests.operations.deploy.test_mixed import texts
from tests.operations.deploy.test_moments import NO_EFFECT, configs_of, designed

SEEDS, COUNT = (1, 2), 40
LEAST_CALLED_NOTHING = 0.9
DRAWN_EXAMPLES = (
    "h100-rlb", "h100-rlb-8up", "multitenancy-lab", "evpn-server-isolation", "evpn-gpu-isolation", "evpn-functional", "two-planes",
    "frontend-mixed", "mi300x-leaf-24", "aidc-three-fabrics", "dci-50km",
)  # fmt: skip
SYSTEMS = ("junos", "eos", "sonic", "frr")
PURELY_READ = ("junos", "eos")
"""The systems whose files hold every field that routing needs."""
Document = dict[str, Any]
Texts = dict[str, dict[str, str]]
Draw = Callable[[Document, Network, random.Random], bool]
"""Changes a fabric file, whose network is given; False if the file has no such subject."""


def _fabric(document: Document, rng: random.Random) -> Document:
    return document["fabrics"][rng.choice(list(document["fabrics"]))]


def _setting(key: str, *values: object) -> Draw:
    """Give a key below a fabric, or below ``management``, one of some values."""

    def draw(document: Document, _: Network, rng: random.Random) -> bool:
        *above, last = key.split(".")
        place = document if above[0] == "management" else _fabric(document, rng)
        for name in above:
            place = place.setdefault(name, {})
        place[last] = copy.deepcopy(rng.choice(values))
        return True

    return draw


def _in_fabric(key: str, *values: object) -> Draw:
    """Give a key at the top of a fabric one of some values."""

    def draw(document: Document, _: Network, rng: random.Random) -> bool:
        _fabric(document, rng)[key] = copy.deepcopy(rng.choice(values))
        return True

    return draw


def _of_tenants(change: Callable[[dict[str, Any], random.Random], bool]) -> Draw:
    def draw(document: Document, _: Network, rng: random.Random) -> bool:
        tenants = next((fabric["tenants"] for fabric in document["fabrics"].values() if fabric.get("tenants")), None)
        return tenants is not None and change(tenants, rng)

    return draw


def _of_a_tenant(key: str, value: object) -> Draw:
    def change(tenants: dict[str, Any], rng: random.Random) -> bool:
        tenants[rng.choice(list(tenants))][key] = value
        return True

    return _of_tenants(change)


def _moved_member(taker: str = "") -> Callable[[dict[str, Any], random.Random], bool]:
    """Move a member to a different tenant, or to the tenant ``taker``, which is new."""

    def change(tenants: dict[str, Any], rng: random.Random) -> bool:
        giver = rng.choice(list(tenants))
        members = [member for name in tenants[giver].get("members", ()) for member in _names(name)]
        takers = [taker] if taker else [name for name in tenants if name != giver]
        if len(members) < 2 or not takers:
            return False
        moved = rng.choice(members)
        tenants[giver]["members"] = [name for name in members if name != moved]
        tenants.setdefault(rng.choice(takers), {}).setdefault("members", []).append(moved)
        return True

    return change


def _removed_tenant(tenants: dict[str, Any], rng: random.Random) -> bool:
    del tenants[rng.choice(list(tenants))]
    return bool(tenants)


def _names(words: str) -> list[str]:
    """The servers, or NICs of servers, of a name with one range of servers."""
    match = re.match(r"([^:[]*)\[(\d+)-(\d+)\](.*)", words)
    if match is None:
        return [words]
    before, first, last, after = match.groups()
    return [f"{before}{number:0{len(first)}d}{after}" for number in range(int(first), int(last) + 1)]


def _added_stripe(document: Document, _: Network, rng: random.Random) -> bool:
    topology = _fabric(document, rng)["topology"]
    stripes = topology.get("stripes")
    topology["stripes"] = stripes + 1 if isinstance(stripes, int) else [*(stripes or ()), "added"]
    return True


def _added_server(document: Document, _: Network, rng: random.Random) -> bool:
    document["servers"].append(copy.deepcopy(rng.choice(document["servers"])) | {"names": "added-01"})
    return True


def _removed_server(document: Document, _: Network, rng: random.Random) -> bool:
    group = rng.choice(document["servers"])
    names = _names(group["names"])
    gone = rng.choice(names)
    document["servers"] = [other for other in document["servers"] if other is not group]
    document["servers"] += [copy.deepcopy(group) | {"names": name} for name in names if name != gone]
    return len(names) > 1


def _drained(role: str) -> Draw:
    """Drain a switch of a role, or a link."""

    def draw(document: Document, network: Network, rng: random.Random) -> bool:
        names = [switch.name for switch in network.switches if switch.role == role]
        links = sorted({f"{cable.a.device}--{cable.b.device}" for cable in network.cables if cable.kind == "fabric"})
        there = links if role == "link" else names
        if there:
            document["status"] = {rng.choice(there): "drained"}
        return bool(there)

    return draw


SILENT: dict[str, Draw] = {
    "NTP": _setting("management.ntp", ["172.20.0.9"], ["172.20.0.3", "172.20.0.9"], []),
    "SNMP": _setting("management.snmp", {"location": "hall 2"}, {"contact": "noc@example.net"}),
    "syslog": _setting("management.syslog", [{"host": "172.20.0.11"}], []),
    "DNS": _setting("management.dns", ["172.20.0.12"]),
    "banner": _setting("management.banner", "keep out"),
    "description": lambda *_: True,
}
"""Subjects that move nothing. Descriptions are changed in the running texts, by hand."""
MOVING: dict[str, Draw] = {
    "server pool": _setting("addressing.server_pool", "fc01::/16", "10.64.0.0/10"),
    "local prefixes": _setting("addressing.local_prefixes", ["fc00::/15", "fd00::/16"]),
    "router ids": _setting("pools.router_id", "10.77.0.0/24"),
    "leaf AS numbers": _setting("pools.leaf_asn", "4210000000-4210000100"),
    "spine AS numbers": _setting("pools.spine_asn", "4220000000-4220000100"),
    "link addresses": _setting("pools.fabric_links", "fd00:beef::/48", "10.248.0.0/14"),
    "peering": _setting("underlay.peering", "numbered", "auto-discovered"),
    "route targets": _setting("overlay.route_target", "64513:{tenant*100}"),
    "route distinguishers": _setting("overlay.route_distinguisher", "{router_id}:{tenant*7}"),
    "VNIs": _setting("overlay.vni", "30001-39999"),
    "VTEP family": _setting("overlay.vtep", "ipv6", "ipv4"),
    "a tenant's VNI": _of_a_tenant("vni", 4711),
    "a tenant's route target": _of_a_tenant("route_target", "64999:7"),
    "new tenant": _of_tenants(_moved_member("tenant-new")),
    "removed tenant": _of_tenants(_removed_tenant),
    "moved member": _of_tenants(_moved_member()),
    "path colors": _in_fabric("colors", [{"name": "green"}, {"name": "blue"}, {"name": "red"}, {"name": "violet"}], [{"name": "one"}]),
    "load balancing": _setting("load_balancing.mode", "ecmp", "dlb-flowlet", "dlb-per-packet", "spray"),
    "MTU": _in_fabric("mtu", {"fabric": 9100}, {"irb": 8900}),
    "class": _setting("qos.classes.bulk", {"queue": 1, "dscp": [18], "transmit_percent": 5}),
    "DSCP": _setting("qos.classes.no-loss", {"dscp": [24, 26]}, {"dscp": [26]}),
    "BFD": _setting("underlay.bfd", {"minimum_interval": "500ms"}, {"multiplier": 5}),
    "overlay BFD": _setting("overlay.bfd", {"multiplier": 5}),
    "graceful restart": _setting("underlay.graceful_restart", True),
    "ECMP width": _setting("underlay.maximum_ecmp", 8, 32),
    "added stripe": _added_stripe,
    "added server": _added_server,
    "removed server": _removed_server,
    "drained spine": _drained("spine"),
    "drained leaf": _drained("leaf"),
    "drained link": _drained("link"),
}  # fmt: skip
"""Subjects that may move something."""
_DESCRIPTION = re.compile(r'(?<=description)("?:? "?)([\w:/. -]+)(?=[";\n])')


@dataclass(frozen=True)
class Drawn:
    """A drawn change: the network before, the network after with its fabric file, and what runs before."""

    name: str
    moves_nothing: bool
    old: Network
    new: Network
    path: Path
    running: Texts


def drawn(folder: Path, rng: random.Random) -> Drawn | None:
    """Draw a change. None if the example has no such subject, or its design is refused or equal."""
    example, nos = rng.choice(DRAWN_EXAMPLES), rng.choice(SYSTEMS)
    subjects = SILENT if rng.random() < 0.3 else MOVING
    subject = rng.choice(list(subjects))
    document: Document = yaml.safe_load((EXAMPLES / f"{example}.yaml").read_text())
    try:
        old, _ = designed(folder, "old", example, nos, document)
        changed = copy.deepcopy(document)
        if not subjects[subject](changed, old, rng):
            return None
        new, path = designed(folder, "new", example, nos, changed)
    except InputError:
        return None
    wanted = texts(new)
    running = wanted | texts(old)  # a switch that is only in the new design has come up with it (`deploy ztp`)
    running = {name: running[name] for name in wanted}
    if subject == "description":
        running = {
            name: {file: _described(text, rng) for file, text in there.items()} if rng.random() < 0.6 else there
            for name, there in running.items()
        }
    if running == wanted:
        return None
    return Drawn(f"{example} on {nos}, {subject}", subjects is SILENT, old, new, path, running)


def _described(text: str, rng: random.Random) -> str:
    """The text with one description changed."""
    places = list(_DESCRIPTION.finditer(text))
    if not places:
        return text
    start, end = rng.choice(places).span(2)
    cable = f"cable {rng.randrange(1000)}"
    if text[end] == ";":  # Junos prints two words in quotes
        cable = f'"{cable}"'
    return text[:start] + cable + text[end:]


def typed(change: DeviceChange, running: Mapping[str, str]) -> dict[str, str]:
    """What a device runs after the commands of a change were given to it.

    Raises ``AssertionError`` if the device refuses a command, or if the result differs from the plan.
    """
    after = dict(running)
    for file, commands in change.commands.items():
        given, wanted = "\n".join(str(line) for line in commands), change.target[file]
        if change.system == "junos":
            box = JunosBox(as_set(running[file]))
            for call in (f"<load-configuration>{escape(given)}</load-configuration>", "<commit-configuration/>"):
                answer = box(ET.fromstring(call)) or ""  # noqa: S314 - our own text
                assert "<ok/>" in answer, answer
            after[file] = printed("junos.conf", parsed("junos.conf", "\n".join(box.running)).nodes)
            same = sorted(as_set(after[file])) == sorted(as_set(wanted))
        elif file in system(change.system).beneath(blank_config(change.system)):
            after[file], same = (
                wanted,
                True,
            )  # tests/systems/frr/test_host.py and labs carry out the commands of the host
        elif file.endswith(".json"):
            operations = [operation for operation in commands if isinstance(operation, dict)]
            tables = patched(json.loads(running[file]), list(operations))
            after[file] = json.dumps(tables) if operations else wanted
            same = json.loads(after[file]) == json.loads(wanted)
        else:
            manual = EOS if change.system == "eos" else FRR
            switch = _line_switch(change.system, file, running[file], replace(manual, undone=()))
            switch.type([str(line) for line in commands])
            after[file] = _shown(switch.lines, manual)
            shown, target = (_line_switch(change.system, file, text, manual) for text in (after[file], wanted))
            same = shown.said() == target.said()
        assert same, f"{change.device} {file}: the commands do not give what the plan says: {given}"
    return after


def _line_switch(nos: str, file: str, text: str, manual: Manual) -> LineSwitch:
    reader = system(nos).reader
    assert reader is not None
    switch = LineSwitch(manual)
    switch.load(sections(reader.parsed(file, text).nodes))
    return switch


def _shown(lines: Lines, manual: Manual, depth: int = 0) -> str:
    """Lines as a system shows them, each section with the line that closes it."""
    closers = {"address-family": "exit-address-family", "vni": "exit-vni"} if manual is FRR else {}
    text = ""
    for line, inside in lines.items():
        text += f"{' ' * depth}{line}\n"
        if isinstance(inside, str):
            text += f"{inside}\n{dict(manual.texts)[line]}\n"
        elif inside is not None:
            text += _shown(inside, manual, depth + 3) + f"{' ' * depth}{closers.get(line.split()[0], 'exit')}\n"
    return text


Place = tuple[str, str, str]
"""A device, a table ("": outside VRFs) and a prefix."""
Tables = dict[Place, frozenset[str]]
"""Where each place is sent: links, ``local``, or the leaves of an overlay. Unreachable places are left out."""


@dataclass
class Standing:
    """The network as its switches run it."""

    network: Network
    designs: dict[str, DeviceConfig]
    texts: Texts
    configs: dict[str, DeviceConfig] = field(default_factory=dict[str, DeviceConfig])

    def __post_init__(self) -> None:
        for name in self.texts:
            self._read(name)

    def commit(self, change: DeviceChange) -> None:
        """Carry out the change of a device."""
        self.texts[change.device] = typed(change, self.texts[change.device])
        self._read(change.device)

    def _read(self, name: str) -> None:
        design = self.designs[name]
        reader = system(design.nos).reader
        if design.nos in PURELY_READ and reader is not None:
            self.configs[name] = _cabled(reader.read(self.texts[name]).config, design)
        else:
            self.configs[name] = running_configs(self.network, {name: self.texts[name]}, self.designs)[name]

    def tables(self) -> Tables | str:
        """The routes of all switches, or the reason why they do not settle."""
        try:
            return _tables(ControlPlane(self.configs.values(), self.network.absent).routes())
        except UnsettledError as error:
            return str(error)


def _tables(routes: Routes) -> Tables:
    tables: Tables = {}
    for device in routes.fibs:
        for prefix in routes.prefixes:
            links = routes.next_hops(device, prefix)
            if links or routes.is_local(device, prefix):
                tables[device, "", prefix] = frozenset(links or ("local",))
    for (device, vrf), mask in routes.holds.items():
        for prefix, held in zip(routes.prefixes, mask.tolist(), strict=True):
            if held:
                tables[device, f"VRF {vrf}", prefix] = frozenset({"held"})
    for (device, vrf), prefixes in routes.shared.exits.items():
        for prefix in prefixes:
            tables[device, f"VRF {vrf}", prefix] = frozenset(routes.shared.leaves(device, vrf, prefix))
    return tables


def differences(change: Drawn, plan: Plan) -> Iterator[str]:
    """Carry a plan out device by device. Yield each difference between the effects that it states and the routes."""
    standing = Standing(
        change.new, configs_of(change.new), {name: dict(there) for name, there in change.running.items()}
    )
    was = standing.tables()
    history, between = [was], list[list[Tables]]()
    for number, wave in enumerate(plan.waves, 1):
        states: list[Tables | str] = []
        for name in wave.devices:
            standing.commit(plan.changed[name])
            states.append(standing.tables())
        now = states[-1]
        unsettled = [state for state in (was, *states) if isinstance(state, str)]
        if bool(unsettled) > bool(wave.effect.effects.unsettled):
            yield f"wave {number}: {unsettled[0]}, which the plan does not state"
        if any(NO_EFFECT in line for line in wave.risks) and any(state != was for state in states):
            yield f"wave {number}: no effect stated, and routes move"
        if not isinstance(was, str) and not isinstance(now, str):
            cuts = (*wave.effect.cuts, *(plan.waves[number - 2].effect.cuts if number > 1 else ()))
            yield from (f"wave {number}: {line}" for line in _moves(wave, cuts, was, now))
        history.append(now)
        between.append([state for state in states[:-1] if not isinstance(state, str)])
        was = now
    if all(not isinstance(state, str) for state in history):
        yield from _cuts(change, plan, [state for state in history if not isinstance(state, str)], between)


def _moves(wave: Wave, cuts: tuple[Cut, ...], was: Tables, now: Tables) -> Iterator[str]:
    """Yield each prefix that a wave loses, gains or moves and whose devices the plan does not state. A cut states both its loss and its return."""
    real: dict[str, dict[str, set[str]]] = {"lost": {}, "gained": {}, "moved": {}}
    for place in was.keys() | now.keys():
        device, _, prefix = place
        kind = "lost" if place not in now else "gained" if place not in was else "moved"
        if was.get(place) != now.get(place):
            real[kind].setdefault(prefix, set()).add(device)
    cut = {part for each in cuts for prefix in each.prefixes for part in re.split(", later | of ", prefix)}
    for kind, stated in (("lost", wave.effect.effects.lost), ("gained", wave.effect.effects.gained), ("moved", wave.effect.effects.moved)):  # fmt: skip
        for prefix in sorted(real[kind].keys() | stated.keys()):
            routes, words = real[kind].get(prefix, set()), set(stated.get(prefix, ()))
            if routes != words and (words or prefix not in cut or kind == "moved"):
                yield f"{kind} {prefix}: by routes at {sorted(routes)[:4]}, by the plan at {sorted(words)[:4]}"


def _cuts(change: Drawn, plan: Plan, history: list[Tables], between: list[list[Tables]]) -> Iterator[str]:
    """Yield the differences in what is cut: reached by servers before and after the plan, or the wave, and not meanwhile."""
    old = configs_of(change.old)
    with_servers = {
        name for name in history[0] if (config := old.get(name[0])) is None or config.gateways or config.vrfs
    }
    sources = {device for device, *_ in with_servers} or set(old)
    in_vrfs = {(device, prefix) for tables in (history[0], history[-1]) for device, table, prefix in tables if table}

    def reached(*states: Tables) -> set[Place]:
        """What servers reach in each of these states, but for what their own leaf has."""
        return {
            (device, table, prefix)
            for device, table, prefix in set.intersection(*(set(state) for state in states))
            if device in sources and (table or (device, prefix) not in in_vrfs)
        }

    for number, wave in enumerate(plan.waves, 1):
        lasting = reached(history[0], history[-1]) - set(history[number])
        brief = {
            place
            for state in between[number - 1]
            for place in reached(history[number - 1], history[number]) - set(state)
        }
        for real, when in ((lasting, True), (brief, False)):
            stated = {
                (*place.partition(" ")[::2], prefix.partition(", later")[0].partition(" of ")[0])
                for cut in wave.effect.cuts
                if bool(cut.until) is when
                for prefix, places in cut.prefixes.items()
                for place in places
            }
            missing = sorted(real - stated)
            surplus = sorted(place for place in stated - real if when and place in reached(history[0], history[-1]))
            for places, words in ((missing, "cut and not stated"), (surplus, "stated as cut")):
                if places:
                    yield f"wave {number}: {words}{'' if when else ', meanwhile'}: {places[0]} and {len(places) - 1} more"


@dataclass(frozen=True)
class Result:
    """The result of a drawn change: the differences, whether every wave was called without effect, and the processor seconds."""

    change: Drawn
    wrong: tuple[str, ...]
    called_nothing: bool
    seconds: float

    def lines(self) -> Iterator[str]:
        """The result as lines, with the first differences."""
        words = "no effect" if self.called_nothing else "effects"
        yield f"{self.change.name}: {words}, {len(self.wrong)} wrong ({self.seconds:.1f} s)"
        yield from (f"    {line[:400]}" for line in self.wrong[:6])


def results(seed: int, count: int) -> Iterator[Result]:
    """Draw changes by a seed, plan each and carry it out."""
    rng = random.Random(seed)  # noqa: S311 - no secret
    while count:
        with tempfile.TemporaryDirectory() as folder:
            change = drawn(Path(folder), random.Random(rng.getrandbits(64)))  # noqa: S311 - no secret
            if change is None:
                continue
            count -= 1
            start = time.process_time()
            with in_force(change.new.catalog):
                plan = make_plan(change.path, change.new, Answers(change.running))
                nothing = all(NO_EFFECT in line for wave in plan.waves for line in wave.risks)
                try:
                    wrong = tuple(differences(change, plan))
                except AssertionError as error:
                    wrong = (str(error),)
            yield Result(change, wrong, nothing, time.process_time() - start)


def main(words: list[str]) -> int:
    """Try the changes of each seed, print each result, and return 1 if a stated effect is wrong."""
    good = True
    for seed in map(int, words or map(str, SEEDS)):
        silent: list[bool] = []
        for number, result in enumerate(results(seed, COUNT), 1):
            for line in result.lines():
                print(f"seed {seed} {number:>2}: {line}", flush=True)
            silent += [result.called_nothing] if result.change.moves_nothing else []
            good &= not result.wrong
        print(f"seed {seed}: {sum(silent)} of {len(silent)} changes that move nothing are called so")
        good &= sum(silent) >= LEAST_CALLED_NOTHING * len(silent)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
