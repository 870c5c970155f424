"""config.json: a device's configuration as a file."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from jsonschema import Draft202012Validator
from pydantic import ValidationError

from railweave.model.device.build import device_config
from railweave.model.device.config_file import from_json, json_schema, to_json
from railweave.systems import systems
from tests.conftest import ROOT, example

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SCHEMA = Draft202012Validator(json_schema())
GOLDEN = sorted((ROOT / "tests" / "golden").glob("*/devices/*/config.json"))


def one_of_each_role(name: str) -> Iterator[str]:
    seen: set[str] = set()
    for switch in example(name).switches:
        if switch.role not in seen:
            seen.add(switch.role)
            yield switch.name


@pytest.mark.parametrize("nos", sorted(systems()))
@pytest.mark.parametrize("name", ["h100-rlb", "evpn-functional", "dci-50km", "mi300x-leaf-31"])
def test_an_equal_value_comes_back(name: str, nos: str) -> None:
    for switch in one_of_each_role(name):
        config = device_config(example(name), switch, nos)
        text = to_json(config)
        found = from_json(text)
        assert found == config
        assert to_json(found) == text
        SCHEMA.validate(json.loads(text))


def test_it_is_written_for_every_switch() -> None:
    assert {one.parent.name for one in GOLDEN if "h100-rlb/" in str(one)} == {
        one.name for one in example("h100-rlb").switches
    }


@pytest.mark.parametrize("path", GOLDEN[::7], ids=lambda path: f"{path.parts[-4]}-{path.parts[-2]}")
def test_the_published_schema_takes_what_is_written(path: Path) -> None:
    published = json.loads((ROOT / "docs" / "device-config.schema.json").read_text())
    Draft202012Validator(published).validate(json.loads(path.read_text()))
    assert "$6$" not in path.read_text()


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("schema", 2),
        ("loopback", "10.0.0.1"),
        ("management_address", "here"),
        ("interfaces", [{"name": "et-0/0/0"}]),
        ("role", "router"),
    ],
)
def test_what_is_no_such_file_is_refused(key: str, value: object) -> None:
    whole = json.loads(to_json(device_config(example("h100-rlb"), "spine1")))
    with pytest.raises(ValidationError):
        from_json(json.dumps(whole | {key: value}))
