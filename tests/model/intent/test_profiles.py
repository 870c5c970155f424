"""Named sets of values: what the reports' tables list, and how a file's own fields win over them."""

from __future__ import annotations

import re

import pytest

from railweave.model.intent.balancing import LoadBalancing
from railweave.model.intent.profiles import LOAD_BALANCING, QOS
from railweave.model.intent.qos import Qos

# Tuned sets of the EVPN test report by table, read from its text: inactivity (µs), rate weightage, bands, reassignment.
# All have flowset table 2048 and 1,000,000 samples/s; what a row leaves out is the report's default.
EVPN_TABLES: dict[str, set[tuple[int, int, tuple[int, int], bool]]] = {
    "1.1": {
        (256, 80, (10, 90), False),
        (128, 80, (10, 90), False),
        (128, 50, (20, 50), False),
        (256, 50, (20, 50), False),
    },
    "1.2": {(128, 50, (20, 50), False), (128, 50, (10, 90), False)},
    "1.3": {
        (128, 50, (20, 50), False),
        (128, 50, (20, 50), True),
        (128, 80, (10, 90), False),
        (256, 50, (10, 90), True),
        (128, 50, (10, 90), False),
    },
    "1.4": {(128, 80, (10, 90), False), (256, 80, (10, 90), False)},
    "1.5": {(128, 80, (10, 90), False), (256, 80, (10, 90), False)},
    "2.1": {
        (128, 80, (10, 90), False),
        (256, 80, (10, 90), False),
        (256, 50, (10, 90), True),
        (256, 50, (10, 90), False),
    },
    "2.2": {(128, 50, (10, 90), False), (256, 50, (10, 90), False), (128, 80, (10, 90), False)},
    "3.1": {(128, 50, (20, 50), False)},
}
WITHOUT_DLB = {"1.1", "1.3", "2.2", "3.1"}


def tables(name: str) -> set[str]:
    return set(re.findall(r"\d\.\d", LOAD_BALANCING[name].source))


@pytest.mark.parametrize("table", EVPN_TABLES)
def test_every_tuned_set_of_a_table_has_its_profile(table: str) -> None:
    found: set[tuple[int, int, tuple[int, int], bool]] = set()
    for name in LOAD_BALANCING:
        intent = LoadBalancing(profile=name)
        if name.startswith("evpn-flowlet") and table in tables(name):
            dlb, bands, moved = intent.dlb, intent.dlb.egress_quantization, intent.dlb.reassignment
            assert intent.mode == "dlb-flowlet"
            assert (dlb.flowset_table_size, dlb.sampling_rate) == (2048, 1_000_000)
            assert moved is None or (moved.prob_threshold, moved.quality_delta) == (3, 6)
            found.add((dlb.inactivity_interval, bands.rate_weightage, (bands.min, bands.max), moved is not None))
    assert found == EVPN_TABLES[table]


def test_tables_without_dlb() -> None:
    assert tables("evpn-ecmp") == WITHOUT_DLB
    assert LoadBalancing(profile="evpn-ecmp").mode == "ecmp"


@pytest.mark.parametrize("name", ["evpn-default", "apstra-default"])
def test_the_defaults_of_both_reports(name: str) -> None:
    dlb = LoadBalancing(profile=name).dlb
    bands = dlb.egress_quantization
    assert (dlb.flowset_table_size, dlb.inactivity_interval, dlb.sampling_rate) == (256, 256, 62_500)
    assert (bands.min, bands.max, bands.rate_weightage, dlb.reassignment) == (20, 50, 50, None)
    qos = Qos(profile=name)
    buffers, ecn = qos.buffers, qos.classes["no-loss"].ecn
    assert (buffers.lossless, buffers.headroom, buffers.lossy) == (80, 10, 10)
    assert buffers.ingress_dynamic_threshold == 7
    assert ecn is not None
    assert ecn.min_fill == 55


def test_the_apstra_report_tunes_the_flowset_table_alone() -> None:
    default, tuned = (LoadBalancing(profile=f"apstra-{name}").dlb for name in ("default", "tuned"))
    assert tuned == default.model_copy(update={"flowset_table_size": 2048})
    ecn = Qos(profile="apstra-ptx-default").classes["no-loss"].ecn
    assert ecn is not None
    assert ecn.min_fill == 49  # "Buffer management values for PTX"


def test_the_thor2_guide() -> None:
    """Section 2.5.3: flowlets of 256 µs, 2048 flowsets, reassignment 3/6; 80/10/10 in, 80/10 out, ECN 55 to 90."""
    dlb = LoadBalancing(profile="thor2-qfx5240").dlb
    assert (dlb.inactivity_interval, dlb.flowset_table_size, dlb.sampling_rate) == (256, 2048, 1_000_000)
    assert dlb.reassignment is not None
    assert (dlb.reassignment.prob_threshold, dlb.reassignment.quality_delta) == (3, 6)
    qos = Qos(profile="thor2-qfx5240")
    own, ecn = qos.buffers, qos.classes["no-loss"].ecn
    assert (own.lossless, own.headroom, own.lossy) == (80, 10, 10)
    assert (own.egress_lossless, own.egress_lossy, own.egress_multicast) == (80, 10, 0)
    assert ecn is not None
    assert (ecn.min_fill, ecn.max_fill, ecn.max_probability) == (55, 90, 100)


def test_fields_beside_a_profile_win() -> None:
    intent = LoadBalancing.model_validate(
        {"profile": "evpn-flowlet-128us-10-90-rate80", "dlb": {"egress_quantization": {"max": 70}}}
    )
    bands = intent.dlb.egress_quantization
    assert (bands.min, bands.max, bands.rate_weightage) == (10, 70, 80)
    assert intent.dlb.inactivity_interval == 128
    qos = Qos.model_validate(
        {"profile": "evpn-default", "classes": {"no-loss": {"ecn": {"min_fill": 30}}, "cnp": None}}
    )
    ecn = qos.classes["no-loss"].ecn
    assert ecn is not None
    assert (ecn.min_fill, ecn.max_fill) == (30, 90)
    assert "cnp" not in qos.classes


@pytest.mark.parametrize("name", LOAD_BALANCING)
def test_a_profile_survives_the_file_form(name: str) -> None:
    intent = LoadBalancing(profile=name, fast_reroute=False)
    assert LoadBalancing.model_validate_json(intent.model_dump_json()) == intent


@pytest.mark.parametrize("name", QOS)
def test_a_qos_profile_survives_the_file_form(name: str) -> None:
    assert Qos.model_validate_json(Qos(profile=name).model_dump_json()) == Qos(profile=name)
