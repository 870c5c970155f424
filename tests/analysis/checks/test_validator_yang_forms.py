"""Rows of Junos' forms that claim Juniper's published models: those models take every statement of each, and of no other."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from tests.systems.form_corpus import covering

from railweave.systems import system
from railweave.systems.forms import forms_of
from railweave.systems.junos import validator

pytest.importorskip("libyang")


def test_models_take_every_form_that_claims_them() -> None:
    folder = os.environ.get("RAILWEAVE_YANG")
    if folder is None:
        pytest.skip("set RAILWEAVE_YANG to a folder of published models")
    forms, configs = forms_of("junos"), covering("junos")
    report = validator.validate({str(at): system("junos").files(one) for at, one in enumerate(configs)}, Path(folder))
    assert report.ran, report.reason
    found = re.search(r"models (\S+) of", report.reason)
    source = next((key for key, one in forms.documents.items() if found and one.release == found[1]), None)
    if source is None:
        pytest.skip(f"rows name other models than these: {report.reason}")
    lines = {line for one in configs for line in system("junos").lines(one)}
    refused = {
        form.text
        for one in report.findings
        for line in lines
        if line.startswith(one.what.partition(": ")[0])
        for form in forms.of(line)
    }
    claimed = {one.text for one in forms.forms if source in one.sources}
    assert refused & claimed == set()
    if source == "qfx":
        unpublished = {one.text for one in forms.forms if not one.kinds or "model" not in one.kinds}
        assert {one.text for one in forms.forms} - claimed - refused == unpublished
