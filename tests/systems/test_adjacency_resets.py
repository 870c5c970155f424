"""What a changed statement about IS-IS does to adjacencies: they go, they stay, or no source says so."""

from __future__ import annotations

from pathlib import Path

import pytest

from railweave.model.config.compare import compare
from railweave.operations.deploy.making import Answers, make_plan
from railweave.operations.deploy.plan import Plan
from railweave.operations.deploy.waves import PlanLimits
from railweave.systems import system
from tests.operations.deploy.test_mixed import designed, texts

ONE, ALL = {"IS-IS adjacency"}, {"every IS-IS adjacency"}
DATABASE = {"routes of IS-IS"}
FRR = """\
interface e1
 ipv6 router isis u
 isis circuit-type level-2-only
 isis network point-to-point
 isis metric 10
exit
!
router isis u
 net 49.0001.0102.5500.0001.00
 is-type level-2-only
 metric-style wide
exit
!
"""
EOS = """\
interface Ethernet1/1
   isis enable u
   isis circuit-type level-2
   isis metric 10
   isis network point-to-point
router isis u
   net 49.0001.0102.5500.0001.00
   is-type level-2
"""
JUNOS = """\
interfaces { lo0 { unit 0 { family iso { address 49.0001.0102.5500.0001.00; } } } }
protocols { isis {
  interface et-0/0/0.0 { level 1 { disable; } level 2 { metric 10; } point-to-point; }
  level 1 { disable; } level 2 { wide-metrics-only; } } }
"""
TEXTS = {"frr": ("frr.conf", FRR), "eos": ("eos.conf", EOS), "junos": ("junos.conf", JUNOS)}


@pytest.mark.parametrize(
    ("nos", "old", "new", "disrupted"),
    [
        ("frr", "metric 10", "metric 20", set()),
        ("frr", " metric-style wide\n", "", set()),
        ("frr", " isis metric 10\n", " isis metric 10\n isis hello-interval 1\n isis hello-multiplier 5\n", set()),
        ("frr", " isis metric 10\n", " isis metric 10\n isis bfd\n", set()),
        ("frr", " isis circuit-type level-2-only\n", "", set()),
        ("frr", " isis circuit-type level-2-only\n", " isis circuit-type level-1\n", ONE),
        ("frr", " isis network point-to-point\n", "", ONE),
        ("frr", " isis metric 10\n", " isis metric 10\n isis passive\n", ONE),
        ("frr", " isis metric 10\n", " isis metric 10\n isis password md5 abc\n", ONE),
        ("frr", " isis metric 10\n", " isis metric 10\n isis frobs 1\n", {"unknown"}),
        ("frr", " ipv6 router isis u\n", "", ONE),
        ("frr", "49.0001", "49.0002", ALL),
        ("frr", " metric-style wide\n", " metric-style wide\n domain-password md5 a\n", DATABASE),
        ("frr", " metric-style wide\n", " metric-style wide\n frobs 9\n", {"unknown"}),
        ("frr", "exit\n!\nrouter", "exit\n!\ninterface e2\n ipv6 router isis u\n isis passive\nexit\n!\nrouter", set()),
        ("eos", "metric 10", "metric 20", set()),
        ("eos", "   isis metric 10\n", "   isis metric 10\n   isis hello-interval 1\n", set()),
        ("eos", "   isis network point-to-point\n", "", ONE),
        ("eos", "   isis metric 10\n", "   isis metric 10\n   isis authentication mode md5\n", ONE),
        ("eos", "   isis metric 10\n", "   isis metric 10\n   isis frobs 1\n", {"unknown"}),
        ("eos", "   isis enable u\n", "", ONE),
        ("eos", "49.0001", "49.0002", ALL),
        ("eos", "   is-type level-2\n", "   is-type level-2\n   authentication mode md5\n", DATABASE),
        ("eos", "router isis", "interface Ethernet2/1\n   isis enable u\n   isis passive\nrouter isis", set()),
        ("junos", "metric 10", "metric 20", set()),
        ("junos", "metric 10;", "metric 10; hello-interval 1;", set()),
        ("junos", "point-to-point;", "", ONE),
        ("junos", "metric 10;", 'metric 10; hello-authentication-key "a";', ONE),
        ("junos", "metric 10;", "metric 10; frobs 1;", {"unknown"}),
        ("junos", "metric 10;", "metric 10; passive;", ONE),
        ("junos", "wide-metrics-only;", 'wide-metrics-only; authentication-key "a";', DATABASE),
        ("junos", "address 49.0001", "address 49.0002", ALL),
        ("junos", "protocols { isis {", "protocols { isis { interface et-0/0/1.0 { passive; }", set()),
    ],
)
def test_each_statement_about_isis_is_described_or_unknown(nos: str, old: str, new: str, disrupted: set[str]) -> None:
    file, text = TEXTS[nos]
    reader = system(nos).reader
    assert reader is not None
    assert old in text
    change = compare(reader.parsed(file, text), reader.parsed(file, text.replace(old, new)))
    assert change.steps
    assert {row.what for _, row in change.disrupts} == disrupted
    assert all(row.source for _, row in change.disrupts)


@pytest.mark.parametrize(("nos", "cut"), [("frr", "interface e1"), ("eos", "interface"), ("junos", "interfaces")])
def test_the_end_of_the_process_ends_every_adjacency_and_its_beginning_none(nos: str, cut: str) -> None:
    file, text = TEXTS[nos]
    reader = system(nos).reader
    assert reader is not None
    assert text.startswith(cut)
    iso = text.partition("protocols")[0]
    other = {"frr": "interface e1\nexit\n!\n", "eos": "interface Ethernet1/1\n", "junos": iso}[nos]
    with_isis, without = reader.parsed(file, text), reader.parsed(file, other)
    assert {row.what for _, row in compare(with_isis, without).disrupts} >= ALL
    assert not {row.what for _, row in compare(without, with_isis).disrupts}


ISIS = """\
name: small
fabrics:
  backend:
    topology: {stripes: 1, spines: 2, link_speed: 400G}
    leaf: {device: MODEL, nos: NOS}
    spine: {device: MODEL, nos: NOS}
    underlay: {protocol: isis, peering: numbered, isis: {}}
    load_balancing: {mode: ecmp}
    pools: {fabric_links: 10.254.0.0/18}
    addressing: {server_pool: "fc00::/16"}
servers:
  - {names: "gpu-[1-2]", model: dgx-h100-2gpu, stripe: stripe1}
"""
MODELS = {"junos": "qfx5240-64od", "frr": "qfx5240-64od", "eos": "arista-7060x6-64pe", "sonic": "z9864f-on"}


def planned(folder: Path, nos: str, old: str, new: str) -> Plan:
    text = ISIS.replace("MODEL", MODELS[nos]).replace("NOS", nos)
    assert old in text
    path = folder / "new.yaml"
    before = designed(folder / "old.yaml", text)
    after = designed(path, text.replace(old, new))
    return make_plan(path, after, Answers(texts(before)), limits=PlanLimits(1))


def interrupted(plan: Plan) -> set[str]:
    return {line.partition(" (")[0] for wave in plan.waves for line in wave.effect.interrupted}


@pytest.mark.parametrize("nos", MODELS)
def test_a_plan_names_the_adjacencies_that_a_change_of_design_ends(tmp_path: Path, nos: str) -> None:
    metric = planned(tmp_path, nos, "isis: {}", "isis: {metric: 20}")
    assert len(metric.changed) == 4
    assert not interrupted(metric)
    assert "every IS-IS adjacency" in interrupted(planned(tmp_path, nos, "isis: {}", 'isis: {area: "49.0002"}'))
    keyed = planned(tmp_path, nos, "isis: {}", "isis: {key: 'secret:isis'}")
    assert {"IS-IS adjacency", "routes of IS-IS"} <= interrupted(keyed)
    for plan in (metric, keyed):
        assert not any("IS-IS" in text for wave in plan.waves for _, text in wave.effect.unknown)


@pytest.mark.parametrize("nos", MODELS)
def test_ends_of_a_link_with_other_mtus_risk_their_adjacency(tmp_path: Path, nos: str) -> None:
    """IS-IS fills hellos up to the MTU: those of the end with the larger MTU do not fit (ISO/IEC 10589, 8.2.3)."""
    plan = planned(tmp_path, nos, "    load_balancing", "    mtu: {fabric: 9100}\n    load_balancing")
    assert any(text.startswith("mtu-mismatch ") for wave in plan.waves for text, _ in wave.effect.risks)
