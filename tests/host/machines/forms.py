"""What tools print, in the forms that public pages show: same fields, order, units and oddities; all values are made up.

Where each form was seen is in README.md beside this file.
"""

from __future__ import annotations

import json
from typing import Any

Json = dict[str, Any]


def lspci_bridge(address: str) -> str:
    """A port of a PCIe switch, as ``lspci -D -vvv`` prints it."""
    return (
        f"{address} PCI bridge: Broadcom / LSI PEX890xx PCIe Gen 5 Switch (rev b0) (prog-if 00 [Normal decode])\n"
        "\tSubsystem: Broadcom / LSI Device 0144\n"
        "\tControl: I/O+ Mem+ BusMaster+ SpecCycle- MemWINV- VGASnoop- ParErr+ Stepping- SERR+ FastB2B- DisINTx+\n"
        "\tLatency: 0, Cache Line Size: 32 bytes\n"
        f"\tBus: primary={address[5:7]}, secondary=00, subordinate=00, sec-latency=0\n"
        "\tCapabilities: [68] Express (v2) Downstream Port (Slot+), MSI 00\n"
        "\t\tDevCap:\tMaxPayload 512 bytes, PhantFunc 0\n\t\t\tExtTag+ RBE+\n"
        "\t\tDevCtl:\tCorrErr+ NonFatalErr+ FatalErr+ UnsupReq-\n\t\t\tRlxdOrd- ExtTag+ PhantFunc- AuxPwr- NoSnoop+\n"
        "\t\t\tMaxPayload 512 bytes, MaxReadReq 128 bytes\n"
        "\t\tDevSta:\tCorrErr- NonFatalErr- FatalErr- UnsupReq- AuxPwr- TransPend-\n"
        "\tCapabilities: [148 v1] Access Control Services\n"
        "\t\tACSCap:\tSrcValid+ TransBlk+ ReqRedir+ CmpltRedir+ UpstreamFwd+ EgressCtrl+ DirectTrans+\n"
        "\t\tACSCtl:\tSrcValid- TransBlk- ReqRedir- CmpltRedir- UpstreamFwd- EgressCtrl- DirectTrans-\n"
        "\tKernel driver in use: pcieport\n"
    )


def lspci_nic(address: str, driver: str) -> str:
    """A ConnectX-7 or a Thor 2. Both have access control too, which is off: it counts on bridges only."""
    name, broadcom = {
        "mlx5_core": ("Mellanox Technologies MT2910 Family [ConnectX-7]", False),
        "bnxt_en": ("Broadcom Inc. and subsidiaries BCM57608 25Gb/50Gb/100Gb/200Gb/400Gb Ethernet (rev 11)", True),
    }.get(driver, ("Pensando Systems DSC Ethernet Controller", False))
    return (
        f"{address} Ethernet controller: {name}\n\tSubsystem: {name.split(' MT')[0].split(' BCM')[0]} Device 0040\n"
        "\tControl: I/O- Mem+ BusMaster+ SpecCycle- MemWINV- VGASnoop- ParErr- Stepping- SERR- FastB2B- DisINTx+\n"
        "\tStatus: Cap+ 66MHz- UDF- FastB2B- ParErr- DEVSEL=fast >TAbort- <TAbort- <MAbort- >SERR- <PERR- INTx-\n"
        "\tLatency: 0, Cache Line Size: 64 bytes\n\tInterrupt: pin A routed to IRQ 18\n\tNUMA node: 0\n\tIOMMU group: 11\n"
        "\tRegion 0: Memory at 3ffffc000000 (64-bit, prefetchable) [size=32M]\n"
        "\tCapabilities: [60] Express (v2) Endpoint, MSI 00\n"
        "\t\tDevCap:\tMaxPayload 512 bytes, PhantFunc 0, Latency L0s unlimited, L1 unlimited\n"
        "\t\t\tExtTag+ AttnBtn- AttnInd- PwrInd- RBE+ FLReset+ SlotPowerLimit 75.000W\n"
        "\t\tDevCtl:\tCorrErr+ NonFatalErr+ FatalErr+ UnsupReq-\n"
        "\t\t\tRlxdOrd+ ExtTag+ PhantFunc- AuxPwr- NoSnoop+ FLReset-\n"
        f"\t\t\tMaxPayload 512 bytes, MaxReadReq {512 if broadcom else 4096} bytes\n"
        "\t\tDevSta:\tCorrErr- NonFatalErr- FatalErr- UnsupReq- AuxPwr- TransPend-\n"
        "\t\tLnkCap:\tPort #0, Speed 32GT/s, Width x16, ASPM not supported\n"
        "\t\t\tClockPM- Surprise- LLActRep- BwNot- ASPMOptComp+\n"
        "\t\tLnkCtl:\tASPM Disabled; RCB 64 bytes, Disabled- CommClk+\n"
        "\t\t\tExtSynch- ClockPM- AutWidDis- BWInt- AutBWInt-\n"
        "\t\tLnkSta:\tSpeed 32GT/s (ok), Width x16 (ok)\n"
        "\t\t\tTrErr- Train- SlotClk+ DLActive- BWMgmt- ABWMgmt-\n"
        "\tCapabilities: [100 v1] Advanced Error Reporting\n"
        "\t\tUESta:\tDLP- SDES- TLP- FCP- CmpltTO- CmpltAbrt- UnxCmplt- RxOF- MalfTLP- ECRC- UnsupReq- ACSViol-\n"
        "\tCapabilities: [150 v1] Alternative Routing-ID Interpretation (ARI)\n"
        "\t\tARICap:\tMFVC- ACS-, Next Function: 0\n\t\tARICtl:\tMFVC- ACS-, Function Group: 0\n"
        "\tCapabilities: [230 v1] Access Control Services\n"
        "\t\tACSCap:\tSrcValid- TransBlk- ReqRedir- CmpltRedir- UpstreamFwd- EgressCtrl- DirectTrans-\n"
        "\t\tACSCtl:\tSrcValid- TransBlk- ReqRedir- CmpltRedir- UpstreamFwd- EgressCtrl- DirectTrans-\n"
        f"\tKernel driver in use: {driver}\n\tKernel modules: {driver}\n"
    )


def module(channels: int = 4, nm: float = 1310) -> str:
    """``ethtool -m`` of a module with CMIS: the flags of eight lanes, of which a module with four uses four."""
    lines = [
        ("Identifier", "0x19 (OSFP 8X Pluggable Transceiver)"), ("Power class", "8"), ("Max power", "17.00W"),
        ("Connector", "0x28 (MPO 1x12)"), ("Cable assembly length", "0.00m"), ("Tx CDR bypass control", "No"),
        ("Transmitter technology", "0x06 (1310 nm DFB)" if nm > 1000 else "0x00 (850 nm VCSEL)"), ("Laser wavelength", f"{nm:.3f}nm"),
        ("Laser wavelength tolerance", "6.500nm"), ("Vendor name", "ACME"), ("Vendor PN", "OSFP-400G-DR4"), ("Revision compliance", "Rev. 5.0"), ("Rx loss of signal", "None"),
        ("Tx loss of signal", "None"), ("Tx fault", "None"), ("Module State", "0x03 (ModuleReady)"), ("LowPwrAllowRequestHW", "Off"),
        ("LowPwrRequestSW", "Off"), ("Module temperature", "52.31 degrees C / 126.16 degrees F"), ("Module voltage", "3.2710 V"),
    ]  # fmt: skip
    lit = {one: one <= channels for one in range(1, 9)}
    lines += [(f"Laser tx bias current (Channel {one})", "71.204 mA" if lit[one] else "0.000 mA") for one in lit]
    for way in ("Transmit avg optical power", "Rcvr signal avg optical power"):
        lines += [
            (f"{way} (Channel {one})", "1.2125 mW / 0.84 dBm" if lit[one] else "0.0000 mW / -inf dBm") for one in lit
        ]
    levels = ("high alarm", "low alarm", "high warning", "low warning")
    lines += [(f"Module {what} {level}", "Off") for what in ("temperature", "voltage") for level in levels]
    for one in lit:
        lines += [(f"Laser bias current {level:12} (Chan {one})", "Off") for level in levels]
        lines += [(f"Laser {way} power {level:12} (Channel {one})", "Off") for way in ("tx", "rx") for level in levels]
    lines += [
        ("Module temperature high alarm threshold", "75.00 degrees C / 167.00 degrees F"),
        ("Module temperature high warning threshold", "70.00 degrees C / 158.00 degrees F"),
        ("Laser output power high alarm threshold", "3.1623 mW / 5.00 dBm"),
        ("Laser output power low alarm threshold", "0.3388 mW / -4.70 dBm"),
        ("Laser output power high warning threshold", "2.5119 mW / 4.00 dBm"),
        ("Laser output power low warning threshold", "0.5129 mW / -2.90 dBm"),
        ("Laser rx power high alarm threshold", "3.1623 mW / 5.00 dBm"),
        ("Laser rx power low alarm threshold", "0.1288 mW / -8.90 dBm"),
        ("Laser rx power high warning threshold", "2.5119 mW / 4.00 dBm"),
        ("Laser rx power low warning threshold", "0.2570 mW / -5.90 dBm"),
    ]
    return "".join(f"\t{name:<41} : {value}\n" for name, value in lines)


def devinfo(device: str, port: int, driver: str) -> str:
    """``ibv_devinfo -d DEVICE``."""
    broadcom = driver == "bnxt_en"
    version, part, board = (
        ("231.0.154.0", "5984", "Broadcom BCM57608") if broadcom else ("28.43.2026", "4129", "MT_0000000838")
    )
    return (
        f"hca_id:\t{device}\n\ttransport:\t\t\tInfiniBand (0)\n\tfw_ver:\t\t\t\t{version}\n"
        "\tnode_guid:\t\t\t0200:5eff:fe10:0001\n\tsys_image_guid:\t\t\t0200:5eff:fe10:0001\n"
        f"\tvendor_id:\t\t\t{'0x14e4' if broadcom else '0x02c9'}\n\tvendor_part_id:\t\t\t{part}\n\thw_ver:\t\t\t\t0x0\n"
        f"\tboard_id:\t\t\t{board}\n\tphys_port_cnt:\t\t\t1\n\t\tport:\t{port}\n\t\t\tstate:\t\t\tPORT_ACTIVE (4)\n"
        "\t\t\tmax_mtu:\t\t4096 (5)\n\t\t\tactive_mtu:\t\t4096 (5)\n\t\t\tsm_lid:\t\t\t0\n\t\t\tport_lid:\t\t0\n"
        "\t\t\tport_lmc:\t\t0x00\n\t\t\tlink_layer:\t\tEthernet\n\n"
    )


def counters(driver: str, priority: int) -> str:
    """``ethtool -S``: bits that FEC has corrected are many on a good link, and other priorities have pauses of their own."""
    if driver == "bnxt_en":
        rings = ["[0]: rx_ucast_packets", "[0]: rx_discards", "[0]: tx_ucast_packets", "[0]: missed_irqs"]
        port = ["rx_64b_frames", "rx_fcs_err_frames", "rx_pause_frames", "rx_pfc_frames", "rx_bytes", "tx_pause_frames",
                *(f"{way}_pfc_ena_frames_pri{i}" for way in ("rx", "tx") for i in range(8)), "link_down_events", "continuous_pause_events",
                "continuous_roce_pause_events", *(f"pfc_pri{i}_tx_transitions" for i in range(8)), "rx_bits", "rx_pcs_symbol_err",
                "rx_corrected_bits", *(f"rx_discard_packets_cos{i}" for i in range(8)), "rx_fec_corrected_blocks",
                "rx_fec_uncorrectable_blocks", "rx_filter_miss"]  # fmt: skip
        values = {"rx_bytes": 9 * 10**15, f"tx_pfc_ena_frames_pri{priority}": 40, "link_down_events": 1, "rx_bits": 7 * 10**16,
                  "rx_corrected_bits": 3 * 10**9, "rx_fec_corrected_blocks": 2 * 10**9, "[0]: rx_ucast_packets": 9}  # fmt: skip
    else:
        rings = ["rx_packets", "rx_bytes", "rx0_packets", "ch0_events"]
        port = ["rx_out_of_buffer", "rx_packets_phy", "rx_crc_errors_phy", "rx_in_range_len_errors_phy", "rx_symbol_err_phy",
                "rx_pause_ctrl_phy", "tx_pause_ctrl_phy", "link_down_events_phy", "rx_bits_phy", "rx_pcs_symbol_err_phy",
                "rx_corrected_bits_phy", *(f"rx_err_lane_{i}_phy" for i in range(4)), "rx_buffer_passed_thres_phy",
                "rx_pci_signal_integrity", "tx_pci_signal_integrity", "outbound_pci_stalled_rd",
                *(f"rx_prio{i}_{one}" for i in range(8) for one in ("bytes", "discards", "buf_discard", "cong_discard")),
                *(f"{one}_prio{i}_pause" for i in range(8) for one in ("rx", "tx")),
                "tx_pause_storm_warning_events", "tx_pause_storm_error_events"]  # fmt: skip
        values = {"rx_packets": 9, "rx_bits_phy": 7 * 10**16, "link_down_events_phy": 1, f"tx_prio{priority}_pause": 40,
                  "rx_corrected_bits_phy": 17750739, "rx_err_lane_3_phy": 17722623, "rx_err_lane_0_phy": 28116}  # fmt: skip
    return "NIC statistics:\n" + "".join(f"     {one}: {values.get(one, 0)}\n" for one in [*rings, *port])


def mlnx_qos(fabric: Json, cable_m: int) -> str:
    """``mlnx_qos -i NIC``: DSCPs from high to low, with a comma at the end; classes without members have no line of them."""
    mine = dscps(fabric)
    priorities: dict[int, list[int]] = {}
    for dscp in range(63, -1, -1):
        priorities.setdefault(mine.get(dscp, dscp // 8 if dscp // 8 not in mine.values() else 0), []).append(dscp)
    lines = ["DCBX mode: OS controlled", "Priority trust state: dscp", "dscp2prio mapping:"]
    lines += [
        f"\tprio:{one} dscp:{''.join(f'{dscp:02},' for dscp in members)}" for one, members in sorted(priorities.items())
    ]
    lines += [
        "default priority:",
        "Receive buffer size (bytes): 130944,130944,0,0,0,0,0,0,max_buffer_size=262016",
        f"Cable len: {max(cable_m, 7)}",
    ]
    paused = lossless(fabric)
    pause = "   ".join("1" if i in paused else "0" for i in range(8))
    lines += [
        "PFC configuration:",
        "\tpriority    0   1   2   3   4   5   6   7",
        f"\tenabled     {pause}   ",
        f"\tbuffer      {pause}   ",
    ]
    percent = shares(fabric)
    for number in range(8):
        kind = f"ets, bw: {percent[number]}%" if percent[number] else "strict"
        lines.append(f"tc: {number} ratelimit: unlimited, tsa: {kind}")
        lines += [f"\t priority:  {one}" for one, at in enumerate(classes(fabric)) if at == number]
    return "\n".join(lines) + "\n"


def niccli(fabric: Json) -> str:
    """``niccli --dev PCI qos --ets --show``: an application's three values stand in lines of their own."""
    percent = shares(fabric)
    last = max(2, *(number for number in range(8) if percent[number]))
    pause = " ".join(map(str, lossless(fabric))) or "none"
    applications = [(priority, 5, f"DSCP: {dscp}") for dscp, priority in dscps(fabric).items()]
    applications.append((fabric["roce"]["priority"], 3, "UDP or DCCP: 4791"))
    return (
        "\nIEEE 8021QAZ ETS Configuration TLV:\n"
        f"         PRIO_MAP: {' '.join(f'{i}:{one}' for i, one in enumerate(classes(fabric)))}\n"
        f"         TC Bandwidth: {' '.join(f'{one}%' for one in percent[: last + 1])}\n"
        f"         TSA_MAP: {' '.join(f'{i}:strict' if i == 2 else f'{i}:ets' for i in range(last + 1))}\n"
        f"IEEE 8021QAZ PFC TLV:\n         PFC enabled: {pause}\nIEEE 8021QAZ APP TLV:\n"
        + "".join(
            f"         APP#{number}:\n          Priority: {priority}\n          Sel: {selector}\n          {what}\n\n"
            for number, (priority, selector, what) in enumerate(applications)
        )
        + "TC Rate Limit: 100% 100% 100% 0% 0% 0% 0% 0%\n"
    )


def dscps(fabric: Json) -> dict[int, int]:
    """The priority of each DSCP that is designed."""
    others = fabric.get("other_lossless", {}).values()
    return {
        fabric["cnp"]["dscp"]: fabric["cnp"]["priority"],
        **dict.fromkeys([fabric["roce"]["dscp"], *fabric["roce"].get("other_dscp", [])], fabric["roce"]["priority"]),
        **{dscp: one["priority"] for one in others for dscp in one["dscp"]},
    }


def lossless(fabric: Json) -> dict[int, int]:
    """The share of each lossless priority, percent."""
    one = [fabric["roce"]] if fabric["roce"]["lossless"] else []
    return {each["priority"]: each["bandwidth_percent"] for each in (*one, *fabric.get("other_lossless", {}).values())}


def classes(fabric: Json) -> list[int]:
    """The traffic class of each priority: 1 data, 2 congestion notification, from 3 on other lossless classes, 0 the rest."""
    numbers = dict(zip(lossless(fabric), (1, 3, 4, 5, 6, 7), strict=False)) | {fabric["cnp"]["priority"]: 2}
    return [numbers.get(priority, 0) for priority in range(8)]


def shares(fabric: Json) -> list[int]:
    """The share of each traffic class, percent; 0 for those that are served strictly."""
    percent = [100 - sum(lossless(fabric).values()), *[0] * 7]
    for priority, share in lossless(fabric).items():
        percent[classes(fabric)[priority]] = share
    return percent


def lldp(plan: Json) -> str:
    """``lldpctl -f json0``: every value in a list of its own."""
    rows = [
        {
            "name": nic["netdev"], "via": "LLDP", "rid": "1", "age": "0 day, 01:02:03",
            "chassis": [{"id": [{"type": "mac", "value": "02:00:5e:00:00:01"}], "name": [{"value": nic["leaf"]}],
                         "descr": [{"value": "a switch"}], "mgmt-ip": [{"value": "192.0.2.1"}],
                         "capability": [{"type": "Bridge", "enabled": True}, {"type": "Router", "enabled": True}]}],
            "port": [{"id": [{"type": "ifname", "value": nic["leaf_port"]}], "descr": [{"value": plan["host"]}],
                      "ttl": [{"value": "120"}], "mfs": [{"value": "9216"}],
                      "auto-negotiation": [{"supported": False, "enabled": False, "current": [{"value": "unknown"}]}]}],
        }
        for nic in plan["nics"]
    ]  # fmt: skip
    return json.dumps({"lldp": [{"interface": rows}]})


def ping(gateway: str, data: int) -> str:
    """``ping -c 1`` of iputils, answered."""
    return (
        f"PING {gateway} ({gateway}) from 192.0.2.2 eth1: {data}({data + 28}) bytes of data.\n"
        f"{data + 8} bytes from {gateway}: icmp_seq=1 ttl=64 time=0.214 ms\n\n--- {gateway} ping statistics ---\n"
        "1 packets transmitted, 1 received, 0% packet loss, time 0ms\n"
    )


def rocm(gpus: list[str], **odd: str) -> str:
    """``rocm-smi --showbus --showcomputepartition --showmemorypartition --showperflevel --json``; the first GPU may be odd."""
    rows = {
        f"card{i}": {
            "PCI Bus": at.upper(),
            "Performance Level": "auto",
            "Compute Partition": "SPX",
            "Memory Partition": "NPS1",
        }
        for i, at in enumerate(gpus)
    }
    rows["card0"].update({key.replace("_", " "): value for key, value in odd.items()})
    return json.dumps(rows)


def peer_access(count: int) -> str:
    """``nvidia-smi topo -p2p r``: a matrix by tabs, and its legend."""
    names = [f"GPU{i}" for i in range(count)]
    rows = [f" {one}\t" + "\t".join("X" if one == other else "OK" for other in names) + "\t" for one in names]
    legend = ("X    = Self", "OK   = Status Ok", "CNS  = Chipset not supported", "GNS  = GPU not supported",
              "TNS  = Topology not supported", "NS   = Not supported", "U    = Unknown")  # fmt: skip
    return (
        " \t"
        + "\t".join(names)
        + "\t\n"
        + "\n".join(rows)
        + "\n\nLegend:\n\n"
        + "".join(f"  {one}\n" for one in legend)
    )


CHRONY = "C0000205,time.example.net,2,1795000000.123456789,{},0.000008,0.000031,-12.345,0.001,0.022,0.000412,0.000178,64.2,Normal\n"
"""``chronyc -c tracking``: the fifth field is how many seconds the system's clock is off."""


def amd_clocks(gpus: int, *, slow: int | None = None, locked: int | None = None) -> str:
    """``amd-smi metric --clock --json``: a table for each compute engine, and for memory; one GPU may be slow, one locked."""

    def engine(gpu: int) -> dict[str, object]:
        most = {"value": 1300 if gpu == slow else 2100, "unit": "MHz"}
        low, lock = {"value": 500, "unit": "MHz"}, "ENABLED" if gpu == locked else "DISABLED"
        return {
            "clk": {"value": 132, "unit": "MHz"},
            "min_clk": low,
            "max_clk": most,
            "clk_locked": lock,
            "deep_sleep": "ENABLED",
        }

    rows = [
        {
            "gpu": i,
            "clock": {**{f"gfx_{one}": engine(i) for one in range(8)}, "mem_0": {"clk": "N/A", "clk_locked": "N/A"}},
        }
        for i in range(gpus)
    ]
    return json.dumps(rows)


def amd_partitions(gpus: int, **odd: str) -> str:
    """``amd-smi static --partition --json``; the first GPU may be in an odd mode."""
    mode = {"compute_partition": "SPX", "memory_partition": "NPS1"}
    return json.dumps(
        [{"gpu": i, "partition": {**mode, **(odd if i == 0 else {}), "partition_id": 0}} for i in range(gpus)]
    )


def dmidecode_mapped(positions: list[int]) -> str:
    """``dmidecode -t 20`` of memory modules: the position of each in an interleave. dmidecode leaves the line out for 0."""
    blocks = ["# dmidecode 3.4\nGetting SMBIOS data from sysfs.\nSMBIOS 3.5.0 present.\n"]
    for module, position in enumerate(positions):
        line = f"\tInterleave Position: {position}\n\tInterleaved Data Depth: 1\n" if position else ""
        blocks.append(
            f"Handle 0x{0x1200 + module:04X}, DMI type 20, 35 bytes\nMemory Device Mapped Address\n"
            f"\tStarting Address: 0x0000000000000000k\n\tEnding Address: 0x000000007FFFFFFFk\n\tRange Size: 2 TB\n"
            f"\tPhysical Device Handle: 0x{0x1100 + module:04X}\n\tMemory Array Mapped Address Handle: 0x1300\n"
            f"\tPartition Row Position: 1\n{line}"
        )
    return "\n".join(blocks)


def fabric(gpus: int) -> str:
    """``nvidia-smi -q`` of a tray: of each GPU the fabric with its clique, and what stands around it (kubernetes-sigs/dra-driver-nvidia-gpu, issue 626)."""
    return "".join(
        f"""GPU 0000000{index + 8}:01:00.0
    Product Name                          : NVIDIA GB300
    MIG Mode
        Current                           : Disabled
    Fabric
        State                             : Completed
        Status                            : Success
        CliqueId                          : 32766
        ClusterUUID                       : 6a130f54-faaa-4b8f-847f-be44ab70f917
        Health
            Summary                       : Healthy
            Bandwidth                     : Full
    Processes                             : None
"""
        for index in range(gpus)
    )
