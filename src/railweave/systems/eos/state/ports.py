"""Ports of an EOS switch: links, errors, FEC, optics, queues, PFC and its watchdog."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from railweave.model.state.device_state import Watchdog
from railweave.model.state.ports import Errors, Fec, InterfaceState, Lane, Optic, PfcCounters, PortQueues, Queue

if TYPE_CHECKING:
    from railweave.model.state.values import Answers, Value


def interfaces(answers: Answers) -> dict[str, InterfaceState] | None:
    """Every interface of ``show interfaces``, with the counters and FEC that other answers have of it."""
    answer = answers.tree("interfaces")
    if answer is None:
        return None
    errors, discards = answers.tree("interface-errors"), answers.tree("interface-discards")
    phy, drops = answers.tree("phy"), answers.tree("chip-drops")
    addresses = _addresses(answers.tree("addresses-ipv6"), answers.tree("addresses-ipv4"))
    found: dict[str, InterfaceState] = {}
    for name, one in answer.one("interfaces").entries():
        status = one.one("interfaceStatus").text()
        line = one.one("lineProtocolStatus").text()
        bandwidth = one.one("bandwidth").number()
        counters = one.one("interfaceCounters")
        up = None if line is None else line == "up"
        found[name] = InterfaceState(
            name,
            admin_up=None if status is None else status != "disabled",
            oper_up=up,
            reason=None if up else status,
            description=one.one("description").text(),
            speed_gbps=bandwidth / 1e9 if bandwidth else None,
            lanes=one.one("lanes").integer() or None,
            mtu=one.one("mtu").integer(),
            mac=one.one("physicalAddress").mac(),
            addresses=addresses.get(name),
            flaps=counters.one("linkStatusChanges").integer(),
            last_change=one.one("lastStatusChangeTimestamp").number(),
            errors=_errors(name, errors, discards, drops, counters),
            fec=_fec(phy.one("interfacePhyStatuses", name)) if phy else Fec(),
            in_bytes=counters.one("inOctets").integer(),
            out_bytes=counters.one("outOctets").integer(),
        )
    return found


def _addresses(ipv6: Value | None, ipv4: Value | None) -> dict[str, tuple[str, ...]]:
    """The addresses of each interface that ``show ipv6 interface`` and ``show ip interface`` list."""
    found: dict[str, tuple[str, ...]] = {}
    for name, one in ipv6.one("interfaces").entries() if ipv6 else ():
        found[name] = _texts([*one.all("addresses"), one.one("linkLocal")])
    for name, one in ipv4.one("interfaces").entries() if ipv4 else ():
        given = one.one("interfaceAddress")
        found[name] = found.get(name, ()) + _texts([given.one("primaryIp"), *given.all("secondaryIpsOrderedList")])
    return found


def _texts(entries: list[Value]) -> tuple[str, ...]:
    found = (one.one("address").text() for one in entries if one.there)
    return tuple(text for text in found if text is not None)


def _errors(name: str, errors: Value | None, discards: Value | None, drops: Value | None, counters: Value) -> Errors:
    here = errors.one("interfaceErrorCounters", name) if errors else counters
    lost = discards.one("interfaces", name) if discards else counters
    chip = drops.one("ethernet", name, "count", "drop").one("rxMmuDrop").integer() if drops else None
    return Errors(
        in_errors=here.first("inErrors", "totalInErrors").integer(),
        out_errors=here.first("outErrors", "totalOutErrors").integer(),
        in_discards=lost.one("inDiscards").integer(),
        out_discards=lost.one("outDiscards").integer(),
        in_crc=here.one("fcsErrors").integer(),
        in_resource=chip,
    )


def _fec(status: Value) -> Fec:
    """The FEC of the first PHY that has any: a port may pass through several."""
    for one in status.all("phyStatuses"):
        fec = one.one("fec")
        if fec.there or one.one("preFecBer").there:
            return Fec(
                mode=fec.first("encoding", "mode").text(),
                corrected=fec.one("correctedCodewords", "value").integer(),
                uncorrected=fec.one("uncorrectedCodewords", "value").integer(),
                pre_fec_ber=one.one("preFecBer", "value").number(),
            )
    return Fec()


def optics(answers: Answers) -> dict[str, Optic] | None:
    """Optics by the port of each lane, as EOS has them; a port without one has nothing but a name."""
    answer, thresholds, slots = answers.tree("optics"), answers.tree("optics-thresholds"), answers.tree("inventory")
    if answer is None and slots is None:
        return None
    found: dict[str, Optic] = {}
    for name, one in answer.one("interfaces").entries() if answer else []:
        present = one.one("mediaType").there
        levels = (one.one("txPower").number(), one.one("rxPower").number(), one.one("txBias").number())
        lanes = () if levels == (None, None, None) else (Lane(1, levels[0], levels[1], levels[2]),)
        limits = thresholds.one("interfaces", name, "parameters") if thresholds else None
        found[name] = Optic(
            present=present,
            kind=one.one("mediaType").text(),
            serial=one.one("vendorSn").text(),
            temperature_c=one.one("temperature").number(),
            voltage_v=one.one("voltage").number(),
            lanes=_channels(limits) or lanes if limits else lanes,
            rx_low_dbm=limits.one("rxPower", "threshold", "lowAlarm").number() if limits else None,
            tx_low_dbm=limits.one("txPower", "threshold", "lowAlarm").number() if limits else None,
        )
    for slot, one in slots.one("xcvrSlots").entries() if slots else []:
        model = one.one("modelName").text()
        names = [name for name in found if _in_slot(name, slot)] or [f"Ethernet{slot}"]
        for name in names:
            found[name] = replace(
                found.get(name, Optic()),
                present=model is not None,
                vendor=one.one("mfgName").text(),
                part=model,
                serial=one.one("serialNum").text(),
            )
    return found


def _in_slot(name: str, slot: str) -> bool:
    """Whether a port is in a cage: ``Ethernet5`` and ``Ethernet5/1`` are in slot 5."""
    return name == f"Ethernet{slot}" or name.startswith(f"Ethernet{slot}/")


def _channels(limits: Value) -> tuple[Lane, ...]:
    """The light of each lane, where the answer has it by channel."""
    sent = dict(limits.one("txPower", "channels").entries())
    heard = dict(limits.one("rxPower", "channels").entries())
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
            number: PfcCounters(one.one("rxFrames").integer(), one.one("txFrames").integer())
            for priority, one in port.one("priorities").entries()
            if (number := _number(priority)) is not None
        }
        for name, port in answer.one("interfaces").entries()
    }


def watchdog(answer: Value | None) -> dict[str, dict[int, Watchdog]] | None:
    """The PFC watchdog by port and queue. EOS leaves out ports that never stood: they are absent here too."""
    if answer is None:
        return None
    found: dict[str, dict[int, Watchdog]] = {}
    for name, port in answer.one("interfaces").entries():
        found[name] = {}
        for queue, one in port.one("txQueues").entries():
            number = _number(queue)
            if number is not None:
                stuck, ended = one.one("stuckCount").integer(), one.one("recoveryCount").integer()
                storming = stuck > ended if stuck is not None and ended is not None else None
                found[name][number] = Watchdog(stuck, ended, storming)
    return found


def queues(answer: Value | None, marks: Value | None) -> dict[str, PortQueues] | None:
    """Drops by port and traffic class, and ECN marks by port and queue."""
    if answer is None and marks is None:
        return None
    found: dict[str, dict[int, Queue]] = {}
    for name, port in answer.one("egressQueueCounters", "interfaces").entries() if answer else []:
        for label, one in port.one("ucastQueues", "trafficClasses").entries():
            number = _number(label, "TC")
            if number is not None:
                points = [point for _, point in one.one("dropPrecedences").entries()]
                found.setdefault(name, {})[number] = Queue(
                    label,
                    sent=_sum(points, "enqueuedPackets"),
                    dropped=_sum(points, "droppedPackets"),
                )
    for name, port in marks.one("intfQueueCounters").entries() if marks else []:
        for label, one in port.one("queueCounters").entries():
            number = _number(label)
            if number is not None:
                here = found.setdefault(name, {})
                here[number] = replace(here.get(number, Queue()), ecn_marked=one.integer())
    return {name: PortQueues(egress, {}) for name, egress in found.items()}


def _sum(points: list[Value], key: str) -> int | None:
    """The sum over drop precedences; None where none of them has the counter."""
    counts = [count for one in points if (count := one.one(key).integer()) is not None]
    return sum(counts) if counts else None
