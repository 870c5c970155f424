"""Checks of devices: that they answer and match the design, and checks of their running configurations, clocks and alarms."""

from __future__ import annotations

import difflib
import re
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from railweave.analysis.checks import differs
from railweave.analysis.checks.devices import saved
from railweave.analysis.checks.differs import foremost, of_statement
from railweave.analysis.routing.control_plane import ControlPlane
from railweave.counting import counted
from railweave.errors import RailweaveError
from railweave.live.check.living import OF_COLOR, OF_PREFIX, Deviation, NetworkStates, Part
from railweave.live.check.ports import short
from railweave.live.check.sessions import carried
from railweave.model.config.gate import Gate
from railweave.model.findings.registry import Rule
from railweave.model.state.question import not_running
from railweave.systems import system

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

    from railweave.analysis.checks.causes import Cause
    from railweave.analysis.checks.devices import DeviceCheck
    from railweave.analysis.expect import Expected
    from railweave.analysis.routing.table import Routes
    from railweave.model.device.expected import OverlaySession, Session
    from railweave.model.device.model import DeviceConfig
    from railweave.model.findings import Finding
    from railweave.model.state.capture import Capture
    from railweave.model.state.device_state import Note

NOT_ASKED = "it was not asked"
"""The reason that is reported for a device that was not queried when the capture was taken."""

SILENT = Rule(
    "device-silent",
    "error",
    "living",
    "A device of the design did not answer.",
    why="the device's state is unknown, and its links and sessions are probably down",
    fix="check its power and management port; until it is installed or repaired, mark it planned or failed under "
    "`status:` in the fabric file",
    sometimes="info",
    asked=("servers.{server}.names", ".topology.{tier}"),
)
UNREAD = Rule(
    "answer-not-read",
    "info",
    "living",
    "railweave could not read a part of a device's answer.",
    why="this part was not compared with the design",
    fix="compare this part by hand; if the device runs a supported release, report the answer as a bug of railweave",
    sometimes="error",
    asked=("role.nos", "servers.{server}.model"),
)
UNANSWERED = Rule(
    "question-not-answered",
    "warning",
    "living",
    "A device did not answer a query.",
    why="the state that the answer would show was not compared with the design",
    fix="collect again (`railweave collect`), and check whether the login may run the command",
    asked=("role.nos", "servers.{server}.model"),
)
NAME = Rule(
    "host-name-differs",
    "error",
    "living",
    "The host name of a device differs from the name that the design gives to its address.",
    why="the address may belong to a different device",
    fix="compare serial numbers, then load the configuration of the right device",
    asked=("servers.{server}.names", ".naming.{role}"),
)
MODEL = Rule(
    "model-differs",
    "error",
    "living",
    "A device is of a different model than designed.",
    why="port names, buffers and limits depend on the model, so the designed configuration does not fit",
    fix="replace the device, or set its model under `overrides` and build again",
    asked=("role.device",),
)
SERIAL = Rule(
    "serial-differs",
    "warning",
    "living",
    "The serial number of a device differs from the inventory.",
    why="two devices may be swapped, or one was replaced",
    fix="read the label on the device; `railweave inventory fill` records the new number",
    asked=("inventory.serial.{device}",),
)
RELEASE = Rule(
    "release-differs",
    "warning",
    "living",
    "A device runs a different release than designed.",
    why="the release determines which features the design may use",
    fix="install the designed release, or set the running release in the fabric file (`release`) and build again",
    asked=("role.release",),
)
CLOCK = Rule(
    "clock-not-synchronized",
    "warning",
    "living",
    "A device's clock is synchronized with none of its time servers.",
    why="the logs of devices cannot be compared, and valid certificates may be rejected",
    fix="check the path to the time servers, and whether control-plane protection accepts their answers",
    asked=("management.ntp",),
)
ALARM = Rule(
    "alarm",
    "warning",
    "living",
    "A device reports an alarm.",
    why="the device itself has detected a fault",
    fix="follow the vendor's manual for this alarm",
    sometimes="info",
    asked=("role.device",),
)


CONFIGURATION = Rule(
    "configuration-differs",
    "error",
    "living",
    "The running configuration of a device has statements that differ from the design.",
    why="the settings in these statements are not as designed; devices that learn routes from this device may be "
    "affected too",
    fix="restore the designed statements (`railweave deploy`), or add the running statements to the fabric file "
    "(`railweave drift --adopt`)",
    sometimes="warning",
    asked=("role.nos",),
)
MOVED = Rule(
    "configuration-moved",
    "warning",
    "living",
    "The configuration of a device changed since the last look, but not by `railweave deploy`.",
    why="the running configuration is no longer the designed one, and the next deployment would revert the change",
    fix=(
        "compare the configuration with the design: `railweave collect`, then `railweave drift`; adopt the "
        "change, or deploy the design again"
    ),
    asked=("role.nos",),
)


def identity(living: NetworkStates) -> Iterator[Deviation]:
    """Yield findings about devices that did not answer, and about the identity, clock and alarms that each device reports.

    ``living`` has the expected and the reported states.
    """
    yield from _silent(living)
    for server, host in living.servers():
        if host.host_name and short(host.host_name) != short(server.device):
            yield Deviation(NAME, server.device, f"calls itself {host.host_name}", server.because)
        yield from _asked(living, server.device, host.notes)
    for expected, state in living.pairs():
        wanted, reported = expected.identity, state.identity
        if reported is None:
            continue
        keys = wanted.because
        if reported.host_name and short(reported.host_name) != short(expected.device):
            yield Deviation(NAME, expected.device, f"calls itself {reported.host_name}", keys)
        if reported.model and not same_model(reported.model, wanted.model):
            yield Deviation(MODEL, expected.device, f"is a {reported.model}, the design has a {wanted.model}", keys)
        if reported.serial and wanted.serial and reported.serial != wanted.serial:
            description = f"has serial number {reported.serial}, the inventory has {wanted.serial}"
            yield Deviation(SERIAL, expected.device, description, keys)
        if reported.version and not same_release(reported.version, wanted.release):
            yield Deviation(
                RELEASE, expected.device, f"runs {reported.version}, the design names {wanted.release}", keys
            )
    for expected, state in living.pairs():
        if expected.clock and state.clock and state.clock.synchronized is False:
            servers = ", ".join(expected.clock.servers)
            yield Deviation(CLOCK, expected.device, f"its clock follows none of {servers}", expected.clock.because)
        for alarm in state.alarms or ():
            severity = "info" if alarm.severity in {"minor", "info", "informational"} else None
            yield Deviation(
                ALARM,
                expected.device,
                f"alarm{f' ({alarm.severity})' if alarm.severity else ''}: {alarm.text}",
                severity=severity,
            )
        yield from _asked(living, expected.device, state.notes, None if state.answered else "error")


def _silent(living: NetworkStates) -> Iterator[Deviation]:
    """Yield a finding for every device that should have answered but did not, and for every device that was not queried.

    ``living`` has the expected and the reported states.
    """
    because = {device: expected.identity.because for device, expected in living.expected.items()}
    because |= {device: server.because for device, server in living.servers_expected.items()}
    for device, keys in because.items():
        if device not in living.states and device not in living.hosts:
            why = living.silent.get(device, "")
            if why == NOT_ASKED:
                yield Deviation(SILENT, device, f"nothing is known of {device}: {why}", keys, severity="info")
                continue
            description = f"{device} did not answer{f': {why}' if why else ''}"
            broken: frozenset[Part] = frozenset([("device", device)])
            yield Deviation(SILENT, device, description, keys, breaks=broken)


def _asked(
    living: NetworkStates, device: str, notes: Iterable[Note], severity: Literal["error"] | None = None
) -> Iterator[Deviation]:
    """Yield a finding for each query that a device did not answer, and for each part of an answer that could not be read.

    ``notes`` are the parts that could not be read. ``severity`` replaces their usual severity; it is "error" if no answer could be read.
    ``living`` has the expected and the reported states.
    """
    for question, why in living.unanswered.get(device, {}).items():
        needs: frozenset[Part] = frozenset([("daemon", f"{device} {daemon}")] if (daemon := not_running(why)) else ())
        yield Deviation(UNANSWERED, device, f"{question}: {why}", needs=needs)
    for note in notes:
        where = ", ".join(filter(None, (note.question, note.place)))
        broken: frozenset[Part] = frozenset([("answers", device)] if severity else ())
        description = f"{where}: {note.what}" if where else note.what
        yield Deviation(UNREAD, device, description, breaks=broken, severity=severity)


def same_model(reported: str, designed: str) -> bool:
    """Return True if one model name contains the other, without case and punctuation: ``DCS-7060X6-64PE`` contains ``7060x6-64pe``."""
    plain, wanted = (re.sub(r"[^a-z0-9]", "", word.lower()) for word in (reported, designed))
    return wanted in plain or plain in wanted


def same_release(reported: str, designed: str) -> bool:
    """Return True if a reported release is the designed release, or if no release is designed.

    Devices report more detail: the design's 25.4R1 matches 25.4R1.12-EVO, but not 25.4R10.
    """
    return not designed or re.search(rf"(?<![0-9A-Za-z]){re.escape(designed)}(?![0-9])", reported) is not None


_MOST_STATEMENTS = 3
"""The most statements or lines that one finding names."""
_PORT = re.compile(r"interfaces?\b|irb\b|port\b|ethernet\b|vlan\b", re.IGNORECASE)
_POLICY = re.compile(
    r"route-map|prefix-list|policy|communit|as-path|aigp|maximum-paths|multipath|redistribute|\bnetwork\b|local-preference"
    r"|activate|allowas-in|next-hop|aggregate|add-path|\bimport\b|\bexport\b"
)
_STATIC = re.compile(r"^(?:ip|ipv6) route\b|static\b")
_TENANT = re.compile(r"\bvrfs?\b|\bvni\b|evpn|route-target|routing-instances|vxlan|advertise-all-vni", re.IGNORECASE)


def configurations(living: NetworkStates) -> Iterator[Deviation]:
    """Yield findings for each switch whose running configuration differs from the design, or has changed.

    A change since railweave last read the configuration is reported only if no statement differs from the design. If a daemon of a device
    does not run, the device shows only a part of its configuration and is not compared. ``living`` has the expected and the reported
    states.
    """
    for expected, _ in living.pairs():
        device = expected.device
        asked = living.unanswered.get(device, {})
        if any(not_running(why) for why in asked.values()):
            continue
        check, lines = living.configurations.get(device), living.moved.get(device, ())
        differs = False
        for deviation in _statements(expected, check) if check is not None else ():
            differs = True
            yield deviation
        if lines and not differs:
            shown = "; ".join(lines[:_MOST_STATEMENTS])
            more = f"; {len(lines) - _MOST_STATEMENTS} more lines" if len(lines) > _MOST_STATEMENTS else ""
            yield Deviation(MOVED, device, f"its configuration was changed: {shown}{more}", expected.identity.because)


def captured_configurations(capture: Capture, configs: Mapping[str, DeviceConfig]) -> dict[str, dict[str, str]]:
    """Return the texts of the running configurations in a capture, by switch and file path.

    Secrets are removed, and empty texts are left out. ``configs`` has the designed configuration of each switch.
    """
    gate = Gate()
    captured = {
        name: capture.configurations(name, tuple(system(config.nos).trees(config)))
        for name, config in configs.items()
        if name in capture.answers
    }
    texts = {
        name: {str(path): gate.text(name, text) for path, text in kept.items() if text.strip()}
        for name, kept in captured.items()
    }
    return {name: kept for name, kept in texts.items() if kept}


def configuration_parts(parts: Collection[str], captured: Iterable[str]) -> dict[str, bool]:
    """Return, for each part of a running configuration, True if the captured files contain it.

    ``parts`` are the names of the queries, one for each part. Files that were saved by hand have other names. Then the first parts count as
    contained, one for each file.
    """
    names = [Path(path).stem for path in captured]
    shown = {name for name in names if name in parts} or {*list(parts)[: len(names)]}
    return {name: name in shown for name in parts}


def compared_configurations(
    running: Mapping[str, dict[str, str]],
    earlier: Mapping[str, dict[str, str]],
    configs: Mapping[str, DeviceConfig],
) -> tuple[dict[str, DeviceCheck], dict[str, tuple[str, ...]]]:
    """Compare the running configurations of a capture with the design, and with an earlier capture.

    - ``running``, ``earlier``: the texts of each switch in the two captures (``captured_configurations``).
    - ``configs``: the designed configuration of each switch.

    Return the results of the comparison with the design, and the lines that changed since the earlier capture, both by
    switch. A switch that differed from the design before, and does not now, has no changed lines: its configuration was
    deployed or repaired.
    """
    checks = saved(configs, running) if running else {}
    moved = {
        name: changed
        for name, now in running.items()
        if name in earlier and (changed := changed_lines("".join(earlier[name].values()), "".join(now.values())))
    }
    if moved:  # a configuration that became the designed one was deployed, or repaired
        was = saved(configs, {name: earlier[name] for name in moved}, why=False)
        moved = {name: lines for name, lines in moved.items() if checks[name].findings or not was[name].findings}
    return checks, moved


def rerouted_by(
    configs: Mapping[str, DeviceConfig], running: Mapping[str, DeviceCheck], designed: Routes, absent: Iterable[str]
) -> Callable[[str, str], bool] | None:
    """Return a function of (device, prefix) that compares the routes of the running configurations with the designed routes.

    The function returns True if the device may have a different route to the prefix. ``rerouted_by`` returns None instead of the function
    if the routes cannot be computed, because a configuration could not be read or contains an unknown statement.

    ``designed`` are the routes of the design; ``absent`` are the devices that ``status:`` marks absent.
    """
    different = {name: check for name, check in running.items() if check.findings}
    changed = {name: check.config for name, check in different.items() if check.config is not None}
    if len(changed) < len(different) or any(check.unreadable or any(check.unread) for check in different.values()):
        return None
    try:
        actual = ControlPlane({**configs, **changed}.values(), absent).routes() if changed else designed
    except RailweaveError:  # routes that never settle, or a policy that is not understood
        return None
    twice = {prefix for prefix, count in Counter(actual.prefixes).items() if count > 1}
    stated = " ".join(finding.what for check in different.values() for finding in check.findings)
    links = {
        name: [session.link for group in config.bgp.groups for session in group.sessions if session.link]
        for name, config in configs.items()
        if config.bgp is not None
    }

    def rerouted(device: str, prefix: str) -> bool:
        if prefix not in designed.index or prefix not in actual.index or prefix in twice or prefix in stated:
            return True
        if actual.next_hops(device, prefix) != designed.next_hops(device, prefix):
            return True
        return any(
            actual.received.attributes((device, link), actual.index[prefix])
            != designed.received.attributes((device, link), designed.index[prefix])
            for link in links.get(device, ())
        )

    return rerouted


def changed_lines(old: str, new: str) -> tuple[str, ...]:
    """Return the lines that only one of two configuration texts has, with ``-`` before old lines and ``+`` before new lines.

    Lines that differ only in blanks are equal.
    """
    before, after = (list(map(str.rstrip, text.splitlines())) for text in (old, new))
    if before == after:
        return ()
    difference = difflib.unified_diff(before, after, n=0, lineterm="")
    return tuple(
        line for line in difference if line[0] in "+-" and not line.startswith(("---", "+++")) and line[1:].strip()
    )


_REQUIRED: tuple[tuple[str, tuple[str, ...]], ...] = (
    (r"name$", (".naming.{role}",)),
    (r".*(\.|^)(asn|local_as)$", ("overrides.devices.{device}.asn", ".pools.{role}_asn")),
    (r".*(as_lists|peer_as|peer_as_list)(\.|$)", (".underlay.peering",)),
    (r"overlay\.(.*\.)?bfd\.(minimum_interval|multiplier)$", (".overlay.bfd.{-1}",)),
    (r"overlay\.(.*\.)?bfd(\.|$)", (".overlay.bfd.enabled",)),
    (r".*(\.|^)bfd\.(minimum_interval|multiplier)$", (".underlay.bfd.{-1}",)),
    (r".*(\.|^)bfd(\.|$)", (".underlay.bfd.enabled",)),
    (r"bgp\.(communities|fabric_advertise|compare_aigp|groups\.(fabric_color|aigp)$)", OF_COLOR),
    (r"bgp\.policies\.terms\.(action\.(add_communities|aigp|local_preference)|match\.community)", OF_COLOR),
    (r"bgp\.(policies|prefix_lists|entry_lists|redistribute|default_accept)", (".addressing.local_prefixes",)),
    (r".*(import|export)_policy$", (".addressing.local_prefixes",)),
    (r"(bgp|isis|ospf)\.maximum_ecmp$", (".underlay.maximum_ecmp",)),
    (r".*(\.|^)router_id$|(overlay\.)?loopback$", ("overrides.devices.{device}.router_id", ".pools.router_id")),
    (r"management_(address|gateway)", ("overrides.devices.{device}.management_address", "management.pool")),
    (r"bgp\.(graceful_restart|ttl_security|authentication)", (".underlay.{1}",)),
    (r"isis|ospf", (".underlay.protocol",)),
    (r"bgp", (".underlay.peering",)),
    (r"interfaces\.macsec", (".topology.interconnect.macsec",)),
    (r"interfaces\.mtu$", (".mtu.{ports}",)),
    (r"gateways\.mtu$", (".mtu.irb",)),
    (r"interfaces\.pauses|qos\.profiles", ("qos.pfc.ports",)),
    (r"interfaces\.(vlan|native_vlan|unit_vlan|tagged)|gateways\.vlan", (".pools.vlan",)),
    (r"(vrfs|mac_vrf)\.(.*\.)?route_distinguisher", (".overlay.route_distinguisher",)),
    (r"(vrfs|mac_vrf)\.(.*\.)?(import_targets|export_targets|route_target)", (".overlay.route_target",)),
    (r"(vrfs|mac_vrf)\.(.*\.)?vni", (".overlay.vni",)),
    (r"vrfs|mac_vrf|(interfaces|gateways)\.vrf", (".tenants", ".tenant_slices.servers")),
    (r"overlay", (".overlay.vtep",)),
    (r"interfaces\.addresses", (".pools.fabric_links",)),
    (r"splits|interfaces", (".topology.link_speed",)),
    (r"gateways\.advertisements\.", (".router_advertisements.{2}",)),
    (r"gateways\.advertisements", (".addressing.server_mode",)),
    (r"gateways", OF_PREFIX),
    (r"qos\.buffers\.", ("qos.buffers.{2}",)),
    (r"qos\.watchdog", ("qos.pfc.watchdog",)),
    (r"qos\.xon", ("qos.pfc.xon_offset",)),
    (r"qos", ("qos.classes",)),
    (r"balancing", (".load_balancing.mode",)),
    (r"protection|management\.security", ("management.security",)),
    (r"management\.", ("management.{1}",)),
)
"""Pairs of a pattern and fields of the fabric file.

These fields determine each field of a switch's configuration that the pattern matches. The first matching pattern applies. A number in
braces is replaced by a part of the configuration's field: 0 is the first part, -1 the last. Names in braces are those of ``living._names``.
"""
_NO_EFFECT = ("role.nos",), ("role.extra",)
"""The fields of the fabric file for statements without a known effect.

The first tuple is for designed statements that the switch lacks or changes, the second for statements that only the switch has.
"""


def required(cause: Cause) -> tuple[str, ...]:
    """Return the paths of the fabric file's fields that determine a differing statement, such as ``.underlay.peering``.

    ``cause`` is the difference: the designed statement, the statement found, and the fields of the configuration that they set.
    """
    effect = next(iter(foremost(cause.fields, of_statement(cause.designed or cause.found))), None)
    asked = _NO_EFFECT[not cause.designed]
    if effect is None:
        return asked
    parts = effect.field.split(".")
    asked = next((asked for pattern, asked in _REQUIRED if re.match(pattern, effect.field)), asked)
    return tuple(re.sub(r"{(-?\d)}", lambda match: parts[int(match[1])], path) for path in asked)


def _statements(expected: Expected, check: DeviceCheck) -> Iterator[Deviation]:
    """Yield a finding for each group of statements that differ from the design, as ``check`` found them.

    The statements of a group have the same rule and affect the same parts of the network. ``expected`` is the designed state of the switch.
    """
    groups: dict[tuple[str, str, frozenset[Part]], list[Finding]] = {}
    asked: dict[str, tuple[str, ...]] = {}
    for cause, finding in check.causes:
        asked.setdefault(finding.id, required(cause))
        port, breaks = _reach(expected, cause)
        groups.setdefault((finding.id, port, frozenset() if finding.id == differs.TEXT.id else breaks), []).append(
            finding
        )
    for (id_, port, breaks), findings in groups.items():
        named = "; ".join(f"{finding.what} (line {finding.line})" for finding in findings[:_MOST_STATEMENTS])
        left_out = len(findings) - _MOST_STATEMENTS
        more = f"; and {counted(left_out, 'more statement')}" if left_out > 0 else ""
        description = f"{id_}: {named}{more}"
        yield Deviation(
            CONFIGURATION,
            expected.device,
            description,
            expected.identity.because,
            port,
            breaks=breaks,
            severity="error" if any(finding.severity == "error" for finding in findings) else "warning",
            depth=0 if port else None,
            asked=asked[id_],
        )
    for finding in check.unreadable:
        yield Deviation(CONFIGURATION, expected.device, finding.what, expected.identity.because, severity="warning")


def _reach(expected: Expected, cause: Cause) -> tuple[str, frozenset[Part]]:
    """Return the port, and the parts of the network, that the changed statement of ``cause`` affects.

    The port is empty if the statement configures no port. ``expected`` is the designed state of the switch.
    """
    device = expected.device
    statement = f"{cause.designed} / {cause.found}"
    words = {*re.split(r"[\s/]+", statement), *re.split(r"\s+", statement)}
    words |= {name for difference in cause.fields for name in difference.place}
    breaks: set[Part] = set()
    if _PORT.match(cause.designed or cause.found):
        links = {port.name: port.link for port in expected.ports}
        names = [*links, *(gateway.name for gateway in expected.gateways)]
        port = next((name for name in names if name in words or f"{name}.0" in words), "")
        if port:
            breaks = {("port", f"{device} {port}")}
            breaks |= {("session", links[port])} if links.get(port) else {("gateways", device)}
            return port, frozenset(breaks)
    sessions = [*expected.sessions, *expected.overlay_sessions]
    routed = any(word in statement for word in ("bgp", "neighbor", "bfd", "isis"))
    if _TENANT.search(statement):
        breaks |= {("tenants", "")}
    if _STATIC.search(statement):
        breaks |= {("statics", device), ("routing", "")}
    if routed or _POLICY.search(statement):
        breaks |= {("routing", ""), ("tenants", "")}
    if routed and not re.search(r"route-map|prefix-list|policy|maximum-paths|redistribute|\bnetwork\b", statement):
        named = [each for each in sessions if words & _names(each)]
        breaks |= {carried(each.session) for each in named or sessions}
    return "", frozenset(breaks)


def _names(session: Session | OverlaySession) -> set[str]:
    """Return the names by which a configuration refers to a session: its interface, the neighbor's address, its group."""
    names = {session.session.interface, str(session.session.peer_address or "")}
    group = getattr(session, "group", None)
    return {name for name in (*names, group.name if group is not None else "") if name}
