"""Additional files in a server's folder: no build writes them, and the server would read them together with a designed file.

netplan merges all its files. sysctl and udev read their files in the order of names. A systemd drop-in overrides its unit.
"""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from railweave.analysis.checks.servers.comparison import (
    INTERFACE,
    nccl_env,
    read_netplan,
    rules,
    sysctl,
    unit,
)
from railweave.analysis.checks.servers.entries import Difference, Entry, shown
from railweave.errors import RenderError
from railweave.model.findings.registry import Rule

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

SECOND = Rule(
    "server-second-file",
    "error",
    "folder",
    "a server's folder contains an extra file that is read together with a designed file, and changes its effect",
    "the server merges the values of both files: addresses, routes, MTUs or parameters differ from the "
    "design, even though the designed file is unchanged",
    "remove the extra file, or remove from it all settings of designed NICs and services",
)

NETPLAN, SYSCTL, NAMES, NCCL = "netplan.yaml", "sysctl.conf", "70-railweave-net.rules", "nccl.env"
INSTALLED = {NETPLAN: "60-railweave.yaml", SYSCTL: "70-railweave.conf", NAMES: NAMES}
"""The names of the designed files on the server. The names determine the order in which files are read."""


def changed_by(name: str, text: str, designed: Mapping[str, str]) -> list[Difference]:
    """Return the changes that an additional file makes to the designed files of its server, sorted by line.

    ``name`` is the path of the file in the server's folder. ``designed`` holds the designed files by their path there.
    """
    file = name.rpartition("/")[2]
    above = name.rpartition("/")[0].removesuffix(".d")
    for pattern, look in _FORMS:
        if re.fullmatch(pattern, name):
            try:
                return sorted(look(file, text, designed), key=lambda difference: difference.line)
            except RenderError as error:
                return [Difference(SECOND, f"it cannot be read: {error.what}", error.line or 1)]
    if above in designed:
        return [
            Difference(
                SECOND,
                f"{entry.whose} {entry.key} {shown(entry.fields['value'].strip())} wins over {above}",
                entry.line,
            )
            for entry in unit(text)
        ]
    return []


def drop_in_folder(name: str, designed: Mapping[str, str]) -> bool:
    """Return True if a folder, such as ``NAME.service.d``, holds the systemd drop-ins of a designed unit."""
    return name.endswith(".d") and name.removesuffix(".d") in designed


def _order(file: str, ours: str) -> str:
    return f"wins over {ours}" if file > INSTALLED[ours] else f"loses to {ours}, which is read later"


def _netplan(file: str, text: str, designed: Mapping[str, str]) -> Iterator[Difference]:
    ours = read_netplan(designed[NETPLAN]) if NETPLAN in designed else []
    interfaces = {entry.key: entry.fields for entry in ours if entry.kind is INTERFACE and entry.key}
    matched: dict[str, str] = {}
    for entry in read_netplan(text):
        if entry.kind is INTERFACE:
            names = _named(entry, interfaces)
            matched |= dict.fromkeys(names, entry.key or "")
            for field, value in entry.fields.items() if names else ():
                wanted = interfaces[names[0]].get(field)
                if field != "match" and (value != wanted or entry.key not in interfaces):
                    order = "is added" if wanted is None else _order(file, NETPLAN)
                    yield Difference(
                        entry.kind.of(field), f"{entry.key} {field} {shown(value)} {order}", entry.line_of(field)
                    )
        elif entry.whose in interfaces or entry.whose in matched.values():
            yield Difference(entry.kind.rule, f"{entry.title} is added to those of {NETPLAN}", entry.line)
        elif entry.fields.get("renderer", "networkd") != "networkd":
            words = f"renderer {entry.fields['renderer']} {_order(file, NETPLAN)}"
            yield Difference(entry.kind.rule, words, entry.line_of("renderer"))


def _named(entry: Entry, interfaces: Mapping[str, object]) -> list[str]:
    """Return the designed interfaces to which a netplan definition (``entry``) applies.

    They match the name pattern in the definition's ``match`` or, without a pattern, have the definition's name.
    """
    pattern = re.search(r"name: ([^,}]+)", entry.fields.get("match", ""))
    if pattern:
        return [name for name in interfaces if fnmatchcase(name, pattern[1])]
    return [entry.key] if entry.key is not None and entry.key in interfaces else []


def _sysctl(file: str, text: str, designed: Mapping[str, str]) -> Iterator[Difference]:
    wanted = {entry.key: entry.fields["value"] for entry in sysctl(designed.get(SYSCTL, ""))}
    for entry in sysctl(text):
        pattern = (entry.key or "").replace("/", ".")
        for key, value in wanted.items():
            if fnmatchcase(key or "", pattern) and entry.fields["value"] != value:
                words = f"{key} {entry.fields['value']} {_order(file, SYSCTL)} ({value})"
                yield Difference(entry.kind.rule, words, entry.line)


def _nccl(_: str, text: str, designed: Mapping[str, str]) -> Iterator[Difference]:
    wanted = {entry.key: entry.fields.get("value") for entry in nccl_env(designed.get(NCCL, ""))}
    for entry in nccl_env(text):
        value = entry.fields.get("value", "")
        if wanted.get(entry.key) != value:
            words = "is added" if entry.key not in wanted else f"counts where a job has no {NCCL}"
            yield Difference(entry.kind.rule, f"{entry.key} {shown(value)} {words}", entry.line)


def _rules(file: str, text: str, designed: Mapping[str, str]) -> Iterator[Difference]:
    ours = {entry.fields["MAC"]: entry.key for entry in rules(designed.get(NAMES, "")) if entry.fields.get("MAC")}
    for entry in rules(text):
        words = f"{entry.key or ''} {' '.join(entry.fields.values())}"
        mac, name = entry.fields.get("MAC", ""), entry.key
        if (mac in ours and ours[mac] != name) or any(f"=={known}" in words or f'=="{known}"' in words for known in ours.values()):  # fmt: skip
            yield Difference(entry.kind.rule, f"{entry.title} {_order(file, NAMES)}", entry.line)


def _sections(_: str, text: str, designed: Mapping[str, str]) -> Iterator[Difference]:
    """Yield the settings of a .network, .link or .nmconnection file that apply to a designed interface.

    ``designed`` holds the designed files by path. The first parameter, the file's name, is not used.
    """
    ours = read_netplan(designed[NETPLAN]) if NETPLAN in designed else []
    names = [entry.key for entry in ours if entry.kind is INTERFACE and entry.key]
    settings = unit(text)
    patterns = [
        pattern
        for entry in settings
        if entry.key in {"Name", "OriginalName", "interface-name"}
        for pattern in entry.fields["value"].split()
    ]
    if any(fnmatchcase(name, pattern) for name in names for pattern in patterns):
        for entry in settings:
            if entry.whose not in {"[Match]", "[connection]"}:
                words = f"{entry.whose} {entry.key} {shown(entry.fields['value'])} applies to {patterns[0]} in place of {NETPLAN}"
                yield Difference(entry.kind.rule, words, entry.line)


_FORMS: tuple[tuple[str, Callable[[str, str, Mapping[str, str]], Iterator[Difference]]], ...] = (
    (r"[^/]+\.ya?ml", _netplan),
    (r"\.?nccl\.conf", _nccl),
    (r"[^/]+\.(network|link|nmconnection)", _sections),
    (r"[^/]+\.rules", _rules),
    (r"[^/]+\.conf", _sysctl),
)
