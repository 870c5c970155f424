"""Have every outside validator read the files that are for it: those of the operating systems, and netplan's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.analysis.checks import netplan
from railweave.model.findings.sample import MOST_VALIDATED
from railweave.systems import system, systems

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from railweave.model.findings.validators import Files, Validator, ValidatorReport


def validators() -> list[Validator]:
    """Every validator there is: by operating system, then the servers'."""
    return [*(one for nos in systems() for one in system(nos).validators), netplan.VALIDATOR]


def validate_all(
    files: Files,
    places: Mapping[str, Path | None] | None = None,
    *,
    releases: Mapping[str, str] | None = None,
    every: bool = False,
) -> list[ValidatorReport]:
    """Have the files of every device and server (its name to file name to text) read by every validator.

    ``places`` say where tools or their data are, by the option of each validator (``frr_root``, ``yang``). Slow validators
    read a sample where there are many files, unless they are to read ``every`` one. ``releases`` are those of devices.
    """
    most = None if every else MOST_VALIDATED
    return [
        one.run(files, (places or {}).get(one.option), most, releases or {})
        for one in validators()
        if one.always or any(one.file in own for own in files.values())
    ]
