"""bios.md: the settings of the source, each to be ticked off."""

from __future__ import annotations

import re

from railweave.outputs.rendering.host.boot import bios
from tests.outputs.rendering.host.stand_ins import server


def test_table_2_of_the_guide() -> None:
    ticks = dict(re.findall(r"- \[ \] ([^:\n]+): \*\*([^*]+)\*\*", bios(server("mi300x-leaf-24"))))
    assert ticks == {
        "Logical Processor": "Disable",
        "Virtualization Technology": "Disable",
        "SubNumaCluster": "Disable",
        "MADT Core Cluster": "Linear",
        "Global SR-IOV": "Disable",
        "Server System Profile": "Performance",
        "Workload": "Not Configured",
        "AC Recovery Delay": "Random",
    }


def test_a_server_without_a_source_says_so_and_keeps_what_holds_for_all() -> None:
    text = bios(server("h100-rlb"))
    assert "No source gives a table" in text
    for what in ("PCIe ACS", "IOMMU", "Memory interleaving", "SR-IOV", "intel_iommu=on iommu=pt"):
        assert what in text


def test_every_item_says_where_it_is_from_or_how_to_check_it() -> None:
    for example in ("h100-rlb", "mi300x-leaf-24"):
        items = bios(server(example)).split("## On every GPU server")[1].split("- [ ] ")[1:]
        assert items
        assert all("guide" in item and "check:" in item for item in items)


def test_final_checks_of_the_guide() -> None:
    """Thor2 guide, section 2.6: drivers by vendor, and no firewall between the servers."""
    amd, nvidia = (
        bios(server(example)).split("## Kernel and network")[1] for example in ("mi300x-leaf-24", "h100-rlb")
    )
    for text, words, others in (
        (amd, ("bnxt_en", "bnxt_re", "amdgpu", "ib_peer_mem"), ("mlx5_ib", "nvidia_peermem")),
        (nvidia, ("mlx5_ib", "nvidia_peermem", "dma-buf"), ("bnxt_re", "amdgpu")),
    ):
        assert all(word in text for word in (*words, "Firewall", "section 2.6, item 15"))
        assert not any(word in text for word in others)
