"""Switch configurations read from files, and the faults of these files. In checks, they replace the designed configurations.

The files are in a build folder or were saved from devices. A file that equals the rendered design is not read, because
the result would be the designed configuration.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

from railweave.analysis.checks import differs
from railweave.analysis.checks.causes import Cause, causes
from railweave.analysis.checks.differs import EXTRA, SESSION, TEXT
from railweave.analysis.checks.located import FILE_UNREADABLE
from railweave.analysis.checks.senseless import SENSELESS_STATEMENT, senseless_statement, senseless_value
from railweave.errors import InputError, NetworkPart, Problem, RenderError
from railweave.model.catalog import catalog
from railweave.model.config.gate import Gate
from railweave.model.config.secret_words import alike
from railweave.model.device.bgp_model import NOTHING
from railweave.model.device.fields import NAMES, FieldDifference, amended
from railweave.model.device.reading import ReadStatement
from railweave.systems import system
from railweave.workers import spread

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from railweave.model.device.model import DeviceConfig
    from railweave.model.device.reading import Reading
    from railweave.model.findings import Finding
    from railweave.systems.protocol import Reader

AS_LISTS = "bgp.groups.peer_as_list"
"""The name of the field for AS lists. It is in ``unsaid`` (fields that a system's text cannot express) of a system without AS lists."""

Texts = dict[str, str]
"""The contents of a device's configuration files, by path."""


@dataclass(frozen=True)
class DeviceCheck:
    """A device's configuration as read from its files, and the differences from the design.

    - ``config``: the configuration, or None if a file cannot be read.
    - ``causes``: the statements that differ from the design, each with its finding.
    - ``not_compared``: the statements whose only difference is a secret's value in place of a reference.
    - ``unreadable``: the findings for files that cannot be read.
    - ``unread``: statements that railweave does not understand, as a pair: those only in the design, and those only in
      the device's files.
    """

    config: DeviceConfig | None
    causes: tuple[tuple[Cause, Finding], ...] = ()
    not_compared: tuple[str, ...] = ()
    unreadable: tuple[Finding, ...] = ()
    unread: tuple[Mapping[str, ReadStatement], Mapping[str, ReadStatement]] = ({}, {})

    @property
    def findings(self) -> list[Finding]:
        """All findings about the device's files: unreadable files, then statements that differ from the design."""
        return [*self.unreadable, *(finding for _, finding in self.causes)]


def compare_device(
    config: DeviceConfig, designed: Mapping[str, str], actual: Mapping[str, tuple[str, str]], *, why: bool = True
) -> DeviceCheck:
    """Read a device's configuration files, and return their comparison with the ``designed`` files.

    ``actual`` maps a file name to (path for findings, text). With ``why`` False, the statements that cause differences
    are not determined, and ``causes`` is empty. This saves most of the time.
    """
    reader = system(config.nos).reader
    if reader is None:
        message = f"nothing reads configurations of {config.nos}: {system(config.nos).without['read']}"
        wrong = [path for file, (path, text) in actual.items() if not _same(designed[file], text)]
        return DeviceCheck(
            None, unreadable=tuple(FILE_UNREADABLE.finding(config.name, message, file=path) for path in wrong)
        )
    reads = catalog().systems[config.nos].reads
    without = reads.unsaid
    unsaid = tuple(field for field in without if field in NAMES)
    made: list[tuple[Cause, Finding]] = []
    not_compared: list[str] = []
    unreadable: list[Finding] = []
    texts, differs_at_all = dict(designed), False
    for file, (path, text) in actual.items():
        if _same(designed[file], text):
            not_compared += _unlike(designed[file], text)
            continue
        try:
            some, secret = (
                causes(reader, file, designed, _whole(text), unsaid, reads.by_itself, reads.spelled)
                if why
                else _unasked(text)
            )
        except RenderError as error:
            unreadable.append(_unreadable(config.name, path, error))
            continue
        texts[file] = text
        made += [(cause, _finding(config.name, cause, path)) for cause in some]
        not_compared += secret
        differs_at_all |= bool(some) or not why
    read, unread = config, (dict[str, ReadStatement](), dict[str, ReadStatement]())
    if differs_at_all and not unreadable:
        comparable = _without_lists(config) if AS_LISTS in without else config
        try:
            wanted, running = reader.read(designed), reader.read(texts)
            read = _cabled(amended(comparable, wanted.config, running.config, unsaid), config)
            unread = _only_one_has(wanted, running)
        except RenderError as error:  # where it was asked why, every text has been read before
            unreadable.append(_unreadable(config.name, _broken(reader, actual), error))
    return DeviceCheck(None if unreadable else read, tuple(made), tuple(not_compared), tuple(unreadable), unread)


def _only_one_has(wanted: Reading, running: Reading) -> tuple[dict[str, ReadStatement], dict[str, ReadStatement]]:
    """Return the statements that only one of two configurations has and that railweave does not understand, by path.

    The result is (statements only in the design ``wanted``, statements only in ``running``).
    """
    first, second = ({each.path: each for each in reading.not_understood} for reading in (wanted, running))
    return (
        {path: first[path] for path in first.keys() - second.keys()},
        {path: second[path] for path in second.keys() - first.keys()},
    )


def _unasked(text: str) -> tuple[list[Cause], tuple[str, ...]]:
    """Return an empty list and an empty tuple in place of causes, because the caller does not ask for causes.

    Raises ``RenderError`` if the text is empty.
    """
    _whole(text)
    return [], ()


def _unreadable(device: str, path: str, error: RenderError) -> Finding:
    return FILE_UNREADABLE.finding(device, f"{path} cannot be read: {error.what}", file=path, line=error.line or 0)


def _broken(reader: Reader, actual: Mapping[str, tuple[str, str]]) -> str:
    """Return the path of the first file in ``actual`` that ``reader`` cannot read, or the first path if each file can be read separately.

    ``actual`` maps a file name to (path, text).
    """
    for file, (path, text) in actual.items():
        try:
            reader.parsed(file, _whole(text))
        except RenderError:
            return path
    return next(path for path, _ in actual.values())


def _without_lists(config: DeviceConfig) -> DeviceConfig:
    """Return the configuration without AS lists, for comparison on a system that has none.

    There, only each neighbor's AS number counts.
    """
    bgp = config.bgp and replace(
        config.bgp, as_lists={}, groups=tuple(replace(group, peer_as_list=None) for group in config.bgp.groups)
    )
    return replace(config, bgp=bgp)


def _cabled(actual: DeviceConfig, designed: DeviceConfig) -> DeviceConfig:
    """Return the actual configuration with the cables of the designed switch.

    A description in the actual text may name a different peer, but that does not change the cabling.
    """
    cables = {
        interface.name: (interface.link, interface.peer, interface.peer_port) for interface in designed.interfaces
    }
    nothing = ("", "", "")
    interfaces = (
        replace(interface, link=link, peer=peer, peer_port=port)
        for interface in actual.interfaces
        for link, peer, port in [cables.get(interface.name, nothing)]
    )
    bgp = actual.bgp and replace(
        actual.bgp,
        groups=tuple(
            replace(
                group,
                sessions=tuple(
                    replace(session, link=cables.get(session.interface, nothing)[0]) for session in group.sessions
                ),
            )
            for group in actual.bgp.groups
        ),
    )
    isis, ospf = actual.isis, actual.ospf
    if ospf is not None:  # no design has it: its links are those of its ports
        links = {interface.name: interface.link for interface in designed.interfaces}
        ospf = replace(ospf, ports=tuple(replace(port, link=links.get(port.interface, "")) for port in ospf.ports))
    if bgp is None and designed.bgp is not None:  # its routing is gone: it is then a switch without neighbors
        bgp = replace(designed.bgp, groups=(), redistribute_connected=None, fabric_advertise=())
    if isis is None and designed.isis is not None:
        isis = replace(designed.isis, ports=(), passive=())
    # A text may have lost the line that names the hardware, which is then still what it is.
    actual = replace(actual, name=designed.name, model=actual.model or designed.model)
    return replace(actual, interfaces=tuple(interfaces), bgp=bgp, isis=isis, ospf=ospf)


def compare_devices(
    configs: Mapping[str, DeviceConfig], designed: Mapping[str, str], texts: Mapping[str, Mapping[str, tuple[str, str]]]
) -> dict[str, DeviceCheck]:
    """Compare each device in ``texts`` with its design, and return the comparisons by device. Devices are processed in parallel.

    - ``configs``: the designed configurations by device.
    - ``designed``: the designed files by path, such as ``devices/NAME/FILE``.
    - ``texts``: the device's files as (path for findings, text), by device and file name.
    """

    def check_device(name: str) -> DeviceCheck:
        designed_texts = {
            file: designed[f"devices/{name}/{file}"] for file in system(configs[name].nos).configurations(configs[name])
        }
        return compare_device(configs[name], designed_texts, texts[name])

    return dict(zip(texts, spread(check_device, list(texts)), strict=True))


def saved(
    designed: Mapping[str, DeviceConfig],
    captured: Mapping[str, Texts],
    *,
    why: bool = True,
    rendered: Mapping[str, Texts] | None = None,
) -> dict[str, DeviceCheck]:
    """Compare each switch for which there are saved files with its design, and return the comparisons by switch.

    - ``captured``: the saved files of each device. Files of devices that are not in ``designed`` are ignored.
    - ``why``: False to leave out the statements that cause differences, which saves time.
    - ``rendered``: the designed files of devices (``System.files`` and ``System.beneath``), if the caller has them already.

    Secrets are removed from the saved files (``model.config.gate``). They are also removed from the designed files, because ``extra``
    may contain values of secrets.

    Raises ``InputError`` if all files are of other devices, because an empty comparison would look like success.
    """
    gate = Gate()

    def check_device(name: str) -> DeviceCheck:
        config = designed[name]
        nos = system(config.nos)
        known = (rendered or {}).get(name)
        files = known or nos.files(config)
        designed_texts = {file: gate.text(name, files[file]) for file in nos.configurations(config)}
        beneath = known or nos.beneath(config)
        designed_texts |= {file: beneath[file] for file in nos.beneath(config) if file in texts[name]}
        return compare_device(config, *_matched(designed_texts, config, texts[name]), why=why)

    names = [name for name in designed if captured.get(name)]
    texts = {name: {path: gate.text(name, text) for path, text in captured[name].items()} for name in names}
    if captured and not names:
        shown = f"{', '.join(list(captured)[:4])}{', …' if len(captured) > 4 else ''}"
        message = f"no configuration of a switch of the design is here, only of {shown}"
        raise InputError(
            [Problem(NetworkPart(next(iter(captured))), message, "call each folder as the design calls the switch")]
        )
    return dict(zip(names, spread(check_device, names), strict=True))


def configurations(configs: Mapping[str, DeviceConfig]) -> dict[str, tuple[str, str]]:
    """Return the configuration files of a build folder: a map of each path to (device, file name)."""
    return {
        f"devices/{name}/{file}": (name, file)
        for name, config in configs.items()
        for file in system(config.nos).configurations(config)
    }


def _matched(
    designed: dict[str, str], config: DeviceConfig, texts: Texts
) -> tuple[dict[str, str], dict[str, tuple[str, str]]]:
    """Return (the designed files, the saved files that correspond to them as (path, text)), both by file name.

    Files are matched by the names that railweave gives them, or else by their syntax (JSON or lines). A file whose name ends in
    .json is JSON even if its text is damaged. Some devices print several files of the design as one text; these are joined.
    """
    matched = {Path(path).name: (path, text) for path, text in texts.items() if Path(path).name in designed}
    if matched:
        return designed, matched
    documents = [file for file in designed if file.endswith(".json")]
    lines = [file for file in system(config.nos).trees(config) if file not in documents]
    for path, text in texts.items():
        if documents and (text.lstrip().startswith("{") or path.endswith(".json")):
            matched[documents[-1]] = (path, text)
        elif lines:
            designed = {
                **{file: designed[file] for file in documents},
                lines[-1]: "".join(designed[file] for file in lines),
            }
            matched[lines[-1]] = (path, text)
    return designed, matched


def _same(designed: str, actual: str) -> bool:
    """Return True if the device's text (``actual``) equals the designed text.

    A secret's value and a reference to a secret count as equal.
    """
    if designed == actual:
        return True
    lines, other = designed.splitlines(), actual.splitlines()
    return len(lines) == len(other) and all(
        line == there or ("<secret:" in line and alike(line, there) is None)
        for line, there in zip(lines, other, strict=True)
    )


def _unlike(designed: str, actual: str) -> list[str]:
    """Return the designed lines with a reference to a secret for which the device's text (``actual``) has the secret's value.

    The texts must be equal otherwise.
    """
    if designed == actual:
        return []
    pairs = zip(designed.splitlines(), actual.splitlines(), strict=True)
    return [line.strip() for line, there in pairs if line != there]


def _whole(text: str) -> str:
    """Return the text unchanged. Raises ``RenderError`` if the text is empty."""
    if not text.strip():
        raise RenderError("it is empty", 1)
    return text


def _finding(device: str, cause: Cause, path: str) -> Finding:
    statement = cause.designed or cause.found
    by_words = differs.of_statement(statement)
    fields = differs.foremost(cause.fields, by_words)
    rule = differs.of_field(fields[0]) if fields else by_words
    if fields and fields[0].field == "qos.ports" and by_words in differs.OF_PORTS:
        rule = by_words  # the field says only that the port lacks a part of its QoS
    elif by_words is SESSION and any(difference.new == NOTHING for difference in fields):
        rule = by_words  # the session has lost an address family, and nothing passes its policies
    elif by_words is TEXT:  # names of terms stand in descriptions on some systems
        rule = by_words
    elif not fields and cause.kind == "add":
        rule = by_words if differs.lets_in(statement) else EXTRA
    message = f"{_said(cause)}{_not_understood(fields) if cause.unread else _changes(fields)}"
    senseless = None if cause.kind == "remove" else senseless_statement(cause.found)
    if senseless is not None:
        return SENSELESS_STATEMENT.finding(device, message, file=path, line=cause.line, why=senseless.why)
    return rule.finding(device, message, file=path, line=cause.line)


def _said(cause: Cause) -> str:
    if cause.kind == "remove" or cause.designed.startswith(f"{cause.found} / "):
        return f"`{_short(cause.designed)}` is missing"
    if cause.kind == "add" or cause.found.startswith(f"{cause.designed} / "):
        return f"`{_short(cause.found)}` is not designed"
    if cause.kind == "move":
        return f"`{_short(cause.found)}` stands in another place than in the design"
    return f"`{_short(cause.found)}`, and the design has `{_short(cause.designed.rpartition(' / ')[2])}`"


def _changes(fields: list[FieldDifference]) -> str:
    if not fields:
        return ""
    difference = fields[0]
    more = f" and {len(fields) - 1} more" if len(fields) > 1 else ""
    return f" ({_place(difference)}: {_value(difference.old)} becomes {_value(difference.new)}{more})"


def _not_understood(fields: list[FieldDifference]) -> str:
    """Return a remark, for a finding's message, that railweave does not understand a statement.

    If the statement has fields, the remark names the first field and its designed value.
    """
    named = f": {_place(fields[0])} is unknown, and the design has {_value(fields[0].old)}" if fields else ""
    return f" (not understood{named})"


def _place(difference: FieldDifference) -> str:
    return " ".join(difference.place).replace("_", " ")


def attributed(findings: Iterable[Finding], checked: Mapping[str, DeviceCheck]) -> list[Finding]:
    """Return the findings, each with the file and line of the statement that causes it, if such a statement differs from the design.

    ``checked`` holds the comparison of each device. A finding about a senseless value is left out if railweave does not
    understand the field's statement, because that statement has its own finding.
    """
    made: list[Finding] = []
    differing = {name: check.causes for name, check in checked.items() if check.causes}
    for finding in findings:
        best, file, line = (0, False), finding.file, finding.line
        near = f"{finding.where} {finding.what}"
        for name, pairs in differing.items() if not line else ():
            for cause, place in pairs if _names(near, name) else ():
                rank = (_follows(finding, near, cause), cause.unread)
                # A design has warnings of its own, which may name the same entry.
                if rank > best and rank[0] >= (1 if finding.severity == "error" else 2):
                    best, file, line = rank, place.file, place.line
        if not (best[1] and finding.id == senseless_value.id):
            made.append(replace(finding, file=file, line=line))
    return made


def _follows(finding: Finding, near: str, cause: Cause) -> int:
    """Return the certainty that a statement (``cause``) causes a finding: 2 certain, 1 possible, 0 none.

    - 2: the finding is about a field that the statement changes, or quotes the statement.
    - 1: the finding names an object, such as a port or a group, whose settings the statement changes.

    ``near`` is the place and the message of the finding.
    """
    field = finding.what.partition(": ")[0]
    names: set[str] = set()
    for difference in cause.fields:
        place = ".".join(difference.place)
        if f"{field}.".startswith(f"{place}.") or f"{place}.".startswith(f"{field}."):
            return 2
        names |= {name for name in difference.place if re.search(r"[^a-z_]", name) and not name.isdigit()}
    if cause.found and _names(finding.what, cause.found.rpartition(" / ")[2]):
        return 2
    return int(any(_names(near, name) for name in names))


def _names(words: str, name: str) -> bool:
    """Return True if a text contains a name as a whole word."""
    return re.search(rf"(?<![\w/-]){re.escape(name)}(?!\w|[-/]\w)", words) is not None


def _value(value: object) -> str:
    if value is None or value in ("", [], {}):
        return "nothing"
    if isinstance(value, dict):
        return "an entry"
    return _short(", ".join(map(str, cast("list[object]", value))) if isinstance(value, list) else str(value))


def _short(text: str, most: int = 100) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"
