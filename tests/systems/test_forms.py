"""Every statement that is rendered has one row with its source, and no row claims a check that did not happen."""

from __future__ import annotations

import pytest

from railweave.systems import systems
from railweave.systems.forms import forms_of
from tests.systems.form_corpus import statements

MOST_UNSOURCED = 0.05
"""Of a system's forms, those that no public source has."""

SYSTEMS = systems()


@pytest.mark.parametrize("nos", SYSTEMS)
def test_every_statement_has_a_row(nos: str) -> None:
    forms = forms_of(nos)
    rows = {line: forms.of(line) for line in statements(nos)}
    assert [line for line, found in rows.items() if not found] == [], "add a row with its source to forms.yaml"
    assert [(line, [one.text for one in found]) for line, found in rows.items() if len(found) > 1] == []


@pytest.mark.parametrize("nos", [one for one in SYSTEMS if one != "dell_sonic"])
def test_every_row_is_rendered(nos: str) -> None:
    """A row that nothing renders hides what its pattern would let through. Dell's rows are those of a grammar, which also reads `extra:`."""
    forms = forms_of(nos)
    rendered = {one.text for line in statements(nos) for one in forms.of(line)}
    assert [one.text for one in forms.forms if one.text not in rendered] == []


@pytest.mark.parametrize("nos", SYSTEMS)
def test_few_rows_have_no_source(nos: str) -> None:
    rows = forms_of(nos).forms
    unsourced = [one.text for one in rows if not one.sources]
    assert len(unsourced) <= MOST_UNSOURCED * len(rows), unsourced


@pytest.mark.parametrize("nos", SYSTEMS)
def test_what_nothing_has_read_is_looked_at(nos: str) -> None:
    """A form that only a document has, or nothing, says what shows on a switch that it works."""
    weak = [one.text for one in forms_of(nos).forms if one.weak and not one.look_for]
    assert weak == []


@pytest.mark.parametrize("nos", SYSTEMS)
def test_every_document_is_a_source(nos: str) -> None:
    forms = forms_of(nos)
    assert set(forms.documents) == {key for one in forms.forms for key in one.sources}


def test_a_form_is_words_and_places() -> None:
    forms = forms_of("eos")
    (form,) = forms.of("router bgp 4200001001 / neighbor spine-green route-map to-spines out")
    assert form.text == "router bgp <number> / neighbor <name> route-map <name> <in|out>"
    assert forms.of("router bgp 4200001001 / neighbor spine-green route-map to-spines both") == []
    assert forms.of("router bgp x / neighbor spine-green route-map to-spines out") == []
    assert forms.of("interface Vlan2 / speed 400g-4") == []
