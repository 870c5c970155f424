"""YAML with lines: YAML 1.2 scalars, duplicate keys, and messages that point at the right line."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from railweave.design.sizing.address_rules import read_rules
from railweave.errors import SpecError
from railweave.live.collect.access_file import read_access
from railweave.model.intent.fabric import FabricFile
from railweave.model.intent.job_file import read_jobs
from railweave.model.intent.reading.document import read_document, validate
from railweave.model.intent.scenario import read_scenario
from railweave.model.intent.study import read_study
from railweave.outputs.report.bom import read_prices
from tests.conftest import ROOT
from tests.model.intent.documents import document


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("no", "no"),
        ("yes", "yes"),
        ("on", "on"),
        ("off", "off"),
        ("NO", "NO"),
        ("true", True),
        ("false", False),
        ("null", None),
        ("~", None),
        ("", None),
        ("58:11:22:33:44:55", "58:11:22:33:44:55"),
        ("58:11:22", "58:11:22"),
        ("1_000", "1_000"),
        ("2026-05-01", "2026-05-01"),
        ("010", 10),
        ("-7", -7),
        ("+7", 7),
        ("0x1f", 31),
        ("0o17", 15),
        ("0b11", "0b11"),
        ("1.5", 1.5),
        ("1e3", 1000.0),
        (".5", 0.5),
        ("25.4R1", "25.4R1"),
        ("400G", "400G"),
        ("fc00::/16", "fc00::/16"),
        ("10.0.0.1", "10.0.0.1"),
        ('"7"', "7"),
        ("'true'", "true"),
        ('""', ""),
    ],
)
def test_scalars_follow_yaml_1_2(tmp_path: Path, text: str, value: object) -> None:
    found = document(tmp_path, f"key: {text}\n").value["key"]
    assert found == value
    assert type(found) is type(value)


def test_block_text_is_text(tmp_path: Path) -> None:
    assert document(tmp_path, "key: |\n  12\n").value == {"key": "12\n"}


LINES = """\
# a comment
name: pod1

fabrics:
  backend:
    topology: {stripes: 2,
      spines: 4}
    leaf:
      extra:
        junos: |
          system {
          }
servers:
  - names: a
    model: b
  -
    names: c
"""


@pytest.mark.parametrize(
    ("location", "line"),
    [
        ((), 2),
        (("name",), 2),
        (("fabrics",), 4),
        (("fabrics", "backend"), 5),
        (("fabrics", "backend", "topology"), 6),
        (("fabrics", "backend", "topology", "stripes"), 6),
        (("fabrics", "backend", "topology", "spines"), 7),
        (("fabrics", "backend", "leaf", "extra", "junos"), 10),
        (("servers", 0), 14),
        (("servers", 0, "model"), 15),
        (("servers", 1), 17),
        (("fabrics", "backend", "qos", "classes", "x"), 5),
        (("overrides", "cables", 3), 2),
    ],
)
def test_line_of_a_part_or_of_what_is_around_it(tmp_path: Path, location: tuple[str | int, ...], line: int) -> None:
    assert document(tmp_path, LINES).line(location) == line


@given(st.lists(st.integers(0, 3), min_size=1, max_size=8))
def test_every_key_knows_its_line(tmp_path_factory: pytest.TempPathFactory, blanks: list[int]) -> None:
    lines: list[str] = []
    expected: dict[str, int] = {}
    for number, above in enumerate(blanks):
        lines += ["# between"] * above
        lines.append(f"key{number}: {{a: 1}}")
        expected[f"key{number}"] = len(lines)
    read = document(tmp_path_factory.mktemp("d"), "\n".join(lines))
    assert {key: read.line((key,)) for key in expected} == expected
    assert {key: read.line((key, "a")) for key in expected} == expected


@pytest.mark.parametrize(
    ("text", "line", "what", "fix"),
    [
        ("a: 1\nb: 2\na: 3\n", 3, "duplicate key 'a'", "it is first given on line 1"),
        ("a:\n  b: {c: 1,\n    c: 2}\n", 3, "duplicate key 'c'", "it is first given on line 2"),
        ("1: x\n0x1: y\n", 2, "duplicate key 1", "it is first given on line 1"),
        ("a: 1\ntrue: 2\n", 2, "a key must be a word", "write `key: value`"),
        ("a: 1\n[x, y]: 2\n", 2, "a key must be a word", "write `key: value`"),
        ("{a: 1,\n ~: 2}\n", 2, "a key must be a word", "write `key: value`"),
    ],
)
def test_bad_keys(tmp_path: Path, text: str, line: int, what: str, fix: str) -> None:
    with pytest.raises(SpecError) as caught:
        document(tmp_path, text)
    (problem,) = caught.value.problems
    assert (problem.place.line, problem.what, problem.fix) == (line, what, fix)


def test_a_key_may_stand_in_two_maps(tmp_path: Path) -> None:
    assert document(tmp_path, "a: {x: 1}\nb: {x: 2}\n").value == {"a": {"x": 1}, "b": {"x": 2}}


def test_a_missing_file_names_the_nearest(tmp_path: Path) -> None:
    (tmp_path / "backend.yaml").touch()
    with pytest.raises(SpecError) as caught:
        read_document(tmp_path / "backnd.yaml")
    assert str(caught.value) == f"{tmp_path}/backnd.yaml: no such file\n    did you mean {tmp_path}/backend.yaml?"


def test_a_file_that_is_not_text(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_bytes(b"name: \xff\xfe\n")
    with pytest.raises(SpecError, match=r"a\.yaml:1: not UTF-8 text \(byte 0xff\)"):
        read_document(tmp_path / "a.yaml")


def test_a_folder_is_not_a_file(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="cannot be read: "):
        read_document(tmp_path)


FABRIC = """\
name: pod1
fabrics:
  backend:
    topology: {{stripes: 2, spines: 4}}
    leaf:
      device: qfx5240-64od
{extra}
servers:
  - {{names: a, model: h100-8gpu-cx7}}
"""


@pytest.mark.parametrize(
    ("extra", "key", "fix"),
    [
        ("    lod_balancing: {}", "fabrics.backend.lod_balancing", "did you mean 'load_balancing'?"),
        ("      relese: 25.4R1", "fabrics.backend.leaf.relese", "did you mean 'release'?"),
        ("    colors: [{nmae: green}]", "fabrics.backend.colors.0.nmae", "did you mean 'name'?"),
        (
            "    qos: {classes: {x: {queue: 5, losless: true}}}",
            "fabrics.backend.qos.classes.x.losless",
            "did you mean 'lossless'?",
        ),
        (
            "      qos: {pfc: {watchdog: {recover: 200}}}",
            "fabrics.backend.leaf.qos.pfc.watchdog.recover",
            "did you mean 'recovery'?",
        ),
        ("    emulation: {zzz: 1}", "fabrics.backend.emulation.zzz", "known keys here: path_color"),
    ],
)
def test_an_unknown_key_gets_the_nearest_known_one(tmp_path: Path, extra: str, key: str, fix: str) -> None:
    with pytest.raises(SpecError) as caught:
        validate(FabricFile, document(tmp_path, FABRIC.format(extra=extra)))
    found = [(problem.place.line, problem.what, problem.fix) for problem in caught.value.problems]
    assert (7, f"unknown key {key!r}", fix) in found


def test_every_mistake_is_named_in_file_order(tmp_path: Path) -> None:
    text = (
        FABRIC.format(extra="    mtu: {irb: 100000}")
        .replace("stripes: 2", "stripes: -1")
        .replace("name: pod1", "nam: x")
    )
    with pytest.raises(SpecError) as caught:
        validate(FabricFile, document(tmp_path, text))
    assert [(problem.place.line, problem.what.split(":")[0]) for problem in caught.value.problems] == [
        (1, "'name' is missing from the file"),
        (1, "unknown key 'nam'"),
        (4, "fabrics.backend.topology.stripes"),
        (7, "fabrics.backend.mtu.irb"),
    ]


@pytest.mark.parametrize(
    ("read", "fix"),
    [
        (read_access, 'docs/collect.md, "How devices are reached", shows an access file'),
        (read_study, "docs/simulation-files.md shows a study file"),
        (read_jobs, "docs/simulation-files.md shows a job file"),
        (lambda path: read_scenario(path, "sim"), "docs/simulation-files.md shows a scenario file"),
        (read_prices, 'docs/hardware.md, "Power and prices", shows a prices file'),
        (read_rules, "docs/howto/size-a-network.md shows a file for --addresses"),
    ],
)
@pytest.mark.parametrize(
    ("text", "what"), [("", "the file is empty"), ("- 1\n", "the file is a list, not a map"), (None, "no such file")]
)
def test_a_wrong_file_names_the_page_of_its_kind(
    tmp_path: Path, read: Callable[[Path], object], fix: str, text: str | None, what: str
) -> None:
    file = tmp_path / "it.yaml"
    if text is not None:
        file.write_text(text)
    with pytest.raises(SpecError) as caught:
        read(file)
    assert [(problem.what, problem.fix) for problem in caught.value.problems] == [(what, fix)]
    places = re.findall(r"docs/[a-z/-]+\.md|(?<=\")[^\"]+(?=\")", fix)
    page = (ROOT / places[0]).read_text()
    assert all(f"## {heading}\n" in page for heading in places[1:])
