"""A port has one headroom need and one headroom limit, and every page and configuration means the same by these words."""

from __future__ import annotations

import re
from typing import Any

import pytest

from railweave.model.device.build import device_config
from railweave.outputs.rendering.network import render_network
from railweave.outputs.report.tables import buffers_table
from tests.retarget import retargeted


def column(table: dict[str, Any], title: str) -> list[str]:
    """The cells of a column, by row."""
    place = [each["title"] for each in table["columns"]].index(title)
    data = table["data"][place]
    return [data["d"][index] for index in data["i"]] if isinstance(data, dict) else data


FORMS = {
    "eos": r"ingress headroom bytes (\d+)",
    "sonic": r'"xoff": "(\d+)",\s+"xon_offset"',
    "dell_sonic": r"pause-threshold (\d+)",
}
"""How the files of a system give the limit of a port."""


@pytest.mark.parametrize("nos", FORMS)
def test_the_limit_of_the_report_is_what_the_configuration_has(nos: str) -> None:
    network = retargeted("h100-rlb", nos)
    table = buffers_table(network)
    shown = dict(zip(column(table, "Switch"), column(table, "Ports, need and limit of each"), strict=True))
    configs = {switch.name: device_config(network, switch.name) for switch in network.switches}
    files, _ = render_network(network, configs)
    for name, config in configs.items():
        assert config.qos is not None
        limits = {int(text.replace(",", "")) for text in re.findall(r"limit ([\d,]+) B", shown[name])}
        needs = {int(text.replace(",", "")) for text in re.findall(r": ([\d,]+) B, limit", shown[name])}
        assert limits == {profile.headroom_bytes for profile in config.qos.profiles}
        text = "".join(content for path, content in files.items() if f"/{name}/" in path)
        rendered = set(map(int, re.findall(FORMS[nos], text)))
        assert rendered == ({max(limits)} if nos == "eos" else limits)  # EOS has one value for all ports
        assert not needs & rendered
