"""The Junos validator: on a small model set of the published style wherever libyang is, on the published ones where given."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.conftest import example

from railweave.model.device.build import device_config
from railweave.model.findings.validators import MOST_VALIDATED, sample
from railweave.systems.junos import validator as junos_yang
from railweave.systems.junos.parse import parse
from railweave.systems.junos.render import files as junos_files
from railweave.systems.junos.yang_models import ModelsError, collect, repaired

if TYPE_CHECKING:
    from railweave.model.findings import Finding

EXTENSIONS = """module junos-common-ddl-extensions {
  namespace "urn:test:ddl"; prefix junos;
  extension cli-feature { argument feature; }
}
"""
ROOT = """module junos-toy-conf-root {
  namespace "urn:test:root"; prefix jc;
  container configuration { }
}
"""
SYSTEM = r"""module junos-toy-conf-system {
  namespace "urn:test:system"; prefix sys;
  import junos-toy-conf-root { prefix jc; }
  import junos-common-ddl-extensions { prefix junos; }
  augment "/jc:configuration" {
    container system {
      leaf host-name { type string { pattern "[a-z]+\d*"; } }
      leaf level { type enumeration { enum low; enum high; } }
      leaf age { type uint16 { range "1 .. 100"; } }
      leaf-list domain { type string; }
      leaf one { type empty; }
      choice mode { case a { container fast { } } case b { leaf slow { type empty; } } }
      list server {
        key name;
        leaf name { junos:cli-feature "nokeyword"; type string; }
        leaf port { type uint16; }
        leaf prefer { type empty; }
      }
      container syslog {
        list host {
          key name;
          leaf name { type string; }
          list contents {
            key name;
            leaf name { type enumeration { enum any; enum user; } }
            leaf notice { junos:cli-feature "nokeyword"; type enumeration { enum notice; enum info; } }
          }
        }
      }
      list filter {
        key "name choice-ident choice-value";
        leaf name { type string; }
        leaf choice-ident { type enumeration { enum exact; enum length-range; } }
        leaf choice-value { type string; }
        leaf accept { type empty; }
      }
      list change {
        key "choice-ident choice-value label";
        leaf choice-ident { type enumeration { enum add; enum delete; } }
        leaf choice-value { type string; }
        leaf label { junos:cli-feature "nokeyword"; type string; }
      }
    }
  }
}
"""

GOOD = """
system {
    host-name leaf12;
    level high;
    age 7;
    domain [ a b ];
    one;
    fast;
    server 10.0.0.1 port 5 prefer;
    server 10.0.0.2;
    syslog {
        host 10.0.0.3 {
            any notice;
            user info;
        }
    }
    filter a exact accept;
    filter b length-range /24-/32;
    change add x;
    change delete y;
}
"""


@pytest.fixture
def toy(tmp_path: Path) -> Path:
    """A folder with a model set of a few nodes, written as Juniper writes theirs."""
    if importlib.util.find_spec("libyang") is None:
        pytest.skip("libyang is not installed (extra `yang`)")
    folder = tmp_path / "23.4R2" / "junos-toy" / "conf-with-extensions"
    folder.mkdir(parents=True)
    (folder / "junos-toy-conf-root@2023-01-01.yang").write_text(ROOT)
    (folder / "junos-toy-conf-system@2023-01-01.yang").write_text(SYSTEM)
    (tmp_path / "23.4R2" / "common").mkdir()
    (tmp_path / "23.4R2" / "common" / "junos-common-ddl-extensions@2023-01-01.yang").write_text(EXTENSIONS)
    return folder


@pytest.fixture
def published() -> Path:
    """The published models that the environment names."""
    folder = os.environ.get("RAILWEAVE_YANG")
    if folder is None:
        pytest.skip("set RAILWEAVE_YANG to a folder of published models (junos-qfx/conf-with-extensions)")
    if importlib.util.find_spec("libyang") is None:
        pytest.skip("libyang is not installed (extra `yang`)")
    return Path(folder)


def validated(text: str, models: Path) -> list[Finding]:
    report = junos_yang.validate({"leaf": {"junos.conf": text}}, models)
    assert report.ran, report.reason
    return report.findings


def rendered(name: str, *devices: str) -> dict[str, dict[str, str]]:
    return {device: junos_files(device_config(example(name), device)) for device in devices}


def test_only_escapes_that_yang_does_not_have_are_doubled() -> None:
    text = r"""pattern "[0-9]\.\d+"; description "a \"b\"\n\t\\"; pattern '\d'; // "\d
"""
    assert (
        repaired(text)
        == r"""pattern "[0-9]\\.\\d+"; description "a \"b\"\n\t\\"; pattern '\d'; // "\d
"""
    )
    assert repaired(repaired(text)) == repaired(text)


def test_folders_without_one_usable_set_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelsError, match="no Junos configuration model"):
        collect(tmp_path)
    (tmp_path / "junos-a-conf-root.yang").write_text(ROOT)
    with pytest.raises(ModelsError, match="command-line extensions"):
        collect(tmp_path)
    (tmp_path / "junos-b-conf-root.yang").write_text(ROOT)
    with pytest.raises(ModelsError, match="several model sets"):
        collect(tmp_path)


def test_every_shape_of_statement_is_accepted(toy: Path) -> None:
    report = junos_yang.validate({"leaf": {"junos.conf": GOOD}}, toy)
    assert (report.ran, report.validated, report.findings) == (True, 1, [])
    assert report.reason.startswith("junos-toy models 23.4R2 of 2023-01-01, libyang ")


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ("host-name leaf12", "host-name Leaf", "system host-name Leaf: "),
        ("level high", "level hihg", "system level hihg: "),
        ("age 7", "age 101", "system age 101: "),
        ("one;", "oen;", "system oen: no such word here ('oen')"),
        ("one;", "one two;", "system two: no such word here ('two')"),
        ("age 7;", "age;", "system age: a value is missing ('age')"),
        ("age 7;", "age [ 7 8 ];", "system age: takes one value, not a list ('age')"),
        ("server 10.0.0.2;", "server;", "system server: a name is missing ('server')"),
        ("server 10.0.0.1 port 5", "server 10.0.0.1 port 5x", "system server 10.0.0.1 port 5x: "),
        ("user info", "usr info", "system syslog host 10.0.0.3 usr info: "),
        ("filter a exact accept", "filter a exactly", "system filter a exactly: "),
        ("filter a exact accept", "filter a exact acept", "system filter a exact acept: no such word"),
        ("change add x", "change ad x", "system change ad x: "),
        ("fast;", "fast;\n slow;", "system: "),
    ],
)
def test_what_is_wrong_is_named_with_its_path(toy: Path, old: str, new: str, what: str) -> None:
    (finding,) = validated(GOOD.replace(old, new), toy)
    assert (finding.id, finding.severity, finding.file) == ("validator-junos-yang", "error", "devices/leaf/junos.conf")
    assert finding.what.startswith(what)


def test_every_fault_is_found_in_one_run(toy: Path) -> None:
    text = GOOD.replace("level high", "level hihg").replace("age 7", "age 101").replace("user info", "user inof")
    assert len(validated(text, toy)) == 3


def test_lines_are_those_of_a_file_as_it_is_printed(toy: Path) -> None:
    printed = "system {\n    syslog {\n        host a {\n            any notice;\n        }\n    }\n    age 101;\n    oen;\n}\n"
    assert sorted(finding.line for finding in validated(printed, toy)) == [7, 8]
    assert {finding.line for finding in validated("# comment\n" + printed, toy)} == {0}


def test_unreadable_text_is_a_finding(toy: Path) -> None:
    (finding,) = validated("system { age 7;", toy)
    assert "cannot be read: line 1" in finding.what


def test_unusable_models_skip_the_validator(tmp_path: Path) -> None:
    if importlib.util.find_spec("libyang") is None:
        pytest.skip("libyang is not installed (extra `yang`)")
    report = junos_yang.validate({"leaf": {"junos.conf": GOOD}}, tmp_path)
    assert not report.ran
    assert "--yang DIR" in report.reason


def test_of_many_devices_each_shape_and_a_sample_are_validatord() -> None:
    texts = [f'system {{ host-name leaf{n}; x "{n} y"; a fc00:{n}::1/64; }}' for n in range(200)]
    texts[137] = "system { other 1; }"
    read = [junos_yang._Read(f"leaf{n}", parse(text), numbered=False) for n, text in enumerate(texts)]
    chosen = [one.device for one in sample(read, junos_yang._shape)]
    assert len(chosen) == MOST_VALIDATED
    assert {"leaf0", "leaf137"} <= set(chosen)
    assert sample(read[:64], junos_yang._shape) == read[:64]


@pytest.mark.parametrize("name", ["h100-rlb", "h100-rlb-8up"])
def test_published_models_accept_what_is_rendered(published: Path, name: str) -> None:
    report = junos_yang.validate(rendered(name, "stripe1-leaf1", "spine1"), published)
    assert (report.ran, report.validated) == (True, 2)
    assert {(finding.id, finding.severity) for finding in report.findings} == {("validator-junos-unknown", "info")}
    assert any("fabric-advertise" in finding.what for finding in report.findings)


def test_published_models_refuse_mistakes_at_their_lines(published: Path) -> None:
    text = rendered("h100-rlb", "stripe1-leaf1")["stripe1-leaf1"]["junos.conf"]
    mistakes = {
        "buffer-monitor-enable": "bufer-monitor-enable",
        "watchdog-action drop": "watchdog-action dorp",
        "max-advertisement-interval 600": "max-advertisement-interval 6000",
    }
    expected: set[int] = set()
    for old, new in mistakes.items():
        expected |= {number for number, line in enumerate(text.splitlines(), 1) if old in line}
        text = text.replace(old, new)
    errors = [finding for finding in validated(text, published) if finding.severity == "error"]
    assert {finding.line for finding in errors} == expected
    assert all(any(new in finding.what for finding in errors) for new in mistakes.values())
