"""Rows of SONiC's forms that claim its published models: those models take every field of each."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.systems.form_corpus import covering

from railweave.systems import system
from railweave.systems.forms import forms_of
from railweave.systems.sonic import validator

pytest.importorskip("libyang")


def test_models_take_every_form_that_claims_them() -> None:
    """Of branch 202505 or a later one: fields that came later are refused by the former, and are claimed of none here."""
    folder = os.environ.get("RAILWEAVE_SONIC_YANG")
    if folder is None:
        pytest.skip("set RAILWEAVE_SONIC_YANG to a folder of published models, branch 202505 or later")
    configs = covering("sonic")
    report = validator.validate({str(at): system("sonic").files(one) for at, one in enumerate(configs)}, Path(folder))
    assert report.ran, report.reason
    lines = {line for one in configs for line in system("sonic").lines(one)}
    refused = {
        form.text
        for one in report.findings
        for line in lines
        if line.startswith(_place(one.what))
        for form in forms_of("sonic").of(line)
    }
    later = {one.text for one in forms_of("sonic").forms if "later" in one.sources}
    assert later
    assert refused <= later, [one.what for one in report.findings]


def _place(what: str) -> str:
    """Where a finding is: a field of a row, or a table."""
    if what.startswith("no model has a table "):
        return what.rpartition(" ")[2] + "|"
    row, _, rest = what.partition(": ")
    return f"{row} {rest.partition(chr(39))[2].partition(chr(39))[0]}".rstrip()
