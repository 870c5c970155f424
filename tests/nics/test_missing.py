"""A vendor without a folder, or without a part, is an error at the servers' line: no other vendor's ways are taken."""

from __future__ import annotations

from pathlib import Path

import pytest

from railweave import api
from railweave.errors import DesignError, FileLine
from railweave.model.catalog.definitions import vendor_files
from railweave.nics import vendor
from railweave.nics.protocol import PARTS, missing_parts


def problems(fabric_file: Path) -> list[tuple[str, int, str]]:
    with pytest.raises(DesignError) as found:
        api.load(fabric_file)
    return [
        (Path(one.place.file).name, one.place.line, one.what)
        for one in found.value.problems
        if isinstance(one.place, FileLine)
    ]


def at_every_model(fabric_file: Path, what: str) -> list[tuple[str, int, str]]:
    """The problem at each line that names the servers' model."""
    lines = fabric_file.read_text().splitlines()
    return [("acme.yaml", number, what) for number, line in enumerate(lines, 1) if "model: h100-8gpu-acme" in line]


@pytest.mark.parametrize("part", PARTS)
def test_a_part_that_is_missing_is_named(acme: Path, fabric_file: Path, part: str) -> None:
    module = acme / "__init__.py"
    module.write_text(module.read_text() + f"del Acme.{part}\n")
    what = (
        f"NICs acme-400 of h100-8gpu-acme: the files of their vendor, Acme, lack `{part}` ({PARTS[part]}) in nics/acme"
    )
    assert problems(fabric_file) == at_every_model(fabric_file, what)


def test_all_that_is_missing_is_named_at_once(acme: Path, fabric_file: Path) -> None:
    (acme / "__init__.py").write_text("VENDOR = object()\n")
    ((_, _, what), _) = problems(fabric_file)
    assert all(f"`{part}`" in what for part in PARTS)


def test_nics_without_firmware_settings_need_no_script_for_them(acme: Path, fabric_file: Path) -> None:
    module, rows = acme / "__init__.py", acme / "nics.yaml"
    module.write_text(module.read_text() + "del Acme.nvm_script\n")
    text = rows.read_text()
    rows.write_text(text[: text.index("  firmware:")] + '  source: "assumed"\n')
    assert api.load(fabric_file).servers
    assert missing_parts("Acme") == ["nvm_script"]


def test_a_vendor_without_a_folder_is_named(acme: Path, fabric_file: Path) -> None:
    rows = acme / "nics.yaml"
    rows.write_text(rows.read_text().replace("vendor: Acme", "vendor: Emca"))
    what = "NICs acme-400 of h100-8gpu-acme: railweave does not know their vendor, Emca: nics/emca does not exist"
    assert problems(fabric_file) == at_every_model(fabric_file, what)


def test_nics_that_are_not_in_the_catalog_are_named(acme: Path, fabric_file: Path) -> None:
    rows = acme / "servers.yaml"
    rows.write_text(rows.read_text().replace("nic: acme-400", "nic: acme-40"))
    what = "NICs acme-40 of h100-8gpu-acme: they are not in the catalog"
    assert problems(fabric_file) == at_every_model(fabric_file, what)


@pytest.mark.parametrize(
    ("old", "new", "wrong"),
    [
        ("servers.yaml", "server.yaml", r"nothing knows server\.yaml: did you mean servers\.yaml\?"),
        ("nic_nvm.sh", "nic_nwm.sh", r"nothing knows nic_nwm\.sh: did you mean nic_nvm\.sh\?"),
        ("nics.yaml", "nic.yaml", r"acme has no nics\.yaml: rename nic\.yaml"),
    ],
)
def test_a_misnamed_file_is_an_error(acme: Path, old: str, new: str, wrong: str) -> None:
    (acme / old).rename(acme / new)
    vendor_files.cache_clear()
    with pytest.raises(ImportError, match=wrong):
        vendor_files()


def test_a_module_that_nothing_knows_is_an_error(acme: Path) -> None:
    (acme / "driver_file.py").write_text("")
    with pytest.raises(ImportError, match=r"nothing knows driver_file: if it is a module, name it in Acme\.modules"):
        vendor("Acme")
    module = acme / "__init__.py"
    module.write_text(module.read_text().replace("    @property", '    modules = ("driver_file",)\n\n    @property', 1))
    assert missing_parts("Acme") == []
