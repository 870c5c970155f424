"""The state of an EOS switch: what is asked of it, and what the answers say.

Forms are those that ANTA, NAPALM and SuzieQ read, whose test data are public; what none of them shows is in ``NOT_READ``.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from railweave.model.state.device_state import Alarm, Clock, Commit, DeviceState, Identity, Watchdog
from railweave.model.state.ports import Errors, Fec, InterfaceState, Lane, Optic, PfcCounters, PortQueues, Queue
from railweave.model.state.protocols import IsisAdjacency
from railweave.model.state.question import CONFIGURATION, DEFAULT_VRF, Form, Question, about
from railweave.systems.eos.state import protocols

if TYPE_CHECKING:
    from collections.abc import Iterable

    from railweave.model.device.model import DeviceConfig
    from railweave.model.state.values import Answers, Value


_LEVELS = {"level-1": 1, "level-2": 2, "level-1-2": 3}


def adjacencies(answer: Value | None) -> tuple[IsisAdjacency, ...] | None:
    """The adjacencies of ``show isis neighbors vrf all``, of every VRF and instance: the form that ANTA reads."""
    if answer is None:
        return None
    return tuple(
        IsisAdjacency(
            interface,
            one.get("hostname").text() or system,
            one.get("state").lower(),
            _LEVELS.get(one.get("level").lower() or ""),
        )
        for _, vrf in answer.get("vrfs").entries()
        for _, instance in vrf.get("isisInstances").entries()
        for system, neighbor in instance.get("neighbors").entries()
        for one in neighbor.all("adjacencies")
        if (interface := one.get("interfaceName").text()) is not None
    )


def interfaces(answers: Answers) -> dict[str, InterfaceState] | None:
    """Every interface of ``show interfaces``, with the counters and FEC that other answers have of it."""
    answer = answers.tree("interfaces")
    if answer is None:
        return None
    errors, discards = answers.tree("interface-errors"), answers.tree("interface-discards")
    phy, drops = answers.tree("phy"), answers.tree("chip-drops")
    addresses = _addresses(answers.tree("addresses-ipv6"), answers.tree("addresses-ipv4"))
    found: dict[str, InterfaceState] = {}
    for name, one in answer.get("interfaces").entries():
        status = one.get("interfaceStatus").text()
        line = one.get("lineProtocolStatus").text()
        bandwidth = one.get("bandwidth").number()
        counters = one.get("interfaceCounters")
        up = None if line is None else line == "up"
        found[name] = InterfaceState(
            name,
            admin_up=None if status is None else status != "disabled",
            oper_up=up,
            reason=None if up else status,
            description=one.get("description").text(),
            speed_gbps=bandwidth / 1e9 if bandwidth else None,
            lanes=one.get("lanes").integer() or None,
            mtu=one.get("mtu").integer(),
            mac=one.get("physicalAddress").mac(),
            addresses=addresses.get(name),
            flaps=counters.get("linkStatusChanges").integer(),
            last_change=one.get("lastStatusChangeTimestamp").number(),
            errors=_errors(name, errors, discards, drops, counters),
            fec=_fec(phy.get("interfacePhyStatuses", name)) if phy else Fec(),
            in_bytes=counters.get("inOctets").integer(),
            out_bytes=counters.get("outOctets").integer(),
        )
    return found


def _addresses(ipv6: Value | None, ipv4: Value | None) -> dict[str, tuple[str, ...]]:
    """The addresses of each interface that ``show ipv6 interface`` and ``show ip interface`` list."""
    found: dict[str, tuple[str, ...]] = {}
    for name, one in ipv6.get("interfaces").entries() if ipv6 else ():
        found[name] = _texts([*one.all("addresses"), one.get("linkLocal")])
    for name, one in ipv4.get("interfaces").entries() if ipv4 else ():
        given = one.get("interfaceAddress")
        found[name] = found.get(name, ()) + _texts([given.get("primaryIp"), *given.all("secondaryIpsOrderedList")])
    return found


def _texts(entries: list[Value]) -> tuple[str, ...]:
    found = (one.get("address").text() for one in entries if one.there)
    return tuple(text for text in found if text is not None)


def _errors(name: str, errors: Value | None, discards: Value | None, drops: Value | None, counters: Value) -> Errors:
    here = errors.get("interfaceErrorCounters", name) if errors else counters
    lost = discards.get("interfaces", name) if discards else counters
    chip = drops.get("ethernet", name, "count", "drop").get("rxMmuDrop").integer() if drops else None
    return Errors(
        in_errors=here.first("inErrors", "totalInErrors").integer(),
        out_errors=here.first("outErrors", "totalOutErrors").integer(),
        in_discards=lost.get("inDiscards").integer(),
        out_discards=lost.get("outDiscards").integer(),
        in_crc=here.get("fcsErrors").integer(),
        in_resource=chip,
    )


def _fec(status: Value) -> Fec:
    """The FEC of the first PHY that has any: a port may pass through several."""
    for one in status.all("phyStatuses"):
        fec = one.get("fec")
        if fec.there or one.get("preFecBer").there:
            return Fec(
                mode=fec.first("encoding", "mode").text(),
                corrected=fec.get("correctedCodewords", "value").integer(),
                uncorrected=fec.get("uncorrectedCodewords", "value").integer(),
                pre_fec_ber=one.get("preFecBer", "value").number(),
            )
    return Fec()


def optics(answers: Answers) -> dict[str, Optic] | None:
    """Optics by the port of each lane, as EOS has them; a port without one has nothing but a name."""
    answer, thresholds, slots = answers.tree("optics"), answers.tree("optics-thresholds"), answers.tree("inventory")
    if answer is None and slots is None:
        return None
    found: dict[str, Optic] = {}
    for name, one in answer.get("interfaces").entries() if answer else []:
        present = one.get("mediaType").there
        levels = (one.get("txPower").number(), one.get("rxPower").number(), one.get("txBias").number())
        lanes = () if levels == (None, None, None) else (Lane(1, levels[0], levels[1], levels[2]),)
        limits = thresholds.get("interfaces", name, "parameters") if thresholds else None
        found[name] = Optic(
            present=present,
            kind=one.get("mediaType").text(),
            serial=one.get("vendorSn").text(),
            temperature_c=one.get("temperature").number(),
            voltage_v=one.get("voltage").number(),
            lanes=_channels(limits) or lanes if limits else lanes,
            rx_low_dbm=limits.get("rxPower", "threshold", "lowAlarm").number() if limits else None,
            tx_low_dbm=limits.get("txPower", "threshold", "lowAlarm").number() if limits else None,
        )
    for slot, one in slots.get("xcvrSlots").entries() if slots else []:
        model = one.get("modelName").text()
        names = [name for name in found if _in_slot(name, slot)] or [f"Ethernet{slot}"]
        for name in names:
            found[name] = replace(
                found.get(name, Optic()),
                present=model is not None,
                vendor=one.get("mfgName").text(),
                part=model,
                serial=one.get("serialNum").text(),
            )
    return found


def _in_slot(name: str, slot: str) -> bool:
    """Whether a port is in a cage: ``Ethernet5`` and ``Ethernet5/1`` are in slot 5."""
    return name == f"Ethernet{slot}" or name.startswith(f"Ethernet{slot}/")


def _channels(limits: Value) -> tuple[Lane, ...]:
    """The light of each lane, where the answer has it by channel."""
    sent = dict(limits.get("txPower", "channels").entries())
    heard = dict(limits.get("rxPower", "channels").entries())
    return tuple(
        Lane(
            int(channel),
            sent[channel].number() if channel in sent else None,
            heard[channel].number() if channel in heard else None,
        )
        for channel in sorted({*sent, *heard})
        if channel.isascii() and channel.isdecimal() and len(channel) < 4
    )


def _number(name: str, prefix: str = "") -> int | None:
    digits = name.removeprefix(prefix)
    return int(digits) if digits.isascii() and digits.isdecimal() and len(digits) < 4 else None


def pfc(answer: Value | None) -> dict[str, dict[int, PfcCounters]] | None:
    """PFC frames by port and priority."""
    if answer is None:
        return None
    return {
        name: {
            number: PfcCounters(one.get("rxFrames").integer(), one.get("txFrames").integer())
            for priority, one in port.get("priorities").entries()
            if (number := _number(priority)) is not None
        }
        for name, port in answer.get("interfaces").entries()
    }


def watchdog(answer: Value | None) -> dict[str, dict[int, Watchdog]] | None:
    """The PFC watchdog by port and queue. EOS leaves out ports that never stood: they are absent here too."""
    if answer is None:
        return None
    found: dict[str, dict[int, Watchdog]] = {}
    for name, port in answer.get("interfaces").entries():
        found[name] = {}
        for queue, one in port.get("txQueues").entries():
            number = _number(queue)
            if number is not None:
                stuck, ended = one.get("stuckCount").integer(), one.get("recoveryCount").integer()
                storming = stuck > ended if stuck is not None and ended is not None else None
                found[name][number] = Watchdog(stuck, ended, storming)
    return found


def queues(answer: Value | None, marks: Value | None) -> dict[str, PortQueues] | None:
    """Drops by port and traffic class, and ECN marks by port and queue."""
    if answer is None and marks is None:
        return None
    found: dict[str, dict[int, Queue]] = {}
    for name, port in answer.get("egressQueueCounters", "interfaces").entries() if answer else []:
        for label, one in port.get("ucastQueues", "trafficClasses").entries():
            number = _number(label, "TC")
            if number is not None:
                points = [point for _, point in one.get("dropPrecedences").entries()]
                found.setdefault(name, {})[number] = Queue(
                    label,
                    sent=_sum(points, "enqueuedPackets"),
                    dropped=_sum(points, "droppedPackets"),
                )
    for name, port in marks.get("intfQueueCounters").entries() if marks else []:
        for label, one in port.get("queueCounters").entries():
            number = _number(label)
            if number is not None:
                here = found.setdefault(name, {})
                here[number] = replace(here.get(number, Queue()), ecn_marked=one.integer())
    return {name: PortQueues(egress, {}) for name, egress in found.items()}


def _sum(points: list[Value], key: str) -> int | None:
    """The sum over drop precedences; None where none of them has the counter."""
    counts = [count for one in points if (count := one.get(key).integer()) is not None]
    return sum(counts) if counts else None


NOT_READ = {
    "interfaces.*.fec.mode": "no public document shows the form of `show interfaces error-correction`",
    "queues.*.ingress": "drops are counted by queue, not by priority on input",
    "advertising": "`show ipv6 nd ra interface` has no documented JSON",
    "pools": "`show platform trident mmu queue profile` is text that differs by chip",
    "queues.*.peak_bytes": "`show queue-monitor length` is text without a documented form",
    "dynamic load balancing": "no public document shows a command for its state",
    "qos maps": "`show qos maps` and `show qos interfaces` have no documented JSON: the running configuration says what is bound",
    "ipv6_neighbors.*.state": "`show ipv6 neighbors` shows no state",
    "vrfs.*.targets": "`show bgp evpn instance` has those of VLANs alone; what wrong route targets do is seen: prefixes that a VRF lacks, or that are another tenant's; `drift` compares the targets",
}


def _json(name: str, command: str, *, revision: int | None = None, optional: bool = False) -> Question:
    return Question(name, "json", {"ssh": f"{command} | json", "eapi": command}, optional, revision)


def _text(name: str, command: str, *, optional: bool = False) -> Question:
    form: Form = "text"
    return Question(name, form, {"ssh": f"{command} | no-more", "eapi": command}, optional)


def questions(config: DeviceConfig, asked: Iterable[tuple[str, str]] = (), *, tables: bool = False) -> list[Question]:
    """What is asked of a switch: ``asked`` are routes by VRF and prefix, ``tables`` asks for whole tables of routes too."""
    found = [
        _json("version", "show version"),
        _json("uptime", "show uptime"),
        _text("ntp", "show ntp status", optional=True),
        _json("lldp-neighbors", "show lldp neighbors detail"),
        _json("interfaces", "show interfaces"),
        _json("addresses-ipv6", "show ipv6 interface", optional=True),
        _json("addresses-ipv4", "show ip interface", optional=True),
        _json("interface-errors", "show interfaces counters errors"),
        _json("interface-discards", "show interfaces counters discards"),
        _json("phy", "show interfaces phy detail", revision=2, optional=True),
        _json("optics", "show interfaces transceiver"),
        _json("optics-thresholds", "show interfaces transceiver dom thresholds", optional=True),
        _json("inventory", "show inventory", revision=2),
        _json("temperature", "show system environment temperature", optional=True),
        _json("power", "show system environment power", optional=True),
        _json("neighbors", "show ipv6 neighbors", optional=True),
        _json("sessions", "show configuration sessions detail", optional=True),
    ]
    if config.bgp is not None:
        found += [
            _json("bgp", "show bgp summary vrf all"),
            _json("bgp-neighbors", "show bgp neighbors vrf all", revision=2),
            _json("bfd", "show bfd peers detail", optional=True),
        ]
    if config.isis is not None:
        found.append(_json("isis", "show isis neighbors vrf all"))
    if config.qos is not None:
        found += [
            _json("pfc", "show interfaces priority-flow-control counters detail"),
            _json("watchdog", "show priority-flow-control counters watchdog", optional=True),
            _json("ecn", "show qos interfaces ecn counters queue", optional=True),
            _json("queues", "show interfaces counters queue detail", optional=True),
            _json("chip-drops", "show platform trident counters", optional=True),
        ]
    if config.overlay is not None:
        found += [
            _json("vrfs", "show vrf"),
            _json("vnis", "show vxlan vni", optional=True),
            _json("evpn-prefixes", "show bgp evpn route-type ip-prefix ipv6", optional=True),
            _json("evpn-prefixes-ipv4", "show bgp evpn route-type ip-prefix ipv4", optional=True),
            _json("evpn-macs", "show bgp evpn route-type mac-ip", optional=True),
        ]
    for vrf, prefix in asked:
        kind, family = ("ipv6", "ipv6 unicast") if ":" in prefix else ("ip", "ipv4 unicast")
        found.append(_json(about("route", vrf, prefix), f"show {kind} route vrf {vrf} {prefix}", optional=True))
        found.append(_json(about("path", vrf, prefix), f"show bgp {family} {prefix} vrf {vrf}", optional=True))
    for vrf in (DEFAULT_VRF, *(one.name for one in config.vrfs)):
        found += [
            _json(f"static-ipv6@{vrf}", f"show ipv6 route vrf {vrf} static", optional=True),
            _json(f"static-ipv4@{vrf}", f"show ip route vrf {vrf} static", optional=True),
        ]
    for vrf in (DEFAULT_VRF, *(one.name for one in config.vrfs)) if tables else ():
        found += [
            _json(f"routes-ipv6@{vrf}", f"show ipv6 route vrf {vrf}"),
            _json(f"routes-ipv4@{vrf}", f"show ip route vrf {vrf}"),
        ]
    return [*found, _text(CONFIGURATION, "show running-config")]


def read(answers: Answers) -> DeviceState:
    """What the answers of a switch say. Nothing is raised: what cannot be read is noted."""
    return DeviceState(
        answers.device,
        "eos",
        frozenset(answers.texts),
        identity=_identity(answers),
        clock=_clock(answers),
        commit=_commit(answers),
        alarms=_alarms(answers),
        neighbors=protocols.lldp(answers.tree("lldp-neighbors")),
        interfaces=interfaces(answers),
        optics=optics(answers),
        ipv6_neighbors=protocols.ipv6_neighbors(answers.tree("neighbors")),
        bgp=protocols.sessions(answers.tree("bgp"), answers.tree("bgp-neighbors")),
        bfd=protocols.bfd_sessions(answers.tree("bfd")),
        isis=adjacencies(answers.tree("isis")),
        routes=protocols.routes(answers),
        not_forwarding=protocols.not_forwarding(answers),
        vrfs=protocols.vrfs(answers.tree("vrfs"), answers.tree("vnis")),
        vnis=protocols.vnis(answers.tree("vnis")),
        evpn=protocols.evpn(
            [answers.tree("evpn-prefixes"), answers.tree("evpn-prefixes-ipv4")], answers.tree("evpn-macs")
        ),
        queues=queues(answers.tree("queues"), answers.tree("ecn")),
        pfc=pfc(answers.tree("pfc")),
        watchdog=watchdog(answers.tree("watchdog")),
        notes=answers.notes,
    )


def _identity(answers: Answers) -> Identity | None:
    version = answers.tree("version")
    if version is None:
        return None
    return Identity(
        model=version.get("modelName").text(),
        serial=version.get("serialNumber").text(),
        version=version.get("version").text(),
        booted=version.get("bootupTimestamp").number(),
    )


def _clock(answers: Answers) -> Clock | None:
    uptime, ntp = answers.tree("uptime"), answers.text("ntp")
    if uptime is None and ntp is None:
        return None
    # The first word of the first line (ANTA's VerifyNTP): "synchronised to NTP server" or "unsynchronised".
    first = re.match(r"\s*(un)?synchroni[sz]ed\b", ntp[:200]) if ntp is not None else None
    if ntp is not None and first is None:
        answers.note("ntp", "", "its first line does not say whether the clock is synchronised")
    return Clock(uptime.get("currentTime").number() if uptime else None, first[1] is None if first else None)


def _commit(answers: Answers) -> Commit | None:
    """Whether a change waits to be confirmed; EOS does not tell who made the last one."""
    open_sessions = answers.tree("sessions")
    if open_sessions is None:
        return None
    states = [one.get("state").text() for _, one in open_sessions.get("sessions").entries()]
    return Commit(pending=open_sessions.get("commitTimerSessionName").there or "pendingCommitTimer" in states)


def _alarms(answers: Answers) -> tuple[Alarm, ...] | None:
    temperature, power = answers.tree("temperature"), answers.tree("power")
    if temperature is None and power is None:
        return None
    found: list[Alarm] = []
    status = temperature.get("systemStatus").text() if temperature else None
    if status not in {None, "temperatureOk"}:
        found.append(Alarm(None, f"temperature: {status}"))
    for name, supply in power.get("powerSupplies").entries() if power else ():
        state = supply.get("state").text()
        if state not in {None, "ok"}:
            found.append(Alarm(None, f"power supply {name}: {state}"))
    return tuple(found)
