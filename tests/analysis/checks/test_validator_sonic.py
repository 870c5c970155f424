"""The SONiC validator: on small models of the published style wherever libyang is, on the published ones where given."""

from __future__ import annotations

import importlib.util
import os
from functools import cache
from pathlib import Path

import pytest
from tests.conftest import SMALL, frr_root
from tests.retarget import ON_DELL, retargeted

from railweave.analysis.checks.validators import validate_all
from railweave.model.device.build import device_config
from railweave.systems.dell_sonic import render as dell_sonic
from railweave.systems.dell_sonic.lint import lint as lint_dell
from railweave.systems.frr import validator as vtysh
from railweave.systems.sonic import render as sonic
from railweave.systems.sonic import validator as sonic_yang
from railweave.systems.sonic.lint import lint as lint_sonic
from railweave.systems.sonic.validator import sources

needs_libyang = pytest.mark.skipif(not importlib.util.find_spec("libyang"), reason="libyang is not installed")

TYPES = """module sonic-types {
  yang-version 1.1; namespace "urn:test:types"; prefix types;
  {% if yang_model_type == "cvl" %}
  typedef speed { type string; }
  {% else %}
  typedef speed { type uint32 { range "1..800000"; } }
  {% endif %}
}
"""
PORT = """module sonic-port {
  yang-version 1.1; namespace "urn:test:port"; prefix port;
  import sonic-types { prefix types; }
  container sonic-port {
    container PORT {
      list PORT_LIST {
        key name;
        leaf name { type string; }
        leaf speed { mandatory true; type types:speed; }
        leaf fec { type enumeration { enum rs; enum none; } }
        leaf-list tags { type string; }
        leaf on { type boolean; }
        leaf bytes { type uint64; }
      }
    }
  }
}
"""
QUEUE = """module sonic-queue {
  yang-version 1.1; namespace "urn:test:queue"; prefix queue;
  import sonic-port { prefix port; }
  container sonic-queue {
    container QUEUE {
      list QUEUE_LIST {
        key "ifname index";
        leaf ifname { type leafref { path "/port:sonic-port/port:PORT/port:PORT_LIST/port:name"; } }
        leaf index { type string; }
      }
    }
    container MAP {
      list MAP_LIST {
        key name;
        leaf name { type string; }
        list MAP { key dscp; leaf dscp { type string { pattern "[0-9]{1,2}"; } } leaf tc { type string; } }
      }
    }
    container GLOBAL_TABLE { container global { leaf secret { type string { pattern "[^<>]*"; } } } }
  }
}
"""
GOOD = """{
    "GLOBAL_TABLE": {
        "global": {
            "secret": "<secret:snmp>"
        }
    },
    "MAP": {
        "roce": {
            "26": "3"
        }
    },
    "PORT": {
        "Ethernet0": {
            "speed": "400000",
            "fec": "rs",
            "tags": ["a", "b"],
            "on": "true",
            "bytes": "5000000000"
        }
    },
    "QUEUE": {
        "Ethernet0|3": {}
    }
}
"""


@pytest.fixture
def models(tmp_path: Path) -> Path:
    for place, name, text in (
        ("yang-templates", "sonic-types.yang.j2", TYPES),
        ("yang-models", "sonic-port.yang", PORT),
        ("yang-models", "sonic-queue.yang", QUEUE),
    ):
        (tmp_path / place).mkdir(exist_ok=True)
        (tmp_path / place / name).write_text(text)
    return tmp_path


def validated(text: str, models: Path) -> list[tuple[str, int]]:
    report = sonic_yang.validate({"leaf": {"config_db.json": text}}, models)
    assert report.ran, report.reason
    return [(finding.what, finding.line) for finding in report.findings]


def test_templates_are_filled_in_as_for_a_whole_file(models: Path) -> None:
    assert "uint32" in sources(models)["sonic-types"]
    assert "{%" not in sources(models)["sonic-types"]
    assert "type string" not in sources(models)["sonic-types"]


@needs_libyang
def test_a_good_file_is_accepted_with_secrets_still_open(models: Path) -> None:
    assert validated(GOOD, models) == []


@needs_libyang
@pytest.mark.parametrize(
    ("old", "new", "what", "line"),
    [
        ('"PORT":', '"PORTS":', "no model has a table PORTS", 12),
        ('"fec"', '"fek"', "PORT|Ethernet0: no such field 'fek'", 15),
        ('"rs"', '"rx"', "rx", 15),
        ("400000", "900000", "900000", 14),
        ('"Ethernet0|3"', '"Ethernet4|3"', "Ethernet4", 22),
        ('"Ethernet0|3"', '"Ethernet0|3|4"', "no row has a key like", 22),
        ('"26"', '"ef"', "ef", 9),
        ('"speed": "400000",\n', "", "speed", 0),
        ('"on": "true"', '"on": ["true"]', "takes one value", 17),
        ('"on": "true"', '"on": true', "cannot be read", 0),
    ],
)
def test_mistakes_are_refused_at_their_line(models: Path, old: str, new: str, what: str, line: int) -> None:
    assert old in GOOD
    found = validated(GOOD.replace(old, new, 1), models)
    assert any(what in said for said, _ in found), found
    assert line in {at for _, at in found} or line == 0


def test_it_is_skipped_with_a_reason(tmp_path: Path) -> None:
    files = {"leaf": {"config_db.json": GOOD}}
    assert "--sonic-yang" in sonic_yang.validate(files, None).reason
    if importlib.util.find_spec("libyang"):
        assert "holds no SONiC models" in sonic_yang.validate(files, tmp_path).reason
    names = [report.name for report in validate_all({"leaf": {"frr.conf": ""}})]
    assert "sonic-yang" not in names


@needs_libyang
def test_each_device_is_validated_by_the_models_of_its_branch(
    models: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """A folder a branch: the newer one here has a field more. A branch without a folder is not passed over in silence."""
    place = tmp_path_factory.mktemp("branches")
    for name, more in (("202505", ""), ("202511", "leaf vrf { type string; }")):
        for text in models.rglob("*.yang*"):
            (place / name).mkdir(exist_ok=True)
            body = text.read_text().replace("leaf on { type boolean; }", "leaf on { type boolean; } " + more)
            (place / name / text.name).write_text(body)
    newer = GOOD.replace('"on": "true"', '"on": "true",\n            "vrf": "mgmt"')
    files = {one: {"config_db.json": newer} for one in ("old", "new", "newest")}
    releases = {"old": "202505.1", "new": "202511", "newest": "202605"}
    report = sonic_yang.validate(files, place, None, releases)
    assert report.ran
    assert report.validated == 2
    assert [(one.where, one.what) for one in report.findings] == [("old", "PORT|Ethernet0: no such field 'vrf'")]
    assert "of 202505" in report.reason
    assert "of 202511" in report.reason
    assert "none of 202605 for 1 device, not validated: newest" in report.reason
    alone = sonic_yang.validate({"newest": files["newest"]}, place, None, releases)
    assert not alone.ran
    assert "202605" in alone.reason
    broken = place / "202605"
    broken.mkdir()
    (broken / "sonic-port.yang").write_text("module sonic-port {")
    report = sonic_yang.validate(files, place, None, releases)
    assert [one.where for one in report.findings] == ["old"], (
        "models of another branch that cannot be loaded hide nothing"
    )
    one_set = sonic_yang.validate({"new": files["new"]}, place / "202511", None, releases)
    assert "of which branch is not known" in one_set.reason


@cache
def published() -> Path | None:
    given = os.environ.get("RAILWEAVE_SONIC_YANG")
    return Path(given) if given else None


@pytest.mark.parametrize("name", [*SMALL, "scale-8k"])
def test_every_example_is_clean_on_sonic(name: str) -> None:
    """By every validator that is here; of a scale example one switch of each role."""
    large = name.startswith("scale")
    network = retargeted(name, "dell_sonic" if large else "sonic")
    chosen = {one.role: one for one in network.switches}.values() if large else network.switches
    files = {one.name: sonic.files(device_config(network, one.name, "sonic")) for one in chosen}
    root = frr_root()
    releases = {one.name: device_config(network, one.name, "sonic").release for one in chosen}
    for report in (vtysh.validate(files, root), sonic_yang.validate(files, published(), releases=releases)):
        assert report.findings == []
        assert not report.ran or report.validated == len(files)
    for one in chosen:
        config = device_config(network, one.name, "sonic")
        assert lint_sonic(one.name, sonic.tables(config), sonic.frr.tree(config)) == []
        assert not [gap for gap in sonic.gaps(config) if gap.severity == "error"]


@pytest.mark.parametrize("name", [*ON_DELL, "scale-8k"])
def test_every_example_is_clean_on_dell(name: str) -> None:
    """By the grammar; FRR below it is the emulation's, which vtysh reads."""
    network = retargeted(name, "dell_sonic")
    chosen = {one.role: one for one in network.switches}.values() if name.startswith("scale") else network.switches
    for one in chosen:
        config = device_config(network, one.name, "dell_sonic")
        assert lint_dell(one.name, dell_sonic.tree(config)) == []
