"""What AVD passes on unread is counted and named: its schema stands for no form of those lines, and for every other."""

from __future__ import annotations

import copy
import json
from functools import cache
from typing import Any

import pytest
from tests.access import protected
from tests.analysis.checks.test_validator_avd_mutations import everything
from tests.systems.form_corpus import covering

from railweave.model.config.sections import flat, parse
from railweave.systems.eos import render as eos
from railweave.systems.eos import validator as avd
from railweave.systems.forms import forms_of

pyavd = pytest.importorskip("pyavd")
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")
UNREAD = "permit unread"
"""Words in the place of free text."""


@cache
def read_by_avd() -> dict[str, set[bool]]:
    """Whether AVD's templates print the lines of each form from keys of its schema, by the text of the form."""
    forms = forms_of("eos")
    found: dict[str, set[bool]] = {}
    for config in covering("eos"):
        data = json.loads(eos.files(config)["avd.json"])
        validated = pyavd.validate_structured_config(without_free_text(data)).validated_data
        assert validated is not None
        printed = set(flat(parse(pyavd.get_device_config(validated))))
        for line in eos.lines(config):
            for form in forms.of(line):
                found.setdefault(form.text, set()).add(printed.issuperset(line.splitlines()))
    return found


def without_free_text(data: Any, key: str = "") -> Any:
    """The data with nothing in it that AVD does not read."""
    if isinstance(data, dict):
        parts = {name: (f"{key}.{name}" if key else name) for name in data if name != avd.EOS_CLI}
        return {name: without_free_text(data[name], path) for name, path in parts.items()}
    if isinstance(data, list):
        return [without_free_text(one, key) for one in data]
    return UNREAD if key in avd.FREE_TEXT else copy.copy(data)


def test_rows_name_the_schema_where_it_reads_the_line() -> None:
    forms = {one.text: one for one in forms_of("eos").forms}
    read = read_by_avd()
    assert [text for text, ways in read.items() if len(ways) > 1] == [], "a form of which AVD reads some lines only"
    wrong = [text for text, ways in read.items() if ("avd" in forms[text].sources) is not (True in ways)]
    assert wrong == [], "`avd` is a source of exactly the forms that its templates print from its schema's keys"


def test_free_text_is_counted() -> None:
    config = everything()
    data = json.loads(eos.files(config)["avd.json"])
    unread = list(avd.unread(data))
    report = avd.validate({"leaf": eos.files(config)})
    assert f"; {len(unread)} lines are outside its schema" in report.reason
    lists = [one for policy in config.bgp.policies for one in policy.terms] if config.bgp else []
    assert sum(one.startswith(("ip address prefix-list", "ipv6 address prefix-list")) for one in unread) >= sum(
        bool(one.match.prefix_list) for one in lists
    )
    assert sum("to traffic-class" in one for one in unread) == sum(
        line.startswith("qos map dscp") for line in eos.lines(config)
    )


def test_entries_of_access_lists_are_counted() -> None:
    plain, listed = (json.loads(eos.files(one)["avd.json"]) for one in (everything(), protected(everything())))
    assert len(list(avd.unread(listed))) > len(list(avd.unread(plain)))
    assert "deny any" in set(avd.unread(listed)) - set(avd.unread(plain))
