"""Validation of EOS configurations with Arista's AVD, which checks ``avd.json`` by its schema and ``eos.conf`` line by line.

The two files are rendered separately. AVD (PyPI ``pyavd``) validates the data in ``avd.json`` and generates a
configuration from the data. If a line is in only one of the two configurations, one of the files is wrong. AVD copies
some texts unchecked: ``eos_cli``, and the values of keys that its schema describes as a string with an example
(``FREE_TEXT``). These lines are counted, because AVD does not validate them.
"""

from __future__ import annotations

import importlib
import importlib.metadata
from collections import Counter
from typing import TYPE_CHECKING, Any, cast

from railweave.errors import RenderError
from railweave.model.config.sections import flat, parse
from railweave.model.findings.registry import Rule
from railweave.model.findings.validators import Validator, ValidatorReport
from railweave.reading import parse_json

if TYPE_CHECKING:
    from collections.abc import Iterator

    from railweave.model.findings import Finding
    from railweave.model.findings.validators import Files

NAME = "pyavd"
EOS_CLI = "eos_cli"
"""The key of lines that AVD copies unchecked. It exists at the root, in interfaces and in ``router_bgp``."""

FREE_TEXT = frozenset(
    {
        "aaa_authentication.login.default",
        "aaa_authorization.exec.default",
        "access_lists.sequence_numbers.action",
        "ipv6_access_lists.sequence_numbers.action",
        "ipv6_prefix_lists.sequence_numbers.action",
        "ipv6_standard_access_lists.sequence_numbers.action",
        "peer_filters.sequence_numbers.match",
        "prefix_lists.sequence_numbers.action",
        "qos.map.dscp",
        "qos.map.traffic_class",
        "qos_profiles.uc_tx_queues.shape.rate",
        "route_maps.sequence_numbers.match",
        "route_maps.sequence_numbers.set",
        "standard_access_lists.sequence_numbers.action",
    }
)
"""The keys whose values AVD copies unchecked into a statement: its schema describes them only as strings. Each string is one line."""
MOST_SHOWN = 5


_APART = "the configuration and its data model are rendered apart, and say different things or what AVD does not know"
_REPORT = "report it: it is a mistake of railweave, unless the files were changed by hand"
SCHEMA = Rule(
    "eos-avd-schema", "error", "validator", "the schema of Arista's AVD rejects data of the design", _APART, _REPORT
)
DIFFERS = Rule(
    "eos-avd-differs",
    "error",
    "validator",
    "`eos.conf` has a line that AVD does not render from the same design, or lacks a line that AVD renders",
    _APART,
    _REPORT,
)


def validate(files: Files) -> ValidatorReport:
    """Validate the files of every EOS device. If pyavd is not installed, the report is ``skipped``, with the reason."""
    wanted = {device: of_device for device, of_device in files.items() if "eos.conf" in of_device}
    try:
        avd: Any = importlib.import_module("pyavd")
    except ImportError:
        return ValidatorReport(NAME, ran=False, reason="pyavd is not installed: pip install 'railweave[eos]'")
    report = ValidatorReport(NAME, ran=True, reason="")
    passed_on = 0
    for device, of_device in wanted.items():
        report.validated += 1
        try:
            data = parse_json(of_device.get("avd.json", ""))
        except ValueError as error:
            problem = f"avd.json cannot be read: {error}"
            report.findings.append(_finding(SCHEMA, device, "avd.json", problem))
            continue
        passed_on += sum(1 for _ in unread(data))
        report.findings += _validate_one(avd, device, of_device["eos.conf"], data)
    version = importlib.metadata.version("pyavd")
    report.reason = f"pyavd {version}; {passed_on} lines are outside its schema and not validated"
    return report


def _validate_one(avd: Any, device: str, text: str, data: object) -> Iterator[Finding]:  # noqa: ANN401 - pyavd is untyped
    result = avd.validate_structured_config(data)
    if result.validated_data is None:
        for violation in result.validation_result.violations:
            path = ".".join(map(str, violation.path))
            yield _finding(SCHEMA, device, "avd.json", f"AVD's schema refuses {path}: {violation.message}")
        return
    try:
        ours = Counter(flat(parse(text)))
    except RenderError as error:
        yield _finding(DIFFERS, device, "eos.conf", f"eos.conf cannot be read: {error}")
        return
    theirs = Counter(flat(parse(avd.get_device_config(result.validated_data))))
    for lines, whose in ((ours - theirs, "only in eos.conf"), (theirs - ours, "missing in eos.conf")):
        for line in list(lines)[:MOST_SHOWN]:
            yield _finding(DIFFERS, device, "eos.conf", f"{whose}: {line}")
        if len(lines) > MOST_SHOWN:
            yield _finding(DIFFERS, device, "eos.conf", f"{whose}: {len(lines) - MOST_SHOWN} lines more")


def unread(data: object, key: str = "") -> Iterator[str]:
    """Yield the lines that AVD copies unchecked: the values of ``eos_cli`` and of the keys in ``FREE_TEXT``.

    ``data`` is the content of ``avd.json``, or the part below ``key``.
    """
    if isinstance(data, dict):
        for name, value in cast("dict[str, object]", data).items():
            yield from unread(value, f"{key}.{name}" if key else name)
    elif isinstance(data, list):
        for item in cast("list[object]", data):
            yield from unread(item, key)
    elif isinstance(data, str) and (key in FREE_TEXT or key.rpartition(".")[2] == EOS_CLI):
        yield from data.splitlines()


def _finding(rule: Rule, device: str, file: str, message: str) -> Finding:
    return rule.finding(device, message, file=f"devices/{device}/{file}")


VALIDATOR = Validator(NAME, "eos.conf", "", lambda files, _place, _most, _releases: validate(files), always=False)
