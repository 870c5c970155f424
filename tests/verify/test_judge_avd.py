"""AVD accepts what is rendered for EOS, and sees what is wrong in it."""

from __future__ import annotations

import json

import pytest
from tests.render.eos.networks import RETARGETED, config, network, one_of_each_role

from railweave.render import eos
from railweave.verify.checks import run_checks
from railweave.verify.judges import avd
from railweave.verify.registry import Subject

pytest.importorskip("pyavd")
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")
LEAF = ("h100-rlb", "stripe1-leaf1")


@pytest.mark.parametrize("name", RETARGETED)
def test_every_example_is_accepted(name: str) -> None:
    """Checks and lint of every switch; the judge on one of each role."""
    findings = run_checks(Subject.of(network(name)))
    assert [one for one in findings if one.severity == "error"] == []
    files = {device: eos.files(config(name, device)) for device in one_of_each_role(name)}
    report = avd.judge(files)
    assert (report.ran, report.judged) == (True, len(files))
    assert report.findings == []


def judged(old: str, new: str) -> list[str]:
    """What the judge finds where a text of ``eos.conf`` is replaced."""
    files = eos.files(config(*LEAF))
    assert old in files["eos.conf"]
    changed = files["eos.conf"].replace(old, new, 1)
    return [one.what for one in avd.judge({"leaf": {**files, "eos.conf": changed}}).findings]


def test_a_line_that_is_not_in_the_data_is_found() -> None:
    assert judged("max-mark-probability 20", "max-mark-probability 2") == [
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
    found = judged("   neighbor spine-green bfd\n", "neighbor spine-green bfd\n")
    assert any(one.startswith("only in eos.conf: neighbor spine-green bfd / ") for one in found)
    assert found[-1].startswith("missing in eos.conf: ")


def test_a_value_out_of_range_and_an_unknown_key_are_refused() -> None:
    files = eos.files(config(*LEAF))
    data = json.loads(files["avd.json"])
    data["ip_hardware"]["fib"]["load_balance_distribution"]["dynamic"]["flow_set_size"] = 8
    data["qos_profiles"][0]["trsut"] = "dscp"
    found = avd.judge({"leaf": {**files, "avd.json": json.dumps(data)}}).findings
    assert {one.id for one in found} == {"eos-avd-schema"}
    assert any("flow_set_size" in one.what for one in found)
    assert any("trsut" in one.what for one in found)


def test_data_that_cannot_be_read() -> None:
    (found,) = avd.judge({"leaf": {"eos.conf": "", "avd.json": "{"}}).findings
    assert found.id == "eos-avd-schema"
