"""``status:`` of a fabric file changed as text."""

from __future__ import annotations

import pytest
import yaml

from railweave.model.intent.status import with_active, with_drained, without_drained

FILE = "# ours\nname: t  # short\nfabrics: {}\n"
BLOCK = """\
name: t
status:
  # repaired on Monday
  "b[3-4]": planned   # not delivered
  spine1: failed

hosts: {}  # last
"""


def test_a_file_without_status_gets_it_at_its_end_and_loses_it_again() -> None:
    text = with_drained(FILE, ["spine2", "a--b"])
    assert text == f"{FILE}\nstatus:\n  spine2: drained\n  a--b: drained\n"
    assert without_drained(text, ["a--b"]) == f"{FILE}\nstatus:\n  spine2: drained\n"
    assert without_drained(text, ["spine2", "a--b"]) == FILE


def test_a_line_comes_behind_the_others_and_everything_else_stays() -> None:
    text = with_drained(BLOCK, ["spine2"])
    assert text == BLOCK.replace("  spine1: failed\n", "  spine1: failed\n  spine2: drained\n")
    assert without_drained(text, ["spine2"]) == BLOCK


def test_a_line_that_says_otherwise_goes_and_the_new_one_is_the_last() -> None:
    text = with_drained(BLOCK, ["b[3-4]"])
    assert list(yaml.safe_load(text)["status"].items()) == [("spine1", "failed"), ("b[3-4]", "drained")]
    assert "# repaired on Monday" in text


def test_a_status_in_one_line_is_written_over_several() -> None:
    text = with_drained('name: t\nstatus: {"spine*": planned, a: failed}  # why\nhosts: {}\n', ["spine2"])
    assert text == "name: t\nstatus:  # why\n  spine*: planned\n  a: failed\n  spine2: drained\nhosts: {}\n"


@pytest.mark.parametrize(
    "name", ["spine2", "H100-01:gpu0_eth", "a:et-0/0/1:0--b:et-0/0/2:0", "no", "12", "a[1-2]", "*-x"]
)
def test_every_name_is_read_back_as_it_was_given(name: str) -> None:
    text = with_drained(FILE, [name])
    assert yaml.safe_load(text)["status"] == {name: "drained"}
    assert without_drained(text, [name]) == FILE


def test_what_a_line_for_several_says_is_taken_back_by_a_line_of_its_own() -> None:
    text = with_active('status:\n  "spine*": drained\n', ["spine2"])
    assert text == 'status:\n  "spine*": drained\n  spine2: active\n'
    assert without_drained(text, ["spine9"]) == text


def test_a_file_that_ends_without_a_newline() -> None:
    assert with_drained("status:\n  a: failed", ["b"]) == "status:\n  a: failed\n  b: drained\n"
