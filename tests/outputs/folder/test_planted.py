"""Mistakes planted in server files, tables and other files of built folders: each is named by its rule and its line."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

from railweave.api import load
from railweave.model.device.build import device_config
from railweave.outputs.folder.steps import build
from railweave.outputs.folder.verify import standing
from railweave.outputs.rendering.network import render_hosts, render_network
from tests.conftest import EXAMPLES

if TYPE_CHECKING:
    from railweave.model.findings import Finding
    from railweave.model.network.model import Network

NVIDIA, BROADCOM, KERNEL, TENANTS = "h100-rlb", "mi300x-leaf-31", "h100-rlb-kernel", "evpn-gpu-isolation"


class Built(NamedTuple):
    """A folder with what its design renders to."""

    folder: Path
    network: Network
    rendered: dict[str, str]

    def findings(self) -> list[Finding]:
        return standing(self.folder, self.network, self.rendered).findings


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> object:
    @cache
    def made(example: str) -> Built:
        here = tmp_path_factory.mktemp(example)
        for file in EXAMPLES.glob(f"{example.removesuffix('-kernel')}.*"):
            shutil.copy(file, here)
        file = here / f"{example.removesuffix('-kernel')}.yaml"
        if example == KERNEL:
            file.write_text(file.read_text().replace("\nhosts:\n", "\nhosts:\n  router_advertisements: kernel\n"))
            if "router_advertisements: kernel" not in file.read_text():
                file.write_text(file.read_text() + "\nhosts: {router_advertisements: kernel}\n")
        build(file, here / "out")
        network = load(here / "out")
        configs = {one.name: device_config(network, one.name) for one in network.switches}
        return Built(here / "out", network, render_network(network, configs)[0] | render_hosts(network))

    return made


@dataclass(frozen=True)
class Planted:
    """``old`` becomes ``new`` in a file, where ``old`` stands first; ``said`` is in the sentence of the finding.

    ``after``: the finding is on the line that many below the one where ``old`` begins.
    """

    example: str
    file: str
    old: str
    new: str
    id: str
    said: str
    after: int = 0


N, H = "hosts/H100-01", "hosts/host1"
PLANTED = [
    # netplan, both kinds of addresses
    Planted(NVIDIA, f"{N}/netplan.yaml", "mtu: 9000", "mtu: 1500", "server-mtu", "interface gpu0_eth: MTU is 1500, not 9000"),
    Planted(NVIDIA, f"{N}/netplan.yaml", "      accept-ra: true", "      accept-ra: no", "server-address", "accept-ra is false, not true"),
    Planted(NVIDIA, f"{N}/netplan.yaml", ": eui64", ": stable-privacy", "server-address", "ipv6-address-generation"),
    Planted(NVIDIA, f"{N}/netplan.yaml", 'via: "fc00:1:1:1::1"', 'via: "fc00:1:1:1::2"', "server-route", "next hop (via) is fc00:1:1:1::2, not fc00:1:1:1::1"),
    Planted(NVIDIA, f"{N}/netplan.yaml", "on-link: true, table: 10000", "on-link: true, table: 10001", "server-route", "table is 10001, not 10000"),
    Planted(NVIDIA, f"{N}/netplan.yaml", 'to: "fc00:1:1:1::/64"', 'to: "fc00:1:1:1::/48"', "server-route", "fc00:1:1:1::/48"),
    Planted(NVIDIA, f"{N}/netplan.yaml", "table: 10000, priority: 10000", "table: 10000, priority: 10", "server-rule", "priority is 10, not 10000"),
    Planted(NVIDIA, f"{N}/netplan.yaml", "table: 10002, priority", "table: 10003, priority", "server-rule", "table is 10003"),
    Planted(NVIDIA, f"{N}/netplan.yaml", '        - {from: "fc00:1:1:2::/64", table: 10001, priority: 10000}\n', "", "server-rule", "is missing"),
    Planted(NVIDIA, f"{N}/netplan.yaml", "      ignore-carrier: true\n", "      ignore-carrier: true\n      addresses: [10.9.9.9/24]\n", "server-address", "address 10.9.9.9", 1),
    Planted(BROADCOM, f"{H}/netplan.yaml", "[1.1.101.15/31]", "[1.1.101.17/31]", "server-address", "address is 1.1.101.17, not 1.1.101.15"),
    Planted(BROADCOM, f"{H}/netplan.yaml", "[1.1.101.15/31]", "[1.1.101.15/24]", "server-address", "prefix length is 24, not 31"),
    Planted(BROADCOM, f"{H}/netplan.yaml", "via: 1.1.101.14", "via: 1.1.101.15", "server-route", "next hop"),
    Planted(BROADCOM, f"{H}/netplan.yaml", "from: 1.1.101.14/31, table: 101", "from: 1.1.101.24/31, table: 101", "server-rule", "source (from)"),
    Planted(BROADCOM, f"{H}/netplan.yaml", "      ignore-carrier: true\n", "", "server-service", "ignore-carrier"),
    Planted(BROADCOM, f"{H}/netplan.yaml", "renderer: networkd", "renderer: NetworkManager", "server-service", "renderer"),
    Planted(BROADCOM, f"{H}/netplan.yaml", "mtu: 9000", "mtu: [9000", "file-unreadable", "cannot be read", 1),
    # the same by iproute2
    Planted(BROADCOM, f"{H}/net-setup.sh", "'eth1 9000 static'", "'eth1 1500 static'", "server-mtu", "MTU is 1500"),
    Planted(BROADCOM, f"{H}/net-setup.sh", "1.1.101.25/31|eth2", "1.1.101.25/30|eth2", "server-address", "prefix length is 30"),
    Planted(BROADCOM, f"{H}/net-setup.sh", "1.1.101.25/31|eth2", "1.1.101.25/31|eth3", "server-address", "interface is eth3"),
    Planted(BROADCOM, f"{H}/net-setup.sh", "default via 1.1.101.34", "default via 1.1.101.44", "server-route", "next hop"),
    Planted(NVIDIA, f"{N}/net-setup.sh", "gpu0_eth table 10000|'", "gpu0_eth table 10009|'", "server-route", "table is 10009"),
    Planted(BROADCOM, f"{H}/net-setup.sh", "lookup 101|0'", "lookup 101|9'", "server-rule", "priority is 9, not 0"),
    Planted(BROADCOM, f"{H}/net-setup.sh", "\nsay() {", "\nip link set eth1 mtu 1500\nsay() {", "server-mtu", "ip link set eth1 mtu 1500", 1),
    Planted(BROADCOM, f"{H}/rt_tables.conf", "103\tnic3", "113\tnic3", "server-route", "name of routing table"),
    # QoS of both vendors
    Planted(NVIDIA, f"{N}/nic-qos.sh", "PRIORITY=3 ", "PRIORITY=4 ", "server-qos", "priority of RDMA data) of fabric backend is 4, not 3"),
    Planted(NVIDIA, f"{N}/nic-qos.sh", "LOSSLESS=yes", "LOSSLESS=no", "server-qos", "PFC for RDMA data"),
    Planted(NVIDIA, f"{N}/nic-qos.sh", "ECN=yes", "ECN=no", "server-qos", "ECN"),
    Planted(NVIDIA, f"{N}/nic-qos.sh", "SHARE=85", "SHARE=58", "server-qos", "is 58, not 85"),
    Planted(NVIDIA, f"{N}/nic-qos.sh", "CLASS=106", "CLASS=104", "server-qos", "traffic class byte"),
    Planted(NVIDIA, f"{N}/nic-qos.sh", "CNP_DSCP=48", "CNP_DSCP=46", "server-qos", "DSCP of congestion notification"),
    Planted(NVIDIA, f"{N}/nic-qos.sh", "CNP_PRIORITY=6", "CNP_PRIORITY=3", "server-qos", "is 3, not 6"),
    Planted(NVIDIA, f"{N}/nic-qos.sh", "0 0 3 0 0 0 0 0", "0 0 4 0 0 0 0 0", "server-qos", "priority of DSCP 26 of fabric backend is 4, not 3"),
    Planted(NVIDIA, f"{N}/nic-qos.sh", "mlx5_3 1 NVIDIA", "mlx5_4 1 NVIDIA", "server-nic", "RDMA device is mlx5_4, not mlx5_3"),
    Planted(NVIDIA, f"{N}/nic-qos.sh", "ADAPTIVE=no\n", "ADAPTIVE=no\n        SHARE=10\n", "server-qos", "is not designed", 1),
    Planted(NVIDIA, f"{N}/nic-qos.sh", "classes[CNP_PRIORITY]=2", "classes[CNP_PRIORITY]=0", "server-qos", "classes[CNP_PRIORITY]=0"),
    Planted(NVIDIA, f"{N}/nic-qos.sh", 'run mlnx_qos -i "$dev" --pfc', 'true mlnx_qos -i "$dev" --pfc', "server-qos", "--pfc"),
    Planted(BROADCOM, f"{H}/bnxt_re.conf", "ROCE_DSCP=26", "ROCE_DSCP=24", "server-qos", "setting ROCE_DSCP is 24, not 26"),
    Planted(BROADCOM, f"{H}/bnxt_re.conf", "ROCE_BW=50", "ROCE_BW=90", "server-qos", "ROCE_BW"),
    Planted(BROADCOM, f"{H}/bnxt_re.conf", "CNP_PRI=7", "CNP_PRI=3", "server-qos", "CNP_PRI"),
    Planted(BROADCOM, f"{H}/nic-qos.sh", "IN_FILE=yes", "IN_FILE=no", "server-qos", "IN_FILE"),
    Planted(NVIDIA, f"{N}/nic-nvm.sh", "CNP_DSCP_P1 48", "CNP_DSCP_P1 4", "server-firmware", "CNP_DSCP_P1 of OPTIONS_1 is 4, not 48"),
    Planted(NVIDIA, f"{N}/nic-nvm.sh", "'CNP_DSCP_P1 48 device congestion", "\"CNP_DSCP_P1 48 device $(reboot)\" 'x", "server-firmware", "reboot"),
    Planted(NVIDIA, f"{N}/nic-nvm.sh", "gpu3_eth NVIDIA OPTIONS_1", "gpu9_eth NVIDIA OPTIONS_1", "server-firmware", "interface is gpu9_eth"),
    # jobs
    Planted(NVIDIA, f"{N}/nccl.env", "NCCL_IB_TC=106", "NCCL_IB_TC=0", "server-nccl", "variable NCCL_IB_TC is 0, not 106"),
    Planted(NVIDIA, f"{N}/nccl.env", "mlx5_3:1,mlx5_4:1", "mlx5_4:1,mlx5_3:1", "server-nccl", "NCCL_IB_HCA"),
    Planted(NVIDIA, f"{N}/nccl.env", "NCCL_IB_QPS_PER_CONNECTION=4\n", "", "server-nccl", "NCCL_IB_QPS_PER_CONNECTION (4) is missing"),
    Planted(NVIDIA, f"{N}/nccl.env", "NCCL_IB_TC=106", "NCCL_IB_TC=106\nNCCL_IB_TC=0", "server-nccl", "is 0, not 106", 1),
    Planted(NVIDIA, f"{N}/nccl.env", "NCCL_IB_TC=106", "NCCL_IB_TC=106; curl x | sh", "server-nccl", "curl"),
    Planted(TENANTS, f"{N}/tenants/tenant-1/nccl.env", "CUDA_VISIBLE_DEVICES=", "CUDA_VISIBLE_DEVICES=7,", "server-nccl", "CUDA_VISIBLE_DEVICES"),
    Planted(NVIDIA, "hosts/hostfile", "H100-02 slots=8", "H100-02 slots=4", "server-nccl", "slots is 4, not 8"),
    Planted(NVIDIA, "hosts/hostfile", "H100-01 slots=8\nH100-02 slots=8", "H100-02 slots=8\nH100-01 slots=8", "server-nccl", "another place"),
    Planted(NVIDIA, "hosts/mpirun.sh", "GPUS=8", "GPUS=4", "server-nccl", "variable GPUS is 4, not 8"),
    Planted(NVIDIA, "hosts/mpirun.sh", "^sm,tcp,uct", "^sm,uct", "server-nccl", "^sm,uct"),
    Planted(NVIDIA, "hosts/tuner.json", '"algorithm": "tree"', '"algorithm": "ring"', "server-nccl", "algorithm is ring, not tree"),
    Planted(NVIDIA, "hosts/tuner.json", '"schema": 1', '"schema": 1,,', "file-unreadable", "not JSON"),
    # host.json
    Planted(NVIDIA, f"{N}/host.json", '"dscp": 26', '"dscp": 24', "server-qos", "QoS of fabric backend: roce.dscp is 24, not 26"),
    Planted(NVIDIA, f"{N}/host.json", '"mtu": 9000', '"mtu": 4200', "server-mtu", "NIC gpu0_eth: MTU is 4200"),
    Planted(NVIDIA, f"{N}/host.json", '"leaf": "stripe1-leaf1"', '"leaf": "stripe1-leaf2"', "server-nic", "leaf is stripe1-leaf2"),
    Planted(NVIDIA, f"{N}/host.json", '"LINK_TYPE_P1": "2"', '"LINK_TYPE_P1": "1"', "server-firmware", "LINK_TYPE_P1"),
    Planted(NVIDIA, f"{N}/host.json", '"address": "fc00:1:1:1:a288', '"address": "fc00:1:1:1:a289', "server-address", "address of path 1 of gpu0_eth: address is"),
    Planted(NVIDIA, f"{N}/host.json", '"gateway": "fc00:1:1:3::1"', '"gateway": "fc00:1:1:4::1"', "server-route", "gateway is"),
    Planted(NVIDIA, f"{N}/host.json", '"NCCL_SOCKET_NTHREADS": "8"', '"NCCL_SOCKET_NTHREADS": "2"', "server-nccl", 'NCCL_SOCKET_NTHREADS is "2", not "8"'),
    Planted(NVIDIA, f"{N}/host.json", '"kernel.numa_balancing": "0"', '"kernel.numa_balancing": "1"', "server-kernel", "numa_balancing"),
    Planted(BROADCOM, f"{H}/host.json", '"mtu": 9000', '"mtu": "9000"', "server-mtu", 'MTU is "9000", not 9000'),
    # names, kernel, units
    Planted(NVIDIA, f"{N}/70-railweave-net.rules", "a0:88:c2:3b:50:66", "a0:88:c2:3b:50:67", "server-nic", "name gpu0_eth: MAC is a0:88:c2:3b:50:67"),
    Planted(NVIDIA, f"{N}/60-rdma-persistent-naming.rules", "NAME_FIXED mlx5_0", "NAME_FIXED mlx5_9", "server-nic", "mlx5_9"),
    Planted(NVIDIA, f"{N}/60-rdma-persistent-naming.rules", 'ACTION!="add"', 'ACTION=="add"', "server-nic", "udev rule"),
    Planted(BROADCOM, f"{H}/sysctl.conf", "arp_ignore = 2", "arp_ignore = 0", "server-kernel", "net.ipv4.conf.all.arp_ignore is 0, not 2"),
    Planted(BROADCOM, f"{H}/sysctl.conf", "net.ipv4.conf.eth3.rp_filter = 2\n", "", "server-kernel", "is missing"),
    Planted(BROADCOM, f"{H}/grub-railweave.cfg", 'amd_iommu=on iommu=pt"', 'amd_iommu=on"', "server-kernel", "GRUB_CMDLINE_LINUX"),
    Planted(NVIDIA, f"{N}/limits.conf", "root hard memlock unlimited", "root hard memlock 65536", "server-kernel", "65536"),
    Planted(NVIDIA, f"{N}/nic-qos.service", "ExecStart=/usr/local", "ExecStart=/opt", "server-service", "ExecStart of [Service]"),
    Planted(NVIDIA, f"{N}/acs-off.sh", "ECAP_ACS+0x6.w", "ECAP_ACS+0x4.w", "server-service", "CONTROL"),
    Planted(KERNEL, f"{N}/05-railweave-unmanaged.network", "Unmanaged=yes", "Unmanaged=no", "server-service", "Unmanaged of [Link] is no, not yes"),
    Planted(KERNEL, f"{N}/networkd.conf", "ManageForeignRoutes=no\n", "", "server-service", "ManageForeignRoutes of [Network] (no) is missing"),
    Planted(KERNEL, f"{N}/networkmanager.conf", "managed=no", "managed=yes", "server-service", "managed of [device-railweave-unmanaged] is yes, not no"),
    Planted(BROADCOM, f"{H}/networkmanager.conf", "ignore-carrier=yes", "ignore-carrier=no", "server-service", "ignore-carrier of [device-railweave] is no, not yes"),
    Planted(BROADCOM, f"{H}/90-railweave-qos.rules", 'DRIVERS=="bnxt_en"', 'DRIVERS=="mlx5_core"', "server-nic", "udev rule"),
    Planted(BROADCOM, f"{H}/nic-qos@.service", " --nic=%i", "", "server-service", "ExecStart of [Service]"),
    Planted(KERNEL, f"{N}/sysctl.conf", "accept_ra = 1", "accept_ra = 0", "server-kernel", "accept_ra"),
    # tables
    Planted(NVIDIA, "cabling.csv", "stripe1-leaf1,et-0/0/16:0", "stripe1-leaf2,et-0/0/16:0", "table-differs", "row H100-01 gpu0_eth: b_device is stripe1-leaf2, not stripe1-leaf1"),
    Planted(NVIDIA, "cabling.csv", "osfp-400g-sr4", "osfp-400g-dr4", "table-differs", "a_optic"),
    Planted(NVIDIA, "cabling.csv", ",10,planned", ",30,planned", "table-differs", "length_m is 30, not 10"),
    Planted(NVIDIA, "cabling.csv", "H100-01,gpu1_eth", "H100-01,gpu9_eth", "table-differs", "a_port is gpu9_eth"),
    Planted(NVIDIA, "cabling.csv", "speed_gbps,", "speed,", "table-differs", "column speed_gbps is missing"),
    Planted(NVIDIA, "cabling.csv", "length_is,fabric", "fabric,length_is,x", "table-differs", "column x is not designed"),
    Planted(NVIDIA, "addresses.csv", "fc00:1:1:1:a288:c2ff:fe3b:5066,/64", "fc00:1:1:1:a288:c2ff:fe3b:5066,/63", "table-differs", "prefix is /63"),
    Planted(NVIDIA, "addresses.csv", ",172.20.0.10,", ",172.20.0.99,", "table-differs", "address is 172.20.0.99"),
    Planted(NVIDIA, "addresses.csv", "\nmanagement,stripe1-leaf1", "\nmanagement,stripe1-leaf1,,172.20.0.77,/24,,,,pool,,,,\nmanagement,stripe1-leaf1", "table-differs", "row management stripe1-leaf1 is not designed", 1),
    Planted(NVIDIA, "addresses.csv", "gpu0_eth,fc00:1:1:1", "gpu0_eth,\"fc00:1:1:1", "file-unreadable", "not a table"),
    # files of devices that are not configurations
    Planted(NVIDIA, "devices/spine1/config.json", '"asn": ', '"asn": 9', "config-differs", "asn is"),
    Planted(NVIDIA, "devices/spine1/config.json", '"asn": ', '"as": ', "file-unreadable", "asn"),
]  # fmt: skip
"""Over 40 in server files and tables, of both NIC vendors."""


@pytest.mark.slow
@pytest.mark.parametrize("one", PLANTED, ids=lambda one: f"{one.file}:{one.new.strip()[:30]}")
def test_a_mistake_is_named_by_rule_and_line(built: object, one: Planted) -> None:
    made: Built = built(one.example)  # type: ignore[operator]
    file = made.folder / one.file
    text = file.read_text()
    place = text.index(one.old)
    line = text.count("\n", 0, place) + 1 + one.after
    try:
        file.write_text(text[:place] + one.new + text[place + len(one.old) :])
        found = made.findings()
    finally:
        file.write_text(text)
    assert {(one.id, one.severity, one.file) for one in found} == {(one.id, "error", one.file)}
    assert one.said in " / ".join(finding.what for finding in found)
    if one.id != "file-unreadable":
        assert line in [finding.line for finding in found]
    assert len(found) <= 3


def test_nothing_is_found_in_what_was_built(built: object) -> None:
    for example in (NVIDIA, BROADCOM, KERNEL, TENANTS):
        made: Built = built(example)  # type: ignore[operator]
        assert made.findings() == []
