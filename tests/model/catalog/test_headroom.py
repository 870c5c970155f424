"""PFC headroom of a port against the arithmetic by hand, and against the tables of SONiC's platforms (sonic-buildimage, ``pg_profile_lookup.ini``)."""

from __future__ import annotations

from pathlib import Path

import pytest

from railweave.api import load
from railweave.model.catalog import catalog
from railweave.model.catalog.headroom import PortHeadroom, port_headroom
from railweave.model.device.build import device_config

CELL, WIRE = 254, 84
"""A packet of 64 bytes takes a cell of Broadcom's chips, and 84 bytes of wire."""


def port(model: str, length_m: float, speed_gbps: int, mtu: int = 9216) -> PortHeadroom:
    return port_headroom(catalog(), catalog().switches[model], length_m, speed_gbps, mtu)


@pytest.mark.parametrize(
    ("speed_gbps", "quanta"), [(10, 67), (25, 80), (40, 118), (50, 147), (100, 394), (200, 453), (400, 905)]
)
def test_a_peer_answers_within_the_quanta_of_the_standard(speed_gbps: int, quanta: int) -> None:
    assert catalog().physics.response_bytes(speed_gbps) == quanta * 64


def test_speeds_that_the_standard_is_not_read_for_are_never_short() -> None:
    physics = catalog().physics
    assert physics.response_bytes(800) == physics.response_bytes(1600) / 2 == 2 * 905 * 64, "as long as at 400 Gb/s"
    assert physics.response_bytes(150) == 453 * 64, "that of the next higher speed"


def test_the_terms_by_hand() -> None:
    """400 Gb/s over 50 m on a Tomahawk 4: 505.4 ns of cable, 1158.4 ns of peer, 1000 ns of pipeline."""
    found = port("z9664f-on", 50, 400)
    assert found.flight_bytes == pytest.approx(25_270, abs=1)
    assert (found.response_bytes, found.pipeline_bytes) == (57_920, 50_000)
    filled = (25_270 + 57_920 + 50_000) * 37 * CELL / (9216 + 20)
    assert found.need_bytes == pytest.approx(filled + 2 * 37 * CELL, abs=2)


@pytest.mark.parametrize(("length_m", "bytes_"), [(5, 371_348), (40, 424_434), (300, 817_372)])
def test_a_tomahawk_4_comes_to_its_own_table_at_400_gbps(length_m: int, bytes_: int) -> None:
    found = port("z9664f-on", length_m, 400)
    assert found.table_bytes == bytes_
    assert found.smallest_bytes == pytest.approx(bytes_, rel=0.006)


@pytest.mark.parametrize("cell_bytes", [64, 80, 100, 208])
def test_chips_with_small_cells_have_room_for_full_packets(cell_bytes: int) -> None:
    usual = catalog().switches["qfx5240-64od"]
    buffer = usual.buffer.model_copy(update={"cell_bytes": cell_bytes, "headroom": None})
    found = port_headroom(catalog(), usual.model_copy(update={"buffer": buffer}), 30, 400, 9216)
    assert found.limit_bytes >= found.need_bytes
    assert found.limit_bytes % cell_bytes == 0


def test_a_direct_attach_cable_is_copper_whatever_its_maker_calls_it() -> None:
    cable = next(one for one in catalog().optics.values() if one.kind == "dac")
    assert cable.model_copy(update={"media": "twinax"}).copper


@pytest.mark.parametrize("model", ["z9864f-on", "z9664f-on", "qfx5240-64od", "arista-7060x6-64pe", "sn5600"])
def test_a_port_never_has_less_than_the_table_or_than_full_packets(model: str) -> None:
    table = catalog().switches[model].buffer.headroom
    assert table is not None
    for speed_gbps, row in table.rows.items():
        for length_m, bytes_ in row.items():
            found = port(model, length_m, speed_gbps)
            assert found.limit_bytes >= max(bytes_, found.need_bytes)
            assert found.limit_bytes % found.cell_bytes == 0


@pytest.mark.parametrize("speed_gbps", [100, 200, 400, 800])
def test_tables_grow_with_the_cable_by_a_cell_for_84_bytes_of_wire(speed_gbps: int) -> None:
    """What says that Broadcom's tables are for packets of 64 bytes."""
    table = catalog().switches["z9864f-on"].buffer.headroom
    assert table is not None
    cells = (table.rows[speed_gbps][40] - table.rows[speed_gbps][5]) / CELL
    assert cells * WIRE == pytest.approx(2 * 35 / 2e8 * speed_gbps * 1e9 / 8, rel=0.01)


def test_more_of_each_needs_more() -> None:
    least = port("z9864f-on", 10, 400, 1500)
    for more in (port("z9864f-on", 20, 400, 1500), port("z9864f-on", 10, 800, 1500), port("z9864f-on", 10, 400, 9216)):
        assert more.need_bytes > least.need_bytes
        assert more.smallest_bytes > least.smallest_bytes
    slower = port("z9864f-on", 10, 100, 1500)
    assert slower.need_bytes < least.need_bytes
    assert slower.limit_bytes < least.limit_bytes


def test_between_the_lengths_of_a_table_it_is_a_line() -> None:
    table = catalog().switches["z9864f-on"].buffer.headroom
    assert table is not None
    assert [table.at(400, one) for one in (1, 5, 22.5, 40, 300)] == [393_192, 393_192, 419_608, 446_024, 839_216]
    assert table.at(400, 560) == 839_216 + (839_216 - 446_024), "and on beyond the last"
    assert table.at(1600, 5) is None


TWO_SPEEDS = """\
name: speeds
fabrics:
  backend:
    topology: {stripes: 1, leaves_per_stripe: 1}
    leaf:
      device: z9864f-on
      nos: sonic
      server_ports: {first: 0, last: 31}
    edge_ports:
      array: {leaf: stripe1-leaf1, port: Ethernet504, speed: 100G, length: 10m, prefixes: [10.90.1.0/31]}
    load_balancing: {mode: ecmp}
servers: [{names: "node[1-2]", model: h100-8gpu-cx7}]
"""


def test_ports_of_one_length_have_the_headroom_of_their_own_speed(tmp_path: Path) -> None:
    fabric = tmp_path / "fabric.yaml"
    fabric.write_text(TWO_SPEEDS)
    network = load(fabric)
    qos = device_config(network, "stripe1-leaf1").qos
    assert qos is not None
    found = {one.name: one.headroom_bytes for one in qos.profiles}
    assert found == {f"pfc-10m-{speed}g": port("z9864f-on", 10, speed).limit_bytes for speed in (100, 400)}


def test_small_packets_on_all_ports_are_named_where_they_do_not_fit() -> None:
    network = load(Path("examples/scale-8k.yaml"))
    [leaf, spine] = [one for one in network.findings if one.id.startswith("headroom")]
    assert {(one.id, one.severity) for one in (leaf, spine)} == {("headroom-shared", "info")}
    ports = 128 * port("qfx5240-64od", 50, 400).limit_bytes
    assert f"{ports / 1e6:.1f} MB if all packets have 64 bytes" in spine.what
