"""The light of modules: the forms of three standards, planned wavelengths, and limits that are the module's own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from railweave.host.checks.light import light
from railweave.host.checks.outcome import FAILED, NOT_APPLICABLE, NOT_SEEN, OK, WARNING, Outcome
from railweave.model.catalog import packaged
from railweave.model.device.host import host_config
from railweave.outputs.rendering.host.host_json import document
from tests.conftest import example
from tests.host.machines import Written, forms, healthy
from tests.host.machines.plans import plan
from tests.host.test_checks import look

SFP = """\
	Identifier                                : 0x03 (SFP)
	Laser wavelength                          : 850nm
	Laser output power                        : 0.5734 mW / -2.42 dBm
	Receiver signal average optical power     : 0.0004 mW / -33.98 dBm
	Alarm/warning flags implemented           : Yes
	Laser output power high alarm             : Off
	Laser rx power low alarm                  : On
	Laser output power high alarm threshold   : 1.9953 mW / 3.00 dBm
	Laser output power low alarm threshold    : 0.1175 mW / -9.30 dBm
	Laser rx power high alarm threshold       : 1.9953 mW / 3.00 dBm
	Laser rx power low alarm threshold        : 0.0158 mW / -18.01 dBm
"""
QSFP = """\
	Identifier                                : 0x11 (QSFP28)
	Transmitter technology                    : 0x00 (850 nm VCSEL)
	Laser wavelength                          : 0.000nm
	Transmit avg optical power (Channel 1)    : 1.0210 mW / 0.09 dBm
	Rcvr signal avg optical power(Channel 1)  : 0.0000 mW / -inf dBm
	Transmit avg optical power (Channel 2)    : 0.0000 mW / -inf dBm
	Rcvr signal avg optical power(Channel 2)  : 0.0000 mW / -inf dBm
	Laser rx power high alarm   (Channel 1)   : Off
	Laser tx power high alarm   (Channel 1)   : Off
	Laser rx power low alarm threshold        : 0.0575 mW / -12.40 dBm
"""
COPPER = "\tIdentifier : 0x18 (QSFP-DD)\n\tTransmitter technology : 0x0a (Copper cable, unequalized)\n"


def test_the_forms_of_the_standards_are_read() -> None:
    sfp, qsfp = light(SFP), light(QSFP)
    assert (sfp.nm, sfp.lanes, sfp.outside("alarm")) == (850, [0], ["receives -33.98 dBm, below -18.01 dBm"])
    assert str(sfp) == "850 nm, sends -2.42 dBm, receives -33.98 dBm"
    # Lane 2 is not in use: it is dark both ways.
    assert (qsfp.nm, qsfp.lanes, qsfp.outside("alarm")) == (850, [1], ["lane 1 receives no light, below -12.4 dBm"])
    assert light(COPPER).copper
    assert light("").lanes == []


def _light(file: Path, wanted: dict[str, Any], text: str) -> Outcome:
    parts = healthy(wanted)
    nic = wanted["nics"][0]
    parts.say(text, "ethtool", "-m", nic["netdev"])
    found = [one.outcome for one in look(file, Written(parts)) if one.check.id == "link-light"]
    assert {one.verdict for one in found[1:]} == {OK}
    return found[0]


@pytest.mark.parametrize(
    ("text", "verdict", "seen"),
    [
        (forms.module(nm=1310), OK, "1310 nm, sends 0.84 dBm, receives 0.84 dBm"),
        (forms.module(nm=850), FAILED, "850 nm"),
        (forms.module().replace("Laser wavelength", "Other").replace("1310 nm DFB", "other"), NOT_SEEN, "sends 0.84 dBm, receives 0.84 dBm; the module does not report its wavelength"),
        (forms.module().replace("1.2125 mW / 0.84", "0.2399 mW / -6.20"), FAILED, "lane 1 sends -6.2 dBm, below -4.7 dBm; lane 2 sends"),
        (forms.module().replace("1.2125 mW / 0.84", "0.4677 mW / -3.30"), WARNING, "lane 1 sends -3.3 dBm, below -2.9 dBm; lane 2"),
        ("\n".join(line for line in forms.module().splitlines() if "Laser" not in line or "wavelength" in line), NOT_SEEN, "1310 nm, sends 0.84 dBm, receives 0.84 dBm; the module shows no limits for it"),
        ("\n".join(line for line in forms.module().splitlines() if "threshold" not in line), OK, "1310 nm, sends"),
        ("\tIdentifier : 0x19 (OSFP)\n", NOT_SEEN, "the module shows no light of any lane"),
        (COPPER, NOT_APPLICABLE, "a copper cable"),
    ],
)  # fmt: skip
def test_wavelength_and_power_are_compared(text: str, verdict: str, seen: str, tmp_path: Path) -> None:
    """Without limits and without flags nothing is good: it is not seen."""
    file, wanted = plan("h100-rlb", tmp_path)
    for nic in wanted["nics"]:
        nic["optic"], nic["wavelength_nm"] = "osfp-400g-dr4", [1304.5, 1317.5]
    file.write_text(json.dumps(wanted))
    outcome = _light(file, wanted, text)
    assert (outcome.verdict, outcome.seen[: len(seen)]) == (verdict, seen)


def test_the_plan_names_the_optic_and_its_wavelengths() -> None:
    """Every optic of the catalog has wavelengths with a source; copper has none."""
    for name, optic in packaged().optics.items():
        assert (optic.kind == "optic") == (optic.wavelength_nm is not None), name
        assert bool(optic.wavelength_nm) == bool(optic.wavelength_source), name
        assert optic.wavelength_nm is None or 800 < optic.wavelength_nm[0] < optic.wavelength_nm[1] < 1600
    [nic, *_] = document(host_config(example("h100-rlb"), "H100-01"))["nics"]
    optic = packaged().optics[nic.get("optic", "")]
    assert nic.get("wavelength_nm") == list(optic.wavelength_nm or ())
