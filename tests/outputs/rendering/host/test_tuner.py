"""``tuner.json``: there where jobs use the plugin, for the whole job; and what a job is told of it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from railweave.outputs.rendering.host.cluster import cluster_files
from tests.conftest import example
from tests.outputs.rendering.host.stand_ins import config_of

if TYPE_CHECKING:
    from pathlib import Path

    from railweave.model.device.host_model import HostConfig

RLB = "    load_balancing: {mode: rlb}"


def variables(config: HostConfig) -> dict[str, str]:
    return {one.name: one.value for one in config.job if not one.resolve}


def test_the_example_with_path_colors_has_a_table_for_all_servers() -> None:
    told = json.loads(cluster_files(example("h100-rlb"))["tuner.json"])
    assert (told["schema"], told["network"], told["paths"]) == (1, "h100-rlb", 4)
    assert {(one["ranks"], one["nodes"]) for one in told["rows"]} == {(16, 2), (32, 4)}
    assert all(one["channels"] % 4 == 0 for one in told["rows"])


def test_networks_without_the_plugin_have_none() -> None:
    for name in ("mi300x-leaf-24", "evpn-functional", "dci-50km"):
        assert not [file for file in cluster_files(example(name)) if file.startswith("tuner")], name


def test_the_table_is_named_and_counts_only_where_asked_for(tmp_path: Path) -> None:
    found = variables(config_of(tmp_path, more=RLB))
    assert found["RAILWEAVE_NET_TUNER_FILE"] == "/etc/railweave/tuner.json"
    assert "RAILWEAVE_NET_TUNER" not in found
    found = variables(config_of(tmp_path, more=f"{RLB}\nhosts: {{job: {{tuner: true}}}}"))
    assert found["RAILWEAVE_NET_TUNER"] == "1"
    other = variables(config_of(tmp_path, more=f"{RLB}\nhosts: {{job: {{net_plugin: juniper-ib}}}}"))
    assert not [name for name in other if "TUNER" in name]
    assert not [
        name for name in variables(config_of(tmp_path, more="    load_balancing: {mode: ecmp}")) if "TUNER" in name
    ]
