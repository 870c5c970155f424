"""The changelog names what a user's scripts would notice: names that are new since the last release, and names that are gone."""

from __future__ import annotations

import re
from pathlib import Path

from docs.interface import RECORD, interface

from railweave import __version__

ROOT = Path(__file__).parent.parent.parent
CHANGELOG = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def unnamed(recorded: set[str], current: set[str], section: str) -> list[str]:
    """Return each change of names that a section of the changelog does not have."""
    words = set(re.findall(r"[a-z0-9_-]+", " ".join(re.findall(r"`([^`]+)`", section))))
    faults: list[str] = []
    for kind, names in (("new", current - recorded), ("gone", recorded - current)):
        for name in sorted(names):
            what, *parts = name.split()
            verb = " ".join(parts[:-1])
            if what == "finding" and kind == "new":
                continue  # docs/findings.md lists them; a script that knows none of them is not broken
            if what == "option" and f"verb {verb}" in (current - recorded if kind == "new" else recorded - current):
                continue  # all options of a verb come and go with it
            if parts[-1] not in words or (what == "option" and parts[0] not in words):
                faults.append(f"{kind}: {name}")
    return faults


def test_the_newest_section_names_every_change_of_names() -> None:
    version, section = re.findall(r"^## (\S+?), [^\n]*\n(.*?)(?=^## |\Z)", CHANGELOG, re.MULTILINE | re.DOTALL)[0]
    assert version == __version__
    assert unnamed(set(RECORD.read_text(encoding="utf-8").split("\n")) - {""}, set(interface()), section) == []


def test_a_name_that_is_not_in_the_section_is_found() -> None:
    recorded = {"verb check", "option check --old", "field Management vrf", "finding gone"}
    current = {"verb check", "option check --new", "verb flows", "option flows --seed", "finding fresh"}
    faults = [
        "new: option check --new",
        "new: verb flows",
        "gone: field Management vrf",
        "gone: finding gone",
        "gone: option check --old",
    ]
    assert unnamed(recorded, current, "") == faults
    assert unnamed(recorded, current, "`check --new`, `flows`; gone: `vrf`, `gone`, `check --old`") == []


def test_older_sections_have_a_date() -> None:
    headings = re.findall(r"^## (.*)$", CHANGELOG, re.MULTILINE)
    assert headings[0].endswith("not released yet") or re.search(r"\d{4}-\d\d-\d\d$", headings[0])
    for heading in headings[1:]:
        assert re.fullmatch(r"\d+\.\d+\.\d+, \d{4}-\d\d-\d\d", heading), heading
