"""Checks for other configuration files that override or extend the files that railweave wrote.

The system reads such files before, after or together with railweave's. Each outcome names the file and line, the key,
and the file whose value takes effect.
"""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, NamedTuple

from ..machine import CannotTellError
from .modules import stacks
from .outcome import failed, of_server, ok, warning

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ..machine import Machine
    from .outcome import Outcome
    from .server import Server, WantedNic

_BY_US = "written by railweave"
_NETPLAN = ("/run/netplan", "/etc/netplan", "/lib/netplan")
_NETWORKD = (
    "/etc/systemd/network",
    "/run/systemd/network",
    "/usr/local/lib/systemd/network",
    "/usr/lib/systemd/network",
)
_SYSCTL = ("/etc/sysctl.d", "/run/sysctl.d", "/usr/local/lib/sysctl.d", "/usr/lib/sysctl.d")
_UDEV = ("/etc/udev/rules.d", "/run/udev/rules.d", "/usr/local/lib/udev/rules.d", "/usr/lib/udev/rules.d")
_MODPROBE = ("/etc/modprobe.d", "/run/modprobe.d", "/usr/local/lib/modprobe.d", "/usr/lib/modprobe.d")
_UNITS = ("/etc/systemd/system", "/run/systemd/system", "/usr/local/lib/systemd/system", "/usr/lib/systemd/system")
"""The folders of systemd's units, in order of precedence; the constants above have the folders of other kinds of files.

If several folders have a file of the same name, only the file in the first of these folders is read.
"""

_OUR_UNITS = (
    "nic-qos.service",
    "nic-qos@.service",
    "nic-qos-resume.service",
    "acs-off.service",
    "railweave-host.service",
    "railweave-net.service",
)
_OUR_SYSCTL, _OUR_NAMES = "70-railweave.conf", "70-railweave-net.rules"


class _Value(NamedTuple):
    """A value in a configuration file. ``place`` has the keys that lead to the value, outermost first."""

    place: tuple[str, ...]
    text: str
    line: int


def _files(machine: Machine, folders: Iterable[str], ending: str) -> dict[str, str]:
    """Return the path of each file whose name has the ending, by file name, in the order in which the system reads the files.

    If several folders have a file of the same name, the first of the folders counts.
    """
    paths: dict[str, str] = {}
    for folder in folders:
        for name in machine.names(folder):
            if name.endswith(ending):
                paths.setdefault(name, f"{folder}/{name}")
    return dict(sorted(paths.items()))


def _texts(machine: Machine, files: dict[str, str]) -> Iterator[tuple[str, str, str]]:
    """Yield the name, path and text of each file in a result of ``_files``.

    If some files cannot be read, raise CannotTellError with their paths after the last file.
    """
    hidden: list[str] = []
    for name, path in files.items():
        text = machine.readable(path)
        if text is None:
            hidden.append(path)
        else:
            yield name, path, text
    if hidden:
        raise CannotTellError(f"{', '.join(hidden)} cannot be read")


def _present(machine: Machine, *paths: str) -> dict[str, str]:
    """Return the paths that exist, including files that cannot be read without root. Key and value are the same path."""
    return {path: path for path in paths if machine.readable(path) is not None or path in machine.denied}


def _yaml(text: str) -> list[_Value]:
    """Return the values of a netplan file, in block form or in flow form on one line. Each element of a list is a value."""
    values: list[_Value] = []
    above: list[tuple[int, str]] = []
    for number, raw in enumerate(text.splitlines(), 1):
        line = re.sub(r"(^|\s)#.*$", "", raw).rstrip()
        bare = line.lstrip()
        if not bare or bare == "---":
            continue
        indent = len(line) - len(bare)
        is_element = bare.startswith("- ")
        while above and (above[-1][0] > indent or (above[-1][0] == indent and not is_element)):
            above.pop()
        place = tuple(name for _, name in above)
        if is_element:
            values.append(_Value(place, bare[2:].strip(), number))
            continue
        name, colon, value = bare.partition(":")
        if not colon:
            continue
        above.append((indent, name.strip("'\" ")))
        values += _flow((*place, above[-1][1]), value.strip(), number)
    return values


def _flow(place: tuple[str, ...], value: str, line: int) -> Iterator[_Value]:
    yield _Value(place, value.strip("'\""), line)
    if value.startswith("{"):
        for part in re.split(r",(?![^\[{]*[\]}])", value.strip("{} ")):
            name, _, inner = part.partition(":")
            yield from _flow((*place, name.strip("'\" ")), inner.strip(), line)


def _settings(text: str) -> list[_Value]:
    """Return the settings of a file with ``[Section]`` headers and ``key=value`` lines, for systemd or NetworkManager."""
    section = ""
    values: list[_Value] = []
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.strip()
        if line.startswith("[") and line.endswith("]"):
            section = line[1:-1]
        elif "=" in line and line[0] not in "#;":
            name, _, value = line.partition("=")
            values.append(_Value((section, name.strip()), value.strip(), number))
    return values


_ADDED = ("addresses", "routes", "routing-policy", "nameservers")
"""The keys of netplan for which the values of all files are combined. For any other key, the last file wins."""


@of_server(
    "second-netplan",
    rule="Only railweave's netplan file configures the planned NICs.",
    why="netplan merges all files in alphabetical order: a later file replaces MTUs, and adds addresses, routes "
    "and rules.",
    how="/etc/netplan, /run/netplan, /lib/netplan",
    source="netplan(5); netplan-generate(8), on the order of files",
    root=True,
    design=True,
)
def second_netplan(server: Server) -> Iterator[Outcome]:
    """Check that no other netplan file has settings for a planned NIC."""
    files = _files(server.machine, _NETPLAN, ".yaml")
    texts = {name: server.machine.readable(path) or "" for name, path in files.items()}
    ours = {name: _yaml(text) for name, text in texts.items() if _BY_US in text}
    has = {value.place for values in ours.values() for value in values}
    our_name = max(ours, default="")
    clean = True
    for name, path, text in _texts(server.machine, files):
        if name in ours:
            continue
        for value, nic, key in _of_nics(server, _yaml(text)):
            clean = False
            at = f"{path}:{value.line}: {key or 'renderer'} {value.text}".strip()
            origin, remedy = "netplan.yaml", f"take it out of {path}, then sudo netplan apply"
            if not our_name or key.split(".")[-1] in _ADDED or value.place not in has:
                words = f"is added to what {our_name} has" if our_name else "is there without a file of ours"
                yield failed(f"{at} {words}", "our file alone", origin, remedy, nic)
            elif name > our_name:
                yield failed(f"{at} wins over {our_name}", "our file alone", origin, remedy, nic)
            else:
                yield warning(f"{at} loses to {our_name}", "our file alone", origin, remedy, nic)
    if clean:
        yield ok(f"{our_name or 'no file'} alone")


def _of_nics(server: Server, values: list[_Value]) -> Iterator[tuple[_Value, str, str]]:
    """Yield (value, NIC, key) for the values of a netplan file that concern planned NICs. NIC is the interface's name.

    The key is the interface's name in the netplan file, followed by the setting, such as ``eth0.mtu``. The setting ``renderer`` concerns
    all NICs, so NIC and key are empty for it.
    """
    matches: dict[tuple[str, ...], str] = {}
    for value in values:
        for nic in server.nics:
            kind = value.place[-1] if value.place else ""
            if value.place[-2:-1] == ("match",) and _matches(server.machine, nic, kind, value.text):
                matches[value.place[:-2]] = nic.netdev
            elif value.place[1:2] == ("ethernets",) and value.place[2:3] == (nic.netdev,):
                matches.setdefault(value.place[:3], nic.netdev)
    yielded: set[tuple[str, ...]] = set()
    for value in values:
        name = next((netdev for place, netdev in matches.items() if value.place[: len(place)] == place), "")
        key = value.place[3:4]
        if name and key and key != ("match",) and value.place[:4] not in yielded:
            yielded.add(value.place[:4])
            yield value._replace(place=value.place[:4]), name, f"{value.place[2]}.{key[0]}"
        elif value.place[1:] == ("renderer",) and value.text != "networkd":
            yield value, "", ""
        elif value.place[3:] == ("interfaces",):
            members = set(re.findall(r"[\w.-]+", value.text))
            yield from (
                (value, nic.netdev, f"{value.place[2]}.interfaces") for nic in server.nics if nic.netdev in members
            )


def _matches(machine: Machine, nic: WantedNic, kind: str, text: str) -> bool:
    """Return True if a match condition of a configuration file applies to a NIC.

    ``kind`` is the key of the condition in netplan, systemd or NetworkManager. ``text`` is its value: patterns if the
    condition is on names, addresses if it is on MAC addresses.
    """
    word = kind.casefold()
    if word in {"name", "originalname", "interface-name"}:
        return any(fnmatchcase(nic.netdev, pattern.strip("'\"")) for pattern in text.split())
    if word in {"macaddress", "permanentmacaddress", "mac-address"}:
        mac = (nic.plan.mac or machine.readable(f"/sys/class/net/{nic.netdev}/address") or "").casefold()
        return bool(mac) and mac in text.casefold().replace("-", ":").split()
    return word == "type" and "ether" in text.split()


@of_server(
    "second-networkd",
    rule="No other file of systemd-networkd or NetworkManager configures the planned NICs, and no drop-in changes "
    "railweave's files.",
    why="Only the first .network file that matches a NIC is used, and a drop-in overrides the file to which it "
    "belongs.",
    how="/etc/systemd/network, /run/systemd/network, /usr/lib/systemd/network; /etc/NetworkManager/system-connections",
    source="systemd.network(5), systemd.link(5), nm-settings-keyfile(5)",
    root=True,
    design=True,
)
def second_networkd(server: Server) -> Iterator[Outcome]:
    """Check that no other .network or .link file, drop-in or NetworkManager connection replaces railweave's files for a planned NIC."""
    clean = True
    for nic in server.nics:
        for look in (_networks, _links, _connections):
            for outcome in look(server, nic):
                clean = False
                yield outcome
    if clean:
        yield ok("none")


def _is_ours(name: str, nic: WantedNic, ending: str) -> bool:
    return name in {f"05-railweave-unmanaged{ending}", f"10-netplan-{nic.netdev}{ending}"}


def _matching(server: Server, nic: WantedNic, ending: str) -> Iterator[tuple[str, str, list[_Value]]]:
    """Yield (file name, path, settings) of each systemd file that applies to a NIC, in the order in which systemd reads them.

    ``ending`` is the end of the file name, such as ``.network``.
    """
    for name, path in _files(server.machine, _NETWORKD, ending).items():
        values = _settings(server.machine.text(path) or "")
        conditions = [value for value in values if value.place[0] == "Match"]
        known = [_matches(server.machine, nic, value.place[1], value.text) for value in conditions]
        if _is_ours(name, nic, ending) or (known and all(known)):
            yield name, path, values


def _networks(server: Server, nic: WantedNic) -> Iterator[Outcome]:
    name, path, values = next(iter(_matching(server, nic, ".network")), ("", "", list[_Value]()))
    if not name:
        return
    origin = "netplan.yaml"
    if not _is_ours(name, nic, ".network"):
        keys = ", ".join(value.place[1] for value in values if value.place[0] != "Match")
        seen = f"{path}:1: takes the NIC ({keys or 'no setting'}) and wins over ours"
        yield failed(seen, "our file alone", origin, f"sudo rm {path}, then sudo networkctl reload", nic.netdev)
    yield from _drop_ins(server.machine, _NETWORKD, name, origin, "sudo networkctl reload", nic.netdev)


def _links(server: Server, nic: WantedNic) -> Iterator[Outcome]:
    name, path, values = next(iter(_matching(server, nic, ".link")), ("", "", list[_Value]()))
    wanted = {"MTUBytes": str(nic.plan.mtu), "Name": nic.netdev}
    for value in values if name and not _is_ours(name, nic, ".link") else ():
        key = value.place[1]
        if value.place[0] == "Link" and key in wanted and value.text != wanted[key]:
            remedy = f"take {key} out of {path}, then restart"
            seen = f"{path}:{value.line}: {key} {value.text} is set when the NIC appears"
            yield failed(seen, wanted[key], "netplan.yaml", remedy, nic.netdev)


def _connections(server: Server, nic: WantedNic) -> Iterator[Outcome]:
    connections = _files(
        server.machine, ("/etc/NetworkManager/system-connections", "/run/NetworkManager/system-connections"), ""
    )
    for _, path, text in _texts(server.machine, connections):
        values = _settings(text)
        if not any(
            _matches(server.machine, nic, value.place[1], value.text) for value in values if value.place[1] != "type"
        ):
            continue
        for value in values:
            section, key = value.place
            is_address = re.fullmatch(r"address\d*", key) and section in {"ipv4", "ipv6"}
            planned = any(str(path.address) == value.text.split("/")[0] for path in nic.plan.paths)
            if (is_address and not planned) or (key == "mtu" and value.text not in {"0", str(nic.plan.mtu)}) or re.fullmatch(r"route\d+|routing-rule\d+", key):  # fmt: skip
                seen = f"{path}:{value.line}: {section}.{key} {value.text} is set on the NIC beside ours"
                remedy = f"sudo rm {path}, then sudo nmcli connection reload"
                yield failed(seen, "no such connection", "netplan.yaml", remedy, nic.netdev)


def _drop_ins(
    machine: Machine, folders: Iterable[str], name: str, origin: str, then: str, of: str = ""
) -> Iterator[Outcome]:
    """Yield a failure for each setting in the drop-ins of the systemd file ``name``: the drop-ins are the files ``NAME.d/*.conf``.

    If the file is a template, its drop-ins apply to all its instances.

    - ``machine``: the server.
    - ``folders``: the folders that systemd searches for drop-ins.
    - ``origin``: the source of the rule.
    - ``then``: the command to run after the fix.
    - ``of``: the subject of the outcome; by default, the name of the file.
    """
    for _, path, text in _texts(machine, _files(machine, [f"{folder}/{name}.d" for folder in folders], ".conf")):
        for value in _settings(text):
            seen = f"{path}:{value.line}: {'.'.join(value.place)} {value.text} wins over {name}"
            yield failed(seen, f"{name} as it is", origin, f"sudo rm {path}, then {then}", of or name)


@of_server(
    "second-unit",
    rule="No drop-in changes railweave's systemd units, and no unit is masked.",
    why="A drop-in overrides the unit: the NICs' QoS is set at a different time, by a different program, or not "
    "at all.",
    how="/etc/systemd/system/UNIT.d and the same in /run and /usr/lib",
    source="systemd.unit(5), on drop-in files",
    design=True,
)
def second_unit(server: Server) -> Iterator[Outcome]:
    """Check that railweave's units have no drop-ins and are not masked."""
    clean = True
    for unit in _OUR_UNITS:
        for folder in _UNITS[:2]:
            if server.machine.real(f"{folder}/{unit}") == "/dev/null":
                clean = False
                yield failed(f"{folder}/{unit} is masked", "our unit", unit, f"sudo systemctl unmask {unit}", unit)
        for outcome in _drop_ins(server.machine, _UNITS, unit, unit, "sudo systemctl daemon-reload"):
            clean = False
            yield outcome
    if clean:
        yield ok("none")


def setting_of(machine: Machine, *keys: str) -> str:
    """Return the last line that sets one of the kernel parameters ``keys`` at start, as ``PATH:LINE: TEXT``; empty if no line does."""
    place = ""
    for path in (*_files(machine, _SYSCTL, ".conf").values(), "/etc/sysctl.conf"):
        for number, line in enumerate((machine.readable(path) or "").splitlines(), 1):
            pattern = line.strip().removeprefix("-").partition("=")[0].strip().replace("/", ".")
            if "=" in line and line.lstrip()[:1] not in "#;" and any(fnmatchcase(key, pattern) for key in keys):
                place = f"{path}:{number}: {line.strip()}"
    return place


@of_server(
    "second-sysctl",
    rule="No file that is read after railweave's file sets a planned kernel parameter to a different value.",
    why="At the next boot the last value applies, even if the present value is right.",
    how="/etc/sysctl.d, /run/sysctl.d, /usr/lib/sysctl.d, /etc/sysctl.conf",
    source="sysctl.d(5)",
    unless=lambda server: "" if server.sysctl else "none is planned",
    design=True,
)
def second_sysctl(server: Server) -> Iterator[Outcome]:
    """Check that no file that is read after railweave's sets a planned kernel parameter to a different value."""
    files = {name: path for name, path in _files(server.machine, _SYSCTL, ".conf").items() if name > _OUR_SYSCTL}
    clean = True
    for _, path, text in _texts(server.machine, {**files, **_present(server.machine, "/etc/sysctl.conf")}):
        for number, line in enumerate(text.splitlines(), 1):
            name, equals, value = line.strip().removeprefix("-").partition("=")
            pattern = name.strip().replace("/", ".")
            for key, wanted in server.sysctl.items() if equals and not line.lstrip().startswith(("#", ";")) else ():
                if fnmatchcase(key, pattern) and value.split() != str(wanted).split():
                    clean = False
                    seen = f"{path}:{number}: {key} {value.strip()} wins over {_OUR_SYSCTL}"
                    yield failed(seen, wanted, f"host.json sysctl.{key}", f"take it out of {path}", key)
    if clean:
        yield ok("none")


@of_server(
    "second-udev",
    rule="No other udev rule renames a planned NIC or sets its MTU.",
    why="The last name that a rule sets applies, and all other settings refer to NICs by name.",
    how="/etc/udev/rules.d, /run/udev/rules.d, /usr/lib/udev/rules.d",
    source="udev(7)",
    design=True,
)
def second_udev(server: Server) -> Iterator[Outcome]:
    """Check that no other udev rule sets the name or the MTU of a planned NIC."""
    clean = True
    for name, path, text in _texts(server.machine, _files(server.machine, _UDEV, ".rules")):
        for number, line in enumerate(text.splitlines() if _BY_US not in text else (), 1):
            action = re.search(r'\b(NAME|ATTR\{mtu\})\s*:?=\s*"([^"]*)"', line)
            nic = next((nic for nic in server.nics if _is_rule_of(server.machine, nic, line)), None)
            if (
                action is None
                or nic is None
                or line.lstrip().startswith("#")
                or action[2] in {nic.netdev, str(nic.plan.mtu)}
            ):
                continue
            clean = False
            seen = f"{path}:{number}: {action[1]} {action[2]} {'wins over' if name > _OUR_NAMES else 'loses to'} {_OUR_NAMES}"
            outcome = failed if name > _OUR_NAMES or action[1] != "NAME" else warning
            yield outcome(seen, nic.netdev, _OUR_NAMES, f"take the rule out of {path}, then restart", nic.netdev)
    if clean:
        yield ok("none")


def _is_rule_of(machine: Machine, nic: WantedNic, line: str) -> bool:
    conditions = re.findall(r'\b(ATTRS?\{address\}|KERNEL|NAME)\s*==\s*"([^"]*)"', line)
    kinds = {"KERNEL": "name", "NAME": "name"}
    return any(_matches(machine, nic, kinds.get(key, "macaddress"), value) for key, value in conditions)


@of_server(
    "second-modprobe",
    rule="No modprobe file prevents the kernel modules of NICs and RDMA from being loaded.",
    why="The module was loaded before the file was added, so the NIC works now, but not after the next boot.",
    how="/etc/modprobe.d, /run/modprobe.d, /usr/lib/modprobe.d",
    source="modprobe.d(5)",
    design=True,
)
def second_modprobe(server: Server) -> Iterator[Outcome]:
    """Check that no modprobe file blacklists a module of the planned NICs, or runs a command instead of loading the module."""
    modules = {module for stack in stacks(server) for module in stack}
    clean = True
    for _, path, text in _texts(server.machine, _files(server.machine, _MODPROBE, ".conf")):
        for number, line in enumerate(text.splitlines(), 1):
            words = line.split()
            module = words[1].replace("-", "_") if len(words) > 1 else ""
            if words[:1] in (["blacklist"], ["install"]) and module in modules:
                clean = False
                seen = f"{path}:{number}: {' '.join(words)}"
                yield failed(
                    seen, f"{module} is loaded", "the driver of the planned NICs", f"take it out of {path}", module
                )
    if clean:
        yield ok("none")


@of_server(
    "second-nccl",
    rule="No NCCL configuration file sets a variable that the plan sets differently, or does not set.",
    why="A job that starts without nccl.env uses the value of this file, and every job uses values that the plan "
    "does not set.",
    how="/etc/nccl.conf, /root/.nccl.conf",
    source="NCCL, environment variables (nccl.conf)",
    unless=lambda server: "" if server.environment else "no job is planned",
    design=True,
)
def second_nccl(server: Server) -> Iterator[Outcome]:
    """Check that NCCL's own configuration files set only planned variables, each to its planned value."""
    clean = True
    for _, path, text in _texts(server.machine, _present(server.machine, "/etc/nccl.conf", "/root/.nccl.conf")):
        for value in _settings(text):
            key, wanted = value.place[1], server.environment.get(value.place[1])
            if wanted == value.text:
                continue
            clean = False
            words = (
                "counts, for nccl.env has none"
                if wanted is None
                else f"loses to nccl.env ({wanted}), and counts where a job has none"
            )
            seen = f"{path}:{value.line}: {key} {value.text} {words}"
            outcome = failed if wanted is None else warning
            yield outcome(seen, wanted or "not set", f"host.json job.environment.{key}", f"take it out of {path}", key)
    if clean:
        yield ok("none")
