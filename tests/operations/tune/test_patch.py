"""A fabric file's text with other values: everything else stays."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from railweave.errors import InputError
from railweave.operations.tune.patch import amended, scalar, unified

TEXT = """\
# the head
name: a   # stays
fabrics:
  backend:
    qos: {classes: {no-loss: {ecn: {min_fill: 5}}}}  # in one line
    load_balancing:
      mode: ecmp      # why

      # after it
    mtu: {}
servers:
- {names: "a-[1-2]"}
hosts:
"""
MIN_FILL = ("fabrics", "backend", "qos", "classes", "no-loss", "ecn", "min_fill")


@pytest.mark.parametrize(
    ("path", "value", "before", "after"),
    [
        (MIN_FILL, 70, "{min_fill: 5}", "{min_fill: 70}"),
        ((*MIN_FILL[:-1], "max_fill"), 95, "{min_fill: 5}", "{min_fill: 5, max_fill: 95}"),
        (("fabrics", "backend", "load_balancing", "mode"), "spray", "mode: ecmp ", "mode: spray "),
        (
            ("fabrics", "backend", "load_balancing", "dlb", "sampling_rate"),
            1000,
            "mode: ecmp      # why\n",
            "mode: ecmp      # why\n      dlb:\n        sampling_rate: 1000\n",
        ),
        (("fabrics", "backend", "mtu", "fabric"), 9000, "mtu: {}", "mtu: {fabric: 9000}"),
        (("hosts", "job", "qps_per_connection"), 4, "hosts:\n", "hosts: {job: {qps_per_connection: 4}}\n"),
        (("description",), "a: b", "hosts:\n", 'hosts:\ndescription: "a: b"\n'),
    ],
)
def test_one_value_changes_and_nothing_else(path: tuple[str, ...], value: object, before: str, after: str) -> None:
    assert amended(TEXT, "a.yaml", {path: value}) == TEXT.replace(before, after)  # type: ignore[dict-item]


def test_several_values_at_once() -> None:
    found = amended(TEXT, "a.yaml", {MIN_FILL: 9, ("hosts", "job", "qps_per_connection"): 2, ("name",): "b"})
    assert "min_fill: 9" in found
    assert found.endswith("hosts: {job: {qps_per_connection: 2}}\n")
    assert "name: b   # stays" in found


def test_what_an_alias_repeats_is_refused_with_its_line() -> None:
    text = "x: 1\na: &one {min_fill: 5}\nb: *one\n"
    with pytest.raises(InputError, match=r"a\.yaml:2: the value cannot be changed here alone"):
        amended(text, "a.yaml", {("b", "min_fill"): 7})


def test_a_file_without_an_end_of_line() -> None:
    assert amended("a: {b: 1}\nc:\n  d: 2", "a.yaml", {("c", "e"): 3}) == "a: {b: 1}\nc:\n  d: 2\n  e: 3\n"


@given(st.one_of(st.text(max_size=8), st.integers(-9, 9), st.booleans()))
@settings(max_examples=200, deadline=None)
def test_a_scalar_is_read_as_what_was_written(value: str | int | bool) -> None:
    import yaml

    from railweave.model.intent.reading.document import plain

    text = scalar(value)
    read = yaml.safe_load(text) if text.startswith('"') else plain(text)
    assert read == value
    assert type(read) is type(value)


def test_the_patch_is_one_that_patch_takes() -> None:
    found = unified(TEXT, amended(TEXT, "a.yaml", {MIN_FILL: 70}), "a.yaml")
    assert found.splitlines()[:2] == ["--- a.yaml", "+++ a.yaml"]
    assert [line for line in found.splitlines()[2:] if line[:1] in "+-"] == [
        "-    qos: {classes: {no-loss: {ecn: {min_fill: 5}}}}  # in one line",
        "+    qos: {classes: {no-loss: {ecn: {min_fill: 70}}}}  # in one line",
    ]
    assert unified(TEXT, TEXT, "a.yaml") == ""
