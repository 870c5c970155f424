"""The storage fabric that ``init`` points to: the page's parts are put into sized files, which are then built."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from railweave.api import build
from railweave.api.starting import init_sized
from tests.conftest import ROOT

if TYPE_CHECKING:
    from pathlib import Path

    from railweave.outputs.folder.starting import StartedFabric


def parts(started: StartedFabric) -> list[str]:
    """The YAML blocks of the section that the closing text of ``init`` names."""
    (link,) = re.findall(r"storage: .*\((\S+)\)$", "\n".join(started.lines()), re.MULTILINE)
    page, _, anchor = link.partition("#")
    text = (ROOT / page).read_text()
    sections = {
        title.lower().replace(" ", "-"): body
        for title, body in re.findall(r"^## (.+)\n((?:(?!^## ).*\n)*)", text, re.MULTILINE)
    }
    return re.findall(r"```yaml\n(.*?)```", sections[anchor], re.DOTALL)


@pytest.mark.parametrize("switch", ["arista", "sn5600", "qfx5240-64", "z9664f", "supermicro"])
def test_a_storage_fabric_is_added_as_the_page_says(switch: str, tmp_path: Path) -> None:
    started = init_sized(tmp_path / "mine", gpus=64, nic="dgx-h100", switch=switch)
    file = started.written[0]
    fabric, servers, hardware, _ = parts(started)
    text = file.read_text()
    if switch != "arista":  # "use the lines leaf: and qos: of your backend"
        for key in ("leaf", "qos"):
            (of_backend,) = re.findall(rf"^    {key}: .*\n", text, re.MULTILINE)
            fabric = re.sub(rf"^    {key}: .*\n", of_backend, fabric, flags=re.MULTILINE)
    text, count = re.subn(r"^servers:\n(  .*\n)+", fabric + servers, text, flags=re.MULTILINE)
    assert count == 1
    file.write_text(text + hardware)
    built = build(file, tmp_path / "out")
    before = {finding.id for finding in started.findings}
    assert {finding.id for finding in built.findings if finding.severity != "info"} <= before
    stored = [server for server in built.network.servers if any(nic.fabric == "storage" for nic in server.nics)]
    assert len(stored) == 12
    assert built.network.server("files-1").nics[0].leaf_port


def test_in_band_management_is_added_as_the_page_says(tmp_path: Path) -> None:
    started = init_sized(tmp_path / "mine", gpus=64, nic="dgx-h100", switch="arista")
    file = started.written[0]
    fabric, servers, hardware, inband = parts(started)
    text = re.sub(r"^servers:\n(  .*\n)+", fabric + inband + servers, file.read_text(), flags=re.MULTILINE)
    file.write_text(text + hardware)
    built = build(file, tmp_path / "out")
    assert not [finding for finding in built.findings if finding.severity == "error"]
    assert {nic.tenant for server in built.network.servers for nic in server.nics if nic.fabric == "storage"} == {
        "inband"
    }
    leaf = (tmp_path / "out" / "devices" / "compute-leaf1" / "eos.conf").read_text()
    assert "neighbor 10.97.0.1 remote-as 64999" in leaf
    netplan = (tmp_path / "out" / "hosts" / "gpu-1" / "netplan.yaml").read_text()
    assert netplan.count("{to: default, via: 10.96.") == 3  # the main table's, and one in the table of each NIC
