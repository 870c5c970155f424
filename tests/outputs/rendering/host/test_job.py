"""The environment of jobs: both sources' variables as values, changes of the fabric file, and the file that shells read."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from railweave.errors import InputError
from railweave.model.device.host_model import HostConfig
from railweave.outputs.rendering.host import nccl_env_files
from railweave.outputs.rendering.host.host_json import document
from tests.outputs.rendering.host.stand_ins import config_of, server

H100_DEVICES = "mlx5_0:1,mlx5_3:1,mlx5_4:1,mlx5_5:1,mlx5_6:1,mlx5_9:1,mlx5_10:1,mlx5_11:1"
MI300X_DEVICES = ",".join(f"bnxt_re{number}:1" for number in range(8))

# RDMA load-balancing document, "Running the NCCL Job", less what is resolved (UCX_IB_GID_INDEX), ours (the plug-in), or
# decided by prediction (NCCL_IB_SPLIT_DATA_ON_QPS).
RLB = {
    "NCCL_IB_QPS_PER_CONNECTION": "4",
    "NCCL_IB_ADDR_FAMILY": "AF_INET6",
    "NCCL_SOCKET_FAMILY": "AF_INET6",
    "NCCL_SOCKET_NTHREADS": "8",
    "UCX_NET_DEVICES": H100_DEVICES,
}
# Thor2 guide, section 8.7.2, less NCCL_IB_GID_INDEX, which is resolved.
THOR2 = {
    "NCCL_IB_HCA": MI300X_DEVICES,
    "NCCL_IB_DISABLE": "0",
    "NCCL_NET_GDR_LEVEL": "SYS",
    "NCCL_NET_GDR_READ": "1",
    "NCCL_P2P_LEVEL": "SYS",
    "NCCL_SHM_DISABLE": "1",
    "NCCL_IB_PCI_RELAXED_ORDERING": "1",
    "HSA_FORCE_FINE_GRAIN_PCIE": "1",
    "NCCL_DMABUF_ENABLE": "0",
    "NCCL_MIN_NCHANNELS": "32",
}
OURS = {"NCCL_IB_TC": "106", "UCX_IB_TRAFFIC_CLASS": "106", "NCCL_IB_ROCE_VERSION_NUM": "2"}


def variables(config: HostConfig) -> dict[str, str]:
    return {one.name: one.value for one in config.job if not one.resolve}


def resolved(config: HostConfig) -> list[str]:
    return [one.name for one in config.job if one.resolve]


def sourced(folder: Path, config: HostConfig, **before: str) -> dict[str, str]:
    """The environment of a shell that read the file, as ``set -u`` scripts do too."""
    (folder / "nccl.env").write_text(nccl_env_files(config)["nccl.env"])
    done = subprocess.run(
        ["bash", "-euc", 'set -a; . "$1"; set +a; env -0', "-", str(folder / "nccl.env")],
        env={"PATH": "/usr/bin:/bin", **before},
        capture_output=True,
        text=True,
        check=True,
        timeout=30,
    )
    return dict(pair.split("=", 1) for pair in done.stdout.split("\0") if pair)


def test_path_colors() -> None:
    config = server("h100-rlb")
    plugin = {
        "NCCL_NET_PLUGIN": "railweave",
        "NCCL_NET": "railweave",
        "NCCL_IB_SPLIT_DATA_ON_QPS": "0",
        "NCCL_IB_HCA": f"={H100_DEVICES}",
        "RAILWEAVE_NET_TUNER_FILE": "/etc/railweave/tuner.json",
        "LD_LIBRARY_PATH": "$LD_LIBRARY_PATH:/usr/local/lib",
    }
    assert variables(config) == RLB | OURS | plugin | {"NCCL_IB_ADDR_RANGE": "fc00::/16"}
    assert resolved(config) == ["UCX_IB_GID_INDEX"]


def test_amd() -> None:
    config = server("mi300x-leaf-24")
    family = {"NCCL_IB_ADDR_FAMILY": "AF_INET", "NCCL_SOCKET_FAMILY": "AF_INET", "UCX_NET_DEVICES": MI300X_DEVICES}
    library = {"LD_LIBRARY_PATH": "$LD_LIBRARY_PATH:/opt/AMD/install/mpi/lib"}
    assert variables(config) == THOR2 | OURS | family | library | {"NCCL_IB_ADDR_RANGE": "192.168.0.0/16"}
    assert resolved(config) == ["NCCL_IB_GID_INDEX", "UCX_IB_GID_INDEX"]


def test_a_queue_pair_per_path_color() -> None:
    assert variables(server("h100-rlb-8up"))["NCCL_IB_QPS_PER_CONNECTION"] == "8"


def test_no_index_of_a_gid_is_written_and_every_variable_says_why() -> None:
    for example in ("h100-rlb", "mi300x-leaf-24", "mi300x-leaf-31"):
        config = server(example)
        assert not [name for name in variables(config) if "GID_INDEX" in name]
        assert all(one.why for one in config.job)
        assert "GID_INDEX=" not in nccl_env_files(config)["nccl.env"]


def test_only_nics_beside_gpus_carry_jobs(tmp_path: Path) -> None:
    more = """\
  storage:
    nics: storage
    topology: {stripes: 1, spines: 1, leaves_per_stripe: 1, oversubscription: 16}
    leaf: {device: qfx5240-64od, release: 25.4R1}
    addressing: {server_pool: "fc01::/16"}
    naming: {leaf: "storage-leaf{leaf}", spine: "storage-spine{spine}"}
"""
    config = config_of(tmp_path, model="dgx-h100", more=more)
    assert {nic.fabric for nic in config.nics} == {"backend", "storage"}
    assert variables(config)["UCX_NET_DEVICES"] == H100_DEVICES


def test_without_colors_the_plug_in_is_there_if_asked_for(tmp_path: Path) -> None:
    config = config_of(tmp_path, more="    load_balancing: {mode: ecmp}\nhosts: {job: {net_plugin: railweave}}")
    found = variables(config)
    assert (found["NCCL_NET_PLUGIN"], found["NCCL_NET"]) == ("railweave", "railweave")
    assert not {"NCCL_IB_QPS_PER_CONNECTION", "NCCL_IB_SPLIT_DATA_ON_QPS", "RAILWEAVE_NET_TUNER_FILE"} & set(found)
    assert resolved(config) == ["UCX_IB_GID_INDEX"]


def test_without_colors_the_plug_in_is_not_asked_for(tmp_path: Path) -> None:
    config = config_of(tmp_path, more="    load_balancing: {mode: ecmp}")
    found = variables(config)
    assert not {"NCCL_NET_PLUGIN", "NCCL_IB_QPS_PER_CONNECTION", "LD_LIBRARY_PATH"} & set(found)
    assert OURS.items() <= found.items()
    assert resolved(config) == ["NCCL_IB_GID_INDEX", "UCX_IB_GID_INDEX"]


@pytest.mark.parametrize(
    ("mode", "job", "wanted"),
    [
        ("ecmp", "{}", {}),
        ("ecmp", "{qps_per_connection: 4}", {"QPS_PER_CONNECTION": "4", "SPLIT_DATA_ON_QPS": "0"}),
        ("rlb", "{}", {"QPS_PER_CONNECTION": "2", "SPLIT_DATA_ON_QPS": "0"}),
        ("rlb", "{qps_per_connection: 4}", {"QPS_PER_CONNECTION": "4", "SPLIT_DATA_ON_QPS": "0"}),
        ("rlb", "{net_plugin: juniper-ib}", {"QPS_PER_CONNECTION": "2", "SPLIT_DATA_ON_QPS": "1"}),
        (
            "ecmp",
            "{qps_per_connection: 4, environment: {NCCL_IB_SPLIT_DATA_ON_QPS: 1}}",
            {"QPS_PER_CONNECTION": "4", "SPLIT_DATA_ON_QPS": "1"},
        ),
    ],
)
def test_messages_are_split_only_where_that_is_not_slower(
    tmp_path: Path, mode: str, job: str, wanted: dict[str, str]
) -> None:
    """Whole messages take the queue pairs in turn, but with the plugin of the document, which splits them."""
    config = config_of(tmp_path, more=f"    load_balancing: {{mode: {mode}}}\nhosts: {{job: {job}}}")
    found = {name.removeprefix("NCCL_IB_"): value for name, value in variables(config).items() if "_QPS" in name}
    assert found == wanted
    if wanted.get("SPLIT_DATA_ON_QPS") == "0":
        why = next(one.why for one in config.job if one.name == "NCCL_IB_SPLIT_DATA_ON_QPS")
        assert "predictions are slower" in why
        assert why in nccl_env_files(config)["nccl.env"]


@pytest.mark.parametrize(("mode", "expected"), [("spray", "1"), ("dlb-per-packet", "1"), ("dlb-flowlet", None)])
def test_spraying_asks_nccl_for_adaptive_routing(tmp_path: Path, mode: str, expected: str | None) -> None:
    config = config_of(tmp_path, more=f"    load_balancing: {{mode: {mode}}}")
    assert variables(config).get("NCCL_IB_ADAPTIVE_ROUTING") == expected


def test_the_traffic_class_follows_the_design(tmp_path: Path) -> None:
    config = config_of(tmp_path, leaf=", qos: {classes: {no-loss: {dscp: [34]}}}")
    assert variables(config)["NCCL_IB_TC"] == "138"
    assert variables(config)["UCX_IB_TRAFFIC_CLASS"] == "138"


def test_colors_and_clear_to_send_messages_have_classes_of_their_own(tmp_path: Path) -> None:
    colors = "\nhosts: {job: {color_dscp: {color2: 34}, clear_to_send_dscp: 48}}"
    config = config_of(tmp_path, more=f"    load_balancing: {{mode: rlb}}{colors}")
    found = variables(config)
    assert "NCCL_IB_TC" not in found, "it would be for all colors"
    assert found["NCCL_IB_FIFO_TC"] == str(48 * 4 + 2)
    told = document(config)
    assert told["fabrics"]["backend"]["roce"]["clear_to_send_traffic_class"] == 194
    first, second = told["nics"][0]["addresses"][:2]
    assert "traffic_class" not in first
    assert (second["color_name"], second["traffic_class"], second["service_level"]) == ("color2", 138, 4)


def test_a_class_for_a_color_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no path color 'green'"):
        config_of(tmp_path, more="    load_balancing: {mode: rlb}\nhosts: {job: {color_dscp: {green: 34}}}")


def test_the_fabric_file_has_the_last_word(tmp_path: Path) -> None:
    more = """\
hosts:
  job:
    net_plugin: juniper-ib
    qps_per_connection: 16
    socket_interface: mgmt_eth
    socket_family: AF_INET
    library_folder: /opt/plug-in
    environment: {NCCL_SOCKET_NTHREADS: null, NCCL_IB_TC: 104, NCCL_DEBUG: INFO, NOTE: "it's ${MINE}; `id`", UCX_IB_GID_INDEX: 5}
"""
    config = config_of(tmp_path, more=more)
    found = variables(config)
    assert found["NCCL_NET_PLUGIN"] == "juniper-ib"
    assert found["NCCL_IB_QPS_PER_CONNECTION"] == "16"
    assert found["NCCL_SOCKET_IFNAME"] == "mgmt_eth"
    assert found["NCCL_SOCKET_FAMILY"] == "AF_INET"
    assert found["NCCL_IB_ADDR_FAMILY"] == "AF_INET6"
    assert "NCCL_SOCKET_NTHREADS" not in found
    assert found["NCCL_IB_TC"] == "104"
    assert found["UCX_IB_GID_INDEX"] == "5"
    assert resolved(config) == []
    assert [one.name for one in config.job][-2:] == ["NCCL_DEBUG", "NOTE"]
    shell = sourced(tmp_path, config, MINE="a b")
    assert shell["NOTE"] == "it's a b; `id`"
    assert shell["LD_LIBRARY_PATH"] == "/opt/plug-in"


@pytest.mark.parametrize("example", ["h100-rlb", "h100-rlb-8up", "mi300x-leaf-24", "mi300x-leaf-31"])
def test_a_shell_that_reads_the_file_has_the_environment(tmp_path: Path, example: str) -> None:
    config = server(example)
    wanted = variables(config)
    folders = wanted.pop("LD_LIBRARY_PATH").removeprefix("$LD_LIBRARY_PATH:")
    shell = sourced(tmp_path, config)
    assert wanted.items() <= shell.items()
    assert shell["LD_LIBRARY_PATH"] == folders
    assert sourced(tmp_path, config, LD_LIBRARY_PATH="/a b")["LD_LIBRARY_PATH"] == f"/a b:{folders}"
