"""AVD accepts what is rendered for EOS, and sees what is wrong in it."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from tests.conftest import SMALL
from tests.outputs.rendering.eos.networks import config, network, one_of_each_role

from railweave.analysis.checks.checks import run_checks
from railweave.analysis.checks.subject import Subject
from railweave.model.config.addresses import Address, InterfaceAddress, Prefix
from railweave.model.device.overlay import in_form, standard
from railweave.systems.eos import render as eos
from railweave.systems.eos import validator as avd
from railweave.systems.eos.lint import lint

pytest.importorskip("pyavd")
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")
LEAF = ("h100-rlb", "stripe1-leaf1")


@pytest.mark.parametrize("name", SMALL)
def test_every_example_is_accepted(name: str) -> None:
    """Checks and lint of every switch; the validator on one of each role."""
    findings = run_checks(Subject.of(network(name)))
    assert [one for one in findings if one.severity == "error"] == []
    files = {device: eos.files(config(name, device)) for device in one_of_each_role(name)}
    report = avd.validate(files)
    assert (report.ran, report.validated) == (True, len(files))
    assert report.findings == []


def test_external_routers_and_keys_are_accepted() -> None:
    """IPv6 too, communities of two numbers, and IS-IS with a key: no example has them."""
    weka = config("aidc-three-fabrics", "frontend-weka-leaf1")
    east, leaf = config("dci-50km", "ptx-east"), config(*LEAF)
    tenant = config("evpn-gpu-isolation", "stripe1-leaf1")
    assert east.isis
    assert leaf.bgp
    assert tenant.overlay
    six = replace(
        weka,
        vrfs=tuple(
            replace(
                vrf,
                external=tuple(
                    replace(
                        one,
                        session=replace(one.session, local_address=Address("fd00::"), peer_address=Address("fd00::1")),
                        accept=(Prefix("::/0"),),
                        advertise=(Prefix("fd00:1::/64"),),
                    )
                    for one in vrf.external
                ),
            )
            for vrf in weka.vrfs
        ),
        interfaces=tuple(
            replace(one, addresses=(InterfaceAddress("fd00::/127"),)) if one.kind == "external" else one
            for one in weka.interfaces
        ),
        gateways=tuple(
            replace(one, addresses=(InterfaceAddress("fd00:1::1/64"),), prefixes=(Prefix("fd00:1::/64"),))
            for one in weka.gateways
        ),
    )
    own = {
        "weka": weka,
        "six": six,
        "keyed": replace(east, isis=replace(east.isis, key="secret:isis", families=("ipv4", "ipv6"))),
        "standard": replace(leaf, bgp=replace(leaf.bgp, communities=in_form(leaf.bgp.communities, large=False))),
        "overlay": replace(tenant, overlay=replace(tenant.overlay, from_spine=standard(tenant.overlay.from_spine))),
    }
    for name, changed in own.items():
        assert lint(name, eos.tree(changed)) == []
    report = avd.validate({name: eos.files(changed) for name, changed in own.items()})
    assert (report.validated, report.findings) == (5, [])
    assert "set community 64512:1001 additive" in eos.files(own["standard"])["eos.conf"]
    assert "neighbor fd00::1 activate" in eos.files(six)["eos.conf"]


def validated(old: str, new: str) -> list[str]:
    """What the validator finds where a text of ``eos.conf`` is replaced."""
    files = eos.files(config(*LEAF))
    assert old in files["eos.conf"]
    changed = files["eos.conf"].replace(old, new, 1)
    return [one.what for one in avd.validate({"leaf": {**files, "eos.conf": changed}}).findings]


def test_a_line_that_is_not_in_the_data_is_found() -> None:
    assert validated("max-mark-probability 20", "max-mark-probability 2") == [
        (
            "only in eos.conf: qos profile ROCE / uc-tx-queue 3 / random-detect ecn minimum-threshold 1000 kbytes "
            "maximum-threshold 3000 kbytes max-mark-probability 2 weight 0"
        ),
        (
            "missing in eos.conf: qos profile ROCE / uc-tx-queue 3 / random-detect ecn minimum-threshold 1000 kbytes "
            "maximum-threshold 3000 kbytes max-mark-probability 20 weight 0"
        ),
    ]


def test_a_line_that_stands_elsewhere_is_found() -> None:
    found = validated("   neighbor spine-green bfd\n", "neighbor spine-green bfd\n")
    assert any(one.startswith("only in eos.conf: neighbor spine-green bfd / ") for one in found)
    assert found[-1].startswith("missing in eos.conf: ")


def test_a_value_out_of_range_and_an_unknown_key_are_refused() -> None:
    files = eos.files(config(*LEAF))
    data = json.loads(files["avd.json"])
    data["ip_hardware"]["fib"]["load_balance_distribution"]["dynamic"]["flow_set_size"] = 8
    data["qos_profiles"][0]["trsut"] = "dscp"
    found = avd.validate({"leaf": {**files, "avd.json": json.dumps(data)}}).findings
    assert {one.id for one in found} == {"eos-avd-schema"}
    assert any("flow_set_size" in one.what for one in found)
    assert any("trsut" in one.what for one in found)


def test_data_that_cannot_be_read() -> None:
    (found,) = avd.validate({"leaf": {"eos.conf": "", "avd.json": "{"}}).findings
    assert found.id == "eos-avd-schema"
