"""What NCCL and RCCL say of themselves, from 2.8 to 2.30: values of the fixtures, two of which real runs wrote."""

from __future__ import annotations

import pytest

from railweave.operations.bench.nccl_log import Channel, FailedCompletion, QueuePair
from railweave.operations.bench.read import read
from railweave.operations.bench.runs import facts_of
from tests.operations.bench.said import log_of, text_of


def test_four_ranks_of_2_30_over_the_plugin() -> None:
    """NCCL's own core ran, without a GPU: kernels were left out, everything that is logged here was really set up."""
    log = log_of("nccl-2.30-four-ranks-plugin.log")
    assert [text for _, text in log.versions] == ["2.30.7+cuda12.9"]
    assert [(one.kind, one.name, one.version, one.loaded) for one in log.plugins] == [
        ("NET", "railweave", "v12", True),
        ("TUNER", "libnccl-tuner.so", "", False),
    ]
    assert {one.text for one in log.networks} == {"railweave"}
    assert (log.nodes, {one.ranks for one in log.ranks}, sorted(one.rank for one in log.ranks)) == (
        4,
        {4},
        [0, 1, 2, 3],
    )
    assert log.ring_of(0) == log.ring_of(1) == (0, 1, 2, 3)
    assert (log.counts[0].collective, log.counts[0].point_to_point, log.counts[0].per_peer) == (2, 2, 1)
    assert {(one.pattern, one.channels, one.inter_gbytes_per_s, one.types) for one in log.searches} == {
        (4, 1, 12.0, "LOC/PHB"),
        (3, 1, 12.0, "LOC/PHB"),
    }
    assert len(log.channels) == 48
    assert {(one.transport, one.through, one.gdr) for one in log.channels} == {("NET", "railweave", False)}
    paths = {(one.queue_pair, one.color, one.source, one.target) for one in log.plugin_paths}
    assert (3, 3, "fd00:1:1:4::1", "fd00:2:1:4::2") in paths
    assert {(one.device, one.enabled) for one in log.gpu_direct} == {("fake0", False)}
    assert {(one.rank, one.parent, one.children) for one in log.tree_links if one.rank == 0} == {
        (0, -1, (2,)),
        (0, 1, ()),
    }
    assert log.init_seconds == ((0, 3.74),)
    assert log.variable("NCCL_NET_PLUGIN") == "railweave"


def test_a_plugin_that_did_not_start() -> None:
    log = log_of("nccl-2.30-plugin-without-address.log")
    assert (log.networks, log.channels) == ((), ())
    assert [one.text.partition(":")[0] for one in log.warnings] == [
        "NET/railweave",
        "Failed to initialize any NET plugin",
    ]


def test_four_servers_of_2_23() -> None:
    log = log_of("nccl-2.23-four-servers.log")
    assert (log.library, log.versions, log.nodes) == ("NCCL", ((1, "2.23.4+cuda12.6"),), 4)
    assert log.hosts == ("H100-01", "H100-02", "H100-03", "H100-04")
    assert {(one.name, one.address) for one in log.bootstrap} == {("eno1", f"10.0.0.{n}") for n in range(1, 5)}
    assert {(one.index, one.name, one.port, one.layer) for one in log.devices} == {
        (0, "mlx5_0", 1, "RoCE"),
        (1, "mlx5_1", 1, "RoCE"),
    }
    assert all(one.enabled for one in log.gpu_direct)
    assert log.ring_of(0) == tuple(range(8))
    host, line = "H100-01", 0
    sends = [one for one in log.channels if one.source == 1 and one.direction == "send"]
    line = sends[0].line
    assert sends == [
        Channel(line, host, 0, 0, 1, 2, "send", "NET", "IB", 1, gdr=True, shared=False, proxy=None),
        Channel(line + 1, host, 1, 0, 1, 2, "send", "NET", "IB", 0, gdr=True, shared=True, proxy=0),
    ]
    inside = next(one for one in log.channels if one.transport == "P2P")
    assert (inside.through, inside.device, inside.source, inside.target) == ("CUMEM/read", None, 0, 1)
    assert [(one.gid_index, one.gid, one.mtu, one.device) for one in log.queue_pairs] == [
        (3, f"10.10.2.{n}", 5, 1) for n in range(1, 5)
    ]
    assert [(one.collective, one.size_bytes, one.algorithm, one.protocol) for one in log.choices] == [
        ("AllReduce", 1 << 30, "Ring", "Simple"),
        ("AllReduce", 8, "Tree", "LL"),
    ]
    assert {(one.processors, one.is_mask) for one in log.affinities} == {("ffff,ffffffff", True)}
    assert (log.counts[0].collective, log.counts[0].point_to_point, log.counts[0].per_peer) == (4, 8, 2)
    assert dict(log.variables) == {
        "NCCL_SOCKET_IFNAME": "eno1",
        "NCCL_IB_QPS_PER_CONNECTION": "4",
        "NCCL_IB_SPLIT_DATA_ON_QPS": "1",
        "NCCL_IB_TC": "106",
        "NCCL_IB_HCA": "mlx5_0,mlx5_1",
    }


def test_the_oldest_form() -> None:
    log = log_of("nccl-2.8-no-gpudirect-status-12.log")
    assert (log.versions[0][1], log.hosts, log.nodes) == ("2.8.4+cuda11.2", ("node01", "node02"), None)
    assert [(one.name, one.address) for one in log.bootstrap] == [("eno1", "172.16.0.1"), ("eno1", "172.16.0.2")]
    assert [(one.name, one.loaded) for one in log.plugins] == [("libnccl-net.so", False)] * 2
    assert [(one.channel, one.connection, one.gdr, one.device) for one in log.channels] == [(0, 0, False, 0)] * 4
    assert log.failed == (FailedCompletion(25, "node01", "", 12, 129, "", "", ""),)


def test_failed_completions_of_two_forms() -> None:
    log = log_of("nccl-2.28-status-12.log")
    assert log.failed == (
        FailedCompletion(15, "h100-05", "10.0.0.6<41512>", 12, 129, "fc00:1:4:1::5", "fc00:1:4:1::6", "mlx5_3"),
        FailedCompletion(19, "h100-06", "10.0.0.5<41513>", 5, 249, "10.10.3.6", "10.10.3.5", "mlx5_3"),
    )
    assert [(one.host, one.text) for one in log.events] == [("h100-06", "NET/IB : mlx5_3:1 GID table changed")]
    assert all(one.gdr for one in log.channels)


def test_sockets_and_two_versions() -> None:
    log = log_of("nccl-2.27-sockets.log")
    assert [text for _, text in log.versions] == ["2.26.5+cuda12.9", "2.27.5+cuda12.9"]
    assert {(one.transport, one.through) for one in log.channels} == {("NET", "Socket")}
    assert [(one.name, one.loaded) for one in log.plugins] == [("railweave libnccl-net-railweave.so", False)] * 2
    assert [(one.processors, one.near_gpu, one.allowed) for one in log.affinities] == [("", "0-55", "56-111")] * 2


def test_rccl_on_one_server() -> None:
    log = log_of("rccl-2.21-one-server-docker0.log")
    assert (log.library, log.versions, log.nodes) == ("RCCL", ((1, "2.21.5-HEAD:4f2c1d0"),), 1)
    assert {one.name for one in log.bootstrap} == {"docker0"}
    assert [(one.transport, one.source, one.target) for one in log.channels] == [("P2P", 0, 1), ("P2P", 1, 0)]


def test_gids_and_choices_of_2_30() -> None:
    log = log_of("nccl-2.30-link-local-gid.log")
    assert log.queue_pairs == (
        QueuePair(2, "n1", 0, 1, 1, "fe80::1e34:daff:fe00:1", 5),
        QueuePair(3, "n2", 0, 1, 1, "fc00:1:1:1::2", 5),
    )
    assert [(one.algorithm, one.protocol, one.first_channel, one.last_channel) for one in log.choices] == [
        ("Ring", "Simple", 0, 15),
        ("NVLSTree", "LL128", 0, 3),
    ]


def test_a_ring_is_pieced_together_from_neighbours() -> None:
    text = "".join(
        line for line in text_of("nccl-2.23-four-servers.log").splitlines(keepends=True) if "/04 :" not in line
    )
    log = read(text, "x").log
    assert log is not None
    assert log.ring_of(0) == tuple(range(8))
    assert log.ring_of(3) == ()
    cut = read(text.replace("Ring 00 : 4 -> 5 -> 6", ""), "x").log
    assert cut is not None
    assert cut.ring_of(0) == ()


def test_a_known_message_in_another_form_is_noted() -> None:
    found = read("h:1:2 [0] NCCL INFO Channel 00/0 : 1[0] -> two [send] via NET/IB/0\n", "x.log")
    assert [str(note) for note in found.notes] == [
        "x.log:1: a message of a known kind in another form: Channel 00/0 : 1[0] -> two [send] via NET/IB/0"
    ]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("network", "IB"),
        ("servers", "4"),
        ("order of servers", "H100-01 H100-02 H100-03 H100-04"),
        ("channels", "4"),
        ("GPUDirect RDMA", "all"),
        ("over another GPU's NIC (PXN)", "4"),
        ("ring 0", "0 1 2 3 4 5 6 7"),
        ("algorithms", "AllReduce Ring/Simple x1, AllReduce Tree/LL x1"),
        ("GIDs", "10.10.2.1 10.10.2.2 10.10.2.3 10.10.2.4"),
        ("connections", "8 NET/IB/GDRDMA, 4 P2P/CUMEM/read"),
    ],
)
def test_facts(name: str, expected: str) -> None:
    assert dict(facts_of(log_of("nccl-2.23-four-servers.log")))[name] == expected
