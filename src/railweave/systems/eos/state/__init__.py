"""The state of an EOS switch: the queries, and the conversion of EOS's answers.

The layout of the answers is known from ANTA, NAPALM and SuzieQ, whose code and test data are public. Fields that none
of these three shows are listed in ``NOT_READ``.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from railweave.model.state.device_state import Alarm, Clock, Commit, Identity, Watchdog
from railweave.model.state.field_maps import Fields, column, numbered, rows
from railweave.model.state.ports import Errors, Fec, InterfaceState, Lane, Optic, PfcCounters, PortQueues, Queue
from railweave.model.state.question import CONFIGURATION
from railweave.systems.eos.state import protocols
from railweave.systems.state_table import Ask, Forms, Part, StateTable, asks

if TYPE_CHECKING:
    from railweave.model.state.values import Answers, Value

PROBES: dict[str, str] = {}
NOT_READ = {
    "kernel": "the switching chip spreads packets over routes, not the kernel",
    "interfaces.*.fec.mode": "no public document shows the form of `show interfaces error-correction`",
    "interfaces.*.bridged": "no question asks for the VLANs of ports; `drift` compares what is configured",
    "queues.*.ingress": "drops are counted by queue, not by priority on input",
    "advertising": "`show ipv6 nd ra interface` has no documented JSON",
    "pools": "`show platform trident mmu queue profile` is text that differs by chip",
    "queues.*.peak_bytes": "`show queue-monitor length` is text without a documented form",
    "dynamic load balancing": "no public document shows a command for its state",
    "qos maps": "`show qos maps` and `show qos interfaces` have no documented JSON: the running configuration says what is bound",
    "route_counts": "the form of `show ipv6 route summary` is not published: whole tables are asked for, however large",
    "ipv6_neighbors.*.state": "`show ipv6 neighbors` shows no state",
    "ipv4_neighbors.*.state": "`show ip arp` shows no state",
    "vrfs.*.targets": "`show bgp evpn instance` has those of VLANs alone; what wrong route targets do is seen: prefixes that a VRF lacks, or that are another tenant's; `drift` compares the targets",
}

FORMS: Forms = {
    "json": ("json", {"ssh": "{} | json", "eapi": "{}"}),
    "text": ("text", {"ssh": "{} | no-more", "eapi": "{}"}),
}

ASKED = (
    Ask("version", "show version"),
    Ask("uptime", "show uptime"),
    Ask("ntp?", "show ntp status", by="text"),
    Ask("lldp-neighbors", "show lldp neighbors detail"),
    Ask("interfaces", "show interfaces"),
    Ask("addresses-ipv6?", "show ipv6 interface"),
    Ask("addresses-ipv4?", "show ip interface"),
    Ask("interface-errors", "show interfaces counters errors"),
    Ask("interface-discards", "show interfaces counters discards"),
    Ask("phy?", "show interfaces phy detail", revision=2),
    Ask("optics", "show interfaces transceiver"),
    Ask("optics-thresholds?", "show interfaces transceiver dom thresholds"),
    Ask("inventory", "show inventory", revision=2),
    Ask("temperature?", "show system environment temperature"),
    Ask("power?", "show system environment power"),
    Ask("neighbors?", "show ipv6 neighbors"),
    Ask("neighbors-ipv4", "show ip arp"),
    Ask("filters-ipv6", "show ipv6 access-lists summary"),
    Ask("filters-ipv4", "show ip access-lists summary"),
    Ask("sessions?", "show configuration sessions detail"),
    Ask("bgp", "show bgp summary vrf all", "bgp"),
    Ask("bgp-neighbors", "show bgp neighbors vrf all", "bgp", revision=2),
    Ask("bfd?", "show bfd peers detail", "bfd"),
    Ask("isis", "show isis neighbors vrf all", "isis"),
    *asks(
        "qos",
        "",
        ("pfc", "show interfaces priority-flow-control counters detail"),
        ("watchdog?", "show priority-flow-control counters watchdog"),
        ("ecn?", "show qos interfaces ecn counters queue"),
        ("queues?", "show interfaces counters queue detail"),
        ("chip-drops?", "show platform trident counters"),
    ),
    *asks(
        "overlay",
        "",
        ("vrfs", "show vrf"),
        ("vnis?", "show vxlan vni"),
        ("evpn-prefixes?", "show bgp evpn route-type ip-prefix ipv6"),
        ("evpn-prefixes-ipv4?", "show bgp evpn route-type ip-prefix ipv4"),
        ("evpn-macs?", "show bgp evpn route-type mac-ip"),
    ),
    Ask("route{about}?", "show {ip} route vrf {vrf} {prefix}", each="route"),
    Ask("path{about}?", "show bgp {family} unicast {prefix} vrf {vrf}", each="route"),
    Ask("static-ipv6@{vrf}?", "show ipv6 route vrf {vrf} static", each="vrf"),
    Ask("static-ipv4@{vrf}?", "show ip route vrf {vrf} static", each="vrf"),
    Ask("routes-{family}@{vrf}", "show {ip} route vrf {vrf}", each="tables"),
    Ask(CONFIGURATION, "show running-config", by="text"),
)


_PORT = Fields(
    InterfaceState,
    "admin_up=interfaceStatus oper_up=lineProtocolStatus reason=interfaceStatus description speed_gbps=bandwidth "
    "lanes mtu mac=physicalAddress:mac flaps=interfaceCounters/linkStatusChanges last_change=lastStatusChangeTimestamp "
    "in_bytes=interfaceCounters/inOctets out_bytes=interfaceCounters/outOctets",
    admin_up=lambda status: None if (text := status.text()) is None else text != "disabled",
    oper_up=lambda status: None if (text := status.text()) is None else text == "up",
    speed_gbps=lambda bandwidth: rate / 1e9 if (rate := bandwidth.number()) else None,
    lanes=lambda lanes: lanes.integer() or None,
)
_ERRORS = Fields(Errors, "in_errors=inErrors|totalInErrors out_errors=outErrors|totalOutErrors in_crc=fcsErrors")
_LOST = Fields(Errors, "in_discards=inDiscards out_discards=outDiscards")
_FEC = Fields(
    Fec,
    "mode=fec/encoding|fec/mode corrected=fec/correctedCodewords/value uncorrected=fec/uncorrectedCodewords/value "
    "pre_fec_ber=preFecBer/value",
)


def _interfaces(
    answer: Value, errors: Value, discards: Value, phy: Value, drops: Value, ipv6: Value, ipv4: Value
) -> dict[str, InterfaceState]:
    """Return the interfaces by name, from ``show interfaces`` (``answer``) and these answers, all of which may be missing:

    - ``errors``, ``discards``: error and discard counters. If missing, the counters of ``answer`` are used.
    - ``phy``: the state and counters of forward error correction.
    - ``drops``: the chip's counters, for packets dropped because the buffer is full.
    - ``ipv6``, ``ipv4``: the addresses (``show ipv6 interface``, ``show ip interface``).
    """
    addresses = _addresses(ipv6, ipv4)
    made: dict[str, InterfaceState] = {}
    for row, (name,) in rows(answer, "interfaces/*"):
        counters = row.get("interfaceCounters")
        lost = discards.get("interfaces", name) if discards.there else counters
        seen = _ERRORS(
            errors.get("interfaceErrorCounters", name) if errors.there else counters,
            in_resource=drops.get("ethernet", name, "count", "drop", "rxMmuDrop").integer(),
        )
        # A port may have several PHYs: the first one that reports FEC counts.
        ways = phy.get("interfacePhyStatuses", name).all("phyStatuses")
        fec = next((way for way in ways if way.get("fec").there or way.get("preFecBer").there), None)
        port = _PORT(
            row,
            name=name,
            addresses=addresses.get(name),
            errors=_LOST.onto(seen, lost),
            fec=Fec() if fec is None else _FEC(fec),
        )
        made[name] = replace(port, reason=None) if port.oper_up else port
    return made


def _addresses(ipv6: Value, ipv4: Value) -> dict[str, tuple[str, ...]]:
    """Return the addresses of each interface, from ``show ipv6 interface`` and ``show ip interface``. The result is empty if either answer is missing."""
    made: dict[str, tuple[str, ...]] = {}
    if not (ipv6.there and ipv4.there):
        return made
    for answer, path, lone in (
        (ipv6, "addresses[]/address", ("linkLocal",)),
        (ipv4, "interfaceAddress/secondaryIpsOrderedList[]/address", ("interfaceAddress", "primaryIp")),
    ):
        for row, (name,) in rows(answer, "interfaces/*"):
            single = row.get(*lone, "address").text()
            several, alone = column(path)(row), (single,) if single else ()
            made[name] = made.get(name, ()) + (alone + several if answer is ipv4 else several + alone)
    return made


_OPTIC = Fields(
    Optic, "present=mediaType:there kind=mediaType serial=vendorSn temperature_c=temperature voltage_v=voltage"
)
_LIMITS = Fields(Optic, "rx_low_dbm=rxPower/threshold/lowAlarm tx_low_dbm=txPower/threshold/lowAlarm")
_SLOT = Fields(Optic, "vendor=mfgName part=modelName serial=serialNum")


def _optics(answer: Value, slots: Value, thresholds: Value) -> dict[str, Optic]:
    """Return the optics by port. If EOS lists each lane of a port under its own name, the result has all these names.

    - ``answer``: the light of each port.
    - ``slots``: the inventory of modules.
    - ``thresholds``: the limits of each module and, for a module with several lanes, the light of each lane.
    """
    made: dict[str, Optic] = {}
    for row, (name,) in rows(answer, "interfaces/*"):
        levels = [row.get(key).number() for key in ("txPower", "rxPower", "txBias")]
        limits = thresholds.get("interfaces", name, "parameters")
        lanes = _channels(limits) or (() if levels == [None] * 3 else (Lane(1, *levels),))
        made[name] = _LIMITS.onto(_OPTIC(row, lanes=lanes), limits)
    for row, (slot,) in rows(slots, "xcvrSlots/*"):
        # Ethernet5 and Ethernet5/1 are both in slot 5.
        names = [name for name in made if f"{name}/".startswith(f"Ethernet{slot}/")] or [f"Ethernet{slot}"]
        for name in names:
            module = _SLOT(row)
            made[name] = replace(
                made.get(name, Optic()),
                present=module.part is not None,
                vendor=module.vendor,
                part=module.part,
                serial=module.serial,
            )
    return made


def _channels(limits: Value) -> tuple[Lane, ...]:
    """Return the sent and received light of each lane; empty if the answer does not have values for each lane.

    ``limits`` is the port's part of the answer about thresholds, which also has the light of each lane.
    """
    ways = [{key: element for element, (key,) in rows(limits, f"{way}/channels/*")} for way in ("txPower", "rxPower")]
    return tuple(
        Lane(int(channel), *(way[channel].number() if channel in way else None for way in ways))
        for channel in sorted({*ways[0], *ways[1]})
        if channel.isascii() and channel.isdecimal() and len(channel) < 4
    )


_PFC = numbered("interfaces/*/priorities/*", Fields(PfcCounters, "received=rxFrames sent=txFrames"))
_STUCK = numbered("interfaces/*/txQueues/*", Fields(Watchdog, "detected=stuckCount recovered=recoveryCount"))


def _pfc(answer: Value) -> dict[str, dict[int, PfcCounters]]:
    """Return the counters of received and sent PFC frames, by port and priority.

    ``answer`` is that of ``show interfaces priority-flow-control counters detail``.
    """
    return {name: {} for _, (name,) in rows(answer, "interfaces/*")} | _PFC(answer)


def _watchdog(answer: Value) -> dict[str, dict[int, Watchdog]]:
    """Return the state of the PFC watchdog by port and queue, from ``show priority-flow-control counters watchdog``.

    Queues that were never stuck are missing, because EOS does not list them.
    """
    made: dict[str, dict[int, Watchdog]] = {name: {} for _, (name,) in rows(answer, "interfaces/*")}
    for name, queues in _STUCK(answer).items():
        for number, watchdog in queues.items():
            if watchdog.detected is not None and watchdog.recovered is not None:
                watchdog = replace(watchdog, storming=watchdog.detected > watchdog.recovered)  # noqa: PLW2901 - the same, completed
            made[name][number] = watchdog
    return made


_QUEUES = numbered(
    "egressQueueCounters/interfaces/*/ucastQueues/trafficClasses/*",
    Fields(
        Queue, "name=$1", sent=lambda row: _sum(row, "enqueuedPackets"), dropped=lambda row: _sum(row, "droppedPackets")
    ),
    "TC",
)
_MARKS = numbered("intfQueueCounters/*/queueCounters/*", Fields(Queue, "ecn_marked=."))


def _queues(answer: Value, marks: Value) -> dict[str, PortQueues]:
    """Return, by port, the counters of its queues: sent and dropped packets by traffic class, and ECN marks by queue.

    ``answer`` has the packets (``show interfaces counters queue detail``), ``marks`` the ECN marks.
    """
    made = _QUEUES(answer)
    for name, queues in _MARKS(marks).items():
        here = made.setdefault(name, {})
        for number, queue in queues.items():
            here[number] = replace(here.get(number, Queue()), ecn_marked=queue.ecn_marked)
    return {name: PortQueues(egress, {}) for name, egress in made.items()}


def _sum(traffic_class: Value, key: str) -> int | None:
    """Return the sum of the counter ``key`` of a traffic class over all drop precedences, or None if no precedence has the counter."""
    points = [point.get(key).integer() for point, _ in rows(traffic_class, "dropPrecedences/*")]
    counts = [count for count in points if count is not None]
    return sum(counts) if counts else None


_IDENTITY = Fields(Identity, "model=modelName serial=serialNumber version booted=bootupTimestamp")


def _clock(answers: Answers) -> Clock | None:
    uptime, ntp = answers.tree("uptime"), answers.text("ntp")
    if uptime is None and ntp is None:
        return None
    # The first word of the first line (ANTA's VerifyNTP): "synchronised to NTP server" or "unsynchronised".
    first = re.match(r"\s*(un)?synchroni[sz]ed\b", ntp[:200]) if ntp is not None else None
    if ntp is not None and first is None:
        answers.note("ntp", "", "its first line does not say whether the clock is synchronised")
    return Clock(uptime.get("currentTime").number() if uptime else None, first[1] is None if first else None)


def _commit(open_sessions: Value) -> Commit:
    """Return the state of commits, from ``show configuration sessions detail`` (``open_sessions``).

    In the result, ``pending`` is True if a commit waits for confirmation. EOS does not show who made the last change.
    """
    waits = "pendingCommitTimer" in column("sessions/*/state")(open_sessions)
    return Commit(pending=open_sessions.get("commitTimerSessionName").there or waits)


def _alarms(temperature: Value, power: Value) -> tuple[Alarm, ...]:
    states = [("temperature", temperature.get("systemStatus").text(), "temperatureOk")]
    states += [
        (f"power supply {name}", supply.get("state").text(), "ok") for supply, (name,) in rows(power, "powerSupplies/*")
    ]
    return tuple(Alarm(None, f"{name}: {state}") for name, state, good in states if state not in {None, good})


PARTS: dict[str, Part] = {
    "identity": (_IDENTITY, "version"),
    "clock": (_clock, ""),
    "commit": (_commit, "sessions"),
    "alarms": (_alarms, "temperature! power!"),
    "neighbors": (protocols.lldp, "lldp-neighbors"),
    "interfaces": (
        _interfaces,
        "interfaces interface-errors+ interface-discards+ phy+ chip-drops+ addresses-ipv6+ addresses-ipv4+",
    ),
    "optics": (_optics, "optics inventory optics-thresholds+"),
    "ipv6_neighbors": (protocols.ipv6_neighbors, "neighbors"),
    "ipv4_neighbors": (protocols.ipv4_neighbors, "neighbors-ipv4"),
    "bgp": (protocols.sessions, "bgp bgp-neighbors"),
    "bfd": (protocols.bfd_sessions, "bfd"),
    "isis": (protocols.adjacencies, "isis"),
    "routes": (protocols.routes, ""),
    "not_forwarding": (protocols.not_forwarding, ""),
    "filters": (protocols.filters, "filters-ipv6 filters-ipv4"),
    "vrfs": (protocols.vrfs, "vrfs vnis+"),
    "vnis": (protocols.vnis, "vnis"),
    "evpn": (protocols.evpn, "evpn-prefixes! evpn-prefixes-ipv4! evpn-macs+"),
    "queues": (_queues, "queues ecn"),
    "pfc": (_pfc, "pfc"),
    "watchdog": (_watchdog, "watchdog"),
}

_TABLE = StateTable("eos", FORMS, ASKED, PARTS, NOT_READ)
questions, read = _TABLE.questions, _TABLE.read
