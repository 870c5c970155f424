"""A third NIC vendor, Acme: the folder that the how-to describes."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from railweave import nics as registry
from railweave.model.catalog import packaged
from railweave.model.catalog.definitions import vendor_files
from railweave.nics import vendor
from tests.conftest import EXAMPLES, ROOT
from tests.plugging import plug_in

PAGE = ROOT / "docs" / "howto" / "add-a-network-operating-system.md"
BLOCK = re.compile(r"^```\w+ file=(\S+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def forget() -> None:
    """What was read of the vendors there are."""
    packaged.cache_clear()
    vendor_files.cache_clear()
    vendor.cache_clear()
    for name in [one for one in sys.modules if one.startswith("railweave.nics.acme")]:
        del sys.modules[name]


@pytest.fixture
def acme(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder, where packages of ``railweave.nics`` are looked for. It is read when it is first asked for."""
    folder = tmp_path / "nics" / "acme"
    folder.mkdir(parents=True)
    blocks = BLOCK.findall(PAGE.read_text(encoding="utf-8").partition("\n## Add a NIC vendor\n")[2])
    assert [name for name, _ in blocks] == ["nics.yaml", "servers.yaml", "nic_qos.sh", "nic_nvm.sh", "__init__.py"]
    for name, text in blocks:
        (folder / name).write_text(text, encoding="utf-8")
    plug_in(monkeypatch, registry, folder.parent)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    forget()
    yield folder
    monkeypatch.undo()
    forget()


@pytest.fixture
def fabric_file(tmp_path: Path) -> Path:
    """An example with such NICs."""
    copy = tmp_path / "acme.yaml"
    copy.write_text((EXAMPLES / "h100-rlb.yaml").read_text().replace("h100-8gpu-cx7", "h100-8gpu-acme"))
    return copy
