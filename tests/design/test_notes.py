"""What a fabric file asks for and a source warns of is noted, with its line; what a source recommends is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from railweave.errors import DesignError
from tests.conftest import SMALL, designed, example

FILE = """
name: small
fabrics:
  backend:
    topology: {topology}
    leaf: {leaf}
    load_balancing: {balancing}
servers: [{{names: "gpu-[1-4]", model: {server}{placed}}}]
hosts: {hosts}
management: {management}
{more}
"""
NOTES = {
    "dlb-inactivity-short",
    "dlb-mixed-speeds",
    "adaptive-routing-undocumented",
    "stripe-empty",
    "management-address-taken",
    "job-traffic-class",
    "job-gid-index",
    "job-queue-pairs",
    "management-shut-out",
    "management-by-name",
}


def noted(
    folder: Path,
    *,
    topology: str = "{stripes: 1, spines: 2, oversubscription: 4}",
    leaf: str = "{device: qfx5240-64od}",
    balancing: str = "{mode: rlb}",
    server: str = "h100-8gpu-cx7",
    hosts: str = "{}",
    management: str = "{}",
    placed: str = "",
    more: str = "",
) -> list[tuple[str, str]]:
    text = FILE.format(
        topology=topology,
        leaf=leaf,
        balancing=balancing,
        server=server,
        hosts=hosts,
        management=management,
        placed=placed,
        more=more,
    )
    network, _ = designed(folder, text)
    assert all(one.line for one in network.findings if one.id in NOTES)
    return [(one.id, one.what) for one in network.findings if one.id in NOTES]


@pytest.mark.parametrize("name", SMALL)
def test_examples_of_the_sources_are_not_warned_of(name: str) -> None:
    assert [one.what for one in example(name).findings if one.id in NOTES] == []


@pytest.mark.parametrize(("interval", "short"), [("16us", True), ("100us", True), ("128us", False), ("256us", False)])
def test_pause_between_flowlets(tmp_path: Path, interval: str, short: bool) -> None:
    said = noted(tmp_path, balancing=f"{{mode: dlb-flowlet, dlb: {{inactivity_interval: {interval}}}}}")
    assert [name for name, _ in said] == (["dlb-inactivity-short"] if short else [])


@pytest.mark.parametrize(("mode", "mixed"), [("dlb-flowlet", True), ("dlb-per-packet", True), ("ecmp", False)])
def test_uplinks_of_two_speeds(tmp_path: Path, mode: str, mixed: bool) -> None:
    own = "overrides: {devices: {spine2: {device: qfx5230-64cd}}}"
    said = noted(
        tmp_path,
        topology="{stripes: 1, spines: 2, oversubscription: 4, link_speed: 800G}",
        leaf="{device: qfx5240-64od, release: 23.4R2}",
        balancing=f"{{mode: {mode}}}",
        server="mi300x-8gpu-thor2",
        more=own,
    )
    what = "uplinks of 400G and 800G are in one group of stripe1-leaf1 and 7 more"
    assert said == ([("dlb-mixed-speeds", what)] if mixed else [])


@pytest.mark.parametrize(
    ("balancing", "server", "said"),
    [
        ("{mode: dlb-per-packet}", "h100-8gpu-cx7", True),
        ("{mode: spray}", "h100-8gpu-cx7", True),
        ("{mode: dlb-flowlet}", "h100-8gpu-cx7", False),
        ("{mode: dlb-per-packet}", "mi300x-8gpu-thor2", False),
    ],
)
def test_adaptive_routing_behind_switches(tmp_path: Path, balancing: str, server: str, said: bool) -> None:
    what = "ConnectX NICs expect adaptive routing, but no document shows that qfx5240-64od supports it"
    found = noted(tmp_path, balancing=balancing, server=server)
    assert found == ([("adaptive-routing-undocumented", what)] if said else [])


def test_stripe_without_servers(tmp_path: Path) -> None:
    stripes = "{stripes: 2, spines: 2, oversubscription: 4}"
    assert noted(tmp_path, topology=stripes, placed=", stripe: stripe2") == [
        ("stripe-empty", "stripe 'stripe1' has no servers")
    ]


@pytest.mark.parametrize(
    ("groups", "said"),
    [
        ([("gpu-[1-2]", 1), ("gpu-[3-4]", 2)], []),
        (
            [("gpu-1", 1), ("gpu-2", 2), ("gpu-3", 1), ("gpu-4", 2)],
            ["4 of 4 hops of a ring cross the spines, but 2 would be enough"],
        ),
    ],
)
def test_order_of_servers_that_leads_from_stripe_to_stripe(
    tmp_path: Path, groups: list[tuple[str, int]], said: list[str]
) -> None:
    """NCCL keeps the order of nodes, and ``mpirun.sh`` has the file's."""
    text = FILE.format(
        topology="{stripes: 2, spines: 2, oversubscription: 4}",
        leaf="{device: qfx5240-64od}",
        balancing="{mode: rlb}",
        server="h100-8gpu-cx7",
        hosts="{}",
        management="{}",
        placed="",
        more="",
    )
    servers = ", ".join(
        f"{{names: {names!r}, model: h100-8gpu-cx7, stripe: stripe{stripe}}}" for names, stripe in groups
    )
    text = text.replace('{names: "gpu-[1-4]", model: h100-8gpu-cx7}', servers)
    network, _ = designed(tmp_path, text)
    assert [one.what for one in network.findings if one.id == "rank-order-crosses"] == said


def test_stripes_that_servers_without_a_stripe_leave_over(tmp_path: Path) -> None:
    """They are spread over the stripes: what is left over is one number that is too high."""
    for stripes in (2, 3, 4):
        assert noted(tmp_path, topology=f"{{stripes: {stripes}, spines: 2, oversubscription: 4}}") == []
    one = "{stripes: 5, spines: 2, oversubscription: 4}"
    assert noted(tmp_path, topology=one) == [("stripe-empty", "stripe 'stripe5' has no servers")]
    more = "{stripes: 6, spines: 2, oversubscription: 4}"
    assert noted(tmp_path, topology=more) == [("stripe-empty", "2 stripes from 'stripe5' on have no servers")]


@pytest.mark.parametrize(
    ("variable", "said"),
    [
        ("NCCL_IB_TC: 0", "NCCL_IB_TC is 0, which means DSCP 0, but RDMA data of backend has DSCP 26"),
        (
            "NCCL_IB_TC: null",
            "NCCL_IB_TC is not given, which means 0, which means DSCP 0, but RDMA data of backend has DSCP 26",
        ),
        (
            "UCX_IB_TRAFFIC_CLASS: 96",
            "UCX_IB_TRAFFIC_CLASS is 96, which means DSCP 24, but RDMA data of backend has DSCP 26",
        ),
        ("NCCL_IB_TC: 104", ""),
        ("NCCL_IB_TC: 106", ""),
        ("NCCL_IB_TC: $CLASS", ""),
    ],
)
def test_traffic_class_of_a_job(tmp_path: Path, variable: str, said: str) -> None:
    found = noted(tmp_path, hosts=f"{{job: {{environment: {{{variable}}}}}}}")
    assert found == ([("job-traffic-class", said)] if said else [])


@pytest.mark.parametrize(
    ("variable", "said"),
    [
        ("NCCL_IB_GID_INDEX: 3", "NCCL_IB_GID_INDEX is 3 on every server"),
        ('UCX_IB_GID_INDEX: "3"', "UCX_IB_GID_INDEX is 3 on every server"),
        ("NCCL_IB_GID_INDEX: -1", ""),
        ("NCCL_IB_GID_INDEX: null", ""),
        ("UCX_IB_GID_INDEX: auto", ""),
    ],
)
def test_fixed_gid_index(tmp_path: Path, variable: str, said: str) -> None:
    found = noted(tmp_path, hosts=f"{{job: {{environment: {{{variable}}}}}}}")
    assert found == ([("job-gid-index", said)] if said else [])


@pytest.mark.parametrize(
    ("hosts", "pairs"),
    [
        ("{job: {qps_per_connection: 1}}", 1),
        ("{job: {environment: {NCCL_IB_QPS_PER_CONNECTION: 1}}}", 1),
        ("{job: {qps_per_connection: 2}}", None),
        ("{job: {qps_per_connection: 1, environment: {NCCL_IB_QPS_PER_CONNECTION: 4}}}", None),
        ("{}", None),
    ],
)
def test_fewer_queue_pairs_than_path_colors(tmp_path: Path, hosts: str, pairs: int | None) -> None:
    what = f"{pairs} queue pairs per connection over 2 path colors of backend"
    assert noted(tmp_path, hosts=hosts) == ([] if pairs is None else [("job-queue-pairs", what)])


UP_TO = "over 400G: an all-to-all takes up to"


@pytest.mark.parametrize(
    ("spines", "balancing", "job", "wanted"),
    [
        (4, "{mode: rlb}", "{}", None),
        (2, "{mode: rlb}", "{environment: {NCCL_IB_SPLIT_DATA_ON_QPS: 1}}", None),  # two parts and a word are posted while the bytes are sent
        (2, "{mode: rlb}", "{qps_per_connection: 8, environment: {NCCL_IB_SPLIT_DATA_ON_QPS: 1}}", ("warning", f"each message is split into 8 parts {UP_TO} 130% longer than with whole messages", 9)),
        (4, "{mode: rlb}", "{qps_per_connection: 2, environment: {NCCL_IB_SPLIT_DATA_ON_QPS: 1}}", None),
        (4, "{mode: rlb}", "{environment: {NCCL_IB_SPLIT_DATA_ON_QPS: 0}}", None),
        (4, "{mode: rlb}", "{environment: {NCCL_IB_SPLIT_DATA_ON_QPS: null}}", None),
        (4, "{mode: rlb}", "{environment: {NCCL_IB_SPLIT_DATA_ON_QPS: 1}}", ("warning", f"each message is split into 4 parts {UP_TO} 28% longer than with whole messages", 9)),
        (4, "{mode: ecmp}", "{qps_per_connection: 4}", None),
        (4, "{mode: ecmp}", "{qps_per_connection: 4, environment: {NCCL_IB_SPLIT_DATA_ON_QPS: 1}}", ("warning", f"each message is split into 4 parts {UP_TO} 28% longer than with whole messages", 9)),
        (4, "{mode: ecmp}", "{environment: {NCCL_IB_SPLIT_DATA_ON_QPS: 1}}", None),
    ],
)  # fmt: skip
def test_splitting_messages_that_costs_more_than_a_tenth_is_named(
    tmp_path: Path, spines: int, balancing: str, job: str, wanted: tuple[str, str, int] | None
) -> None:
    text = FILE.format(
        topology=f"{{stripes: 1, spines: {spines}, oversubscription: 4}}",
        leaf="{device: qfx5240-64od}",
        balancing=balancing,
        server="h100-8gpu-cx7",
        hosts=f"{{job: {job}}}",
        management="{}",
        placed="",
        more="",
    )
    found = [one for one in designed(tmp_path, text)[0].findings if one.id == "job-split-data"]
    assert [(one.severity, one.what, one.line) for one in found] == ([] if wanted is None else [wanted])


@pytest.mark.parametrize(
    ("management", "override", "said"),
    [
        ("{gateway: 172.20.0.10}", "", "172.20.0.10 is also that of the management gateway"),
        ("{ntp: [172.20.0.11]}", "", "172.20.0.11 is also that of an NTP server"),
        ("{dns: [172.20.0.11]}", "", "172.20.0.11 is also that of a name server"),
        ("{syslog: [{host: 172.20.0.11}]}", "", "172.20.0.11 is also that of a syslog server"),
        ("{ntp: [172.20.0.5]}", "", ""),
        ("{ntp: [172.20.0.5]}", "172.20.0.5", "172.20.0.5 is also that of an NTP server"),
        ("{}", "172.20.0.1", "172.20.0.1 is also that of the management gateway"),
    ],
)
def test_management_address_that_is_taken(tmp_path: Path, management: str, override: str, said: str) -> None:
    own = f"overrides: {{devices: {{spine1: {{management_address: {override}}}}}}}" if override else ""
    found = noted(tmp_path, management=management, more=own)
    assert found == ([("management-address-taken", f"management address {said}")] if said else [])


FILTERED = "security: {control_plane: {management_prefixes: [10.9.0.0/16, 'fd00:9::/32']}}"


@pytest.mark.parametrize(
    ("management", "said"),
    [
        ("ntp: [172.20.0.3]", None),
        ("security: {}, ntp: [172.20.0.3], dns: [172.20.0.2]", None),
        ("security: {control_plane: null}, ntp: [192.0.2.3]", None),
        ("security: {}, ntp: [192.0.2.3]", ("management-shut-out", "NTP server 192.0.2.3 is not in 172.20.0.0/16")),
        ("security: {}, ntp: ['fd00:9::3']", ("management-shut-out", "NTP server fd00:9::3 is not in 172.20.0.0/16")),
        (
            "security: {}, ntp: [clock.example.net]",
            ("management-by-name", "NTP server clock.example.net is a name, not an address"),
        ),
        ("security: {}, dns: [192.0.2.2]", ("management-shut-out", "name server 192.0.2.2 is not in 172.20.0.0/16")),
        (
            "security: {aaa: {radius: [{host: 192.0.2.6, key: 'secret:radius'}]}}",
            ("management-shut-out", "RADIUS server 192.0.2.6 is not in 172.20.0.0/16"),
        ),
        (
            "security: {aaa: {tacacs: [{host: 192.0.2.5, key: 'secret:tacacs'}]}}",
            ("management-shut-out", "TACACS+ server 192.0.2.5 is not in 172.20.0.0/16"),
        ),
        (
            "security: {}, snmp: {community: 'secret:community', clients: [172.20.0.0/15]}",
            ("management-shut-out", "SNMP client 172.20.0.0/15 is not in 172.20.0.0/16"),
        ),
        (f"{FILTERED}, ntp: [10.9.1.1, 'fd00:9::3'], syslog: [{{host: 192.0.2.4}}]", None),
        (
            f"{FILTERED}, ntp: [172.20.0.3]",
            ("management-shut-out", "NTP server 172.20.0.3 is not in 10.9.0.0/16, fd00:9::/32"),
        ),
    ],
)
def test_servers_that_the_filter_of_the_control_plane_shuts_out(
    tmp_path: Path, management: str, said: tuple[str, str] | None
) -> None:
    assert noted(tmp_path, management=f"{{{management}}}") == ([said] if said else [])


def test_pools_of_one_fabric_that_overlap(tmp_path: Path) -> None:
    """Router ids are of 10.255.0.0/16 unless the file says otherwise."""
    assert noted(tmp_path, management="{pool: 10.254.0.0/24}") == []
    with pytest.raises(DesignError, match=r"overlapping prefixes: 10\.255\.0\.0/24 of the management network"):
        noted(tmp_path, management="{pool: 10.255.0.0/24}")
