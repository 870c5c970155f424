"""Outside judges: other people's tools that read the rendered files and know what a device would refuse.

Each runs where its tool is present and says why where it is not; none needs root, a device or a network.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.verify.judges import avd, junos_yang, netplan, sonic_yang, vtysh
from railweave.verify.judges.report import JudgeReport
from railweave.verify.judges.sample import MOST_JUDGED

if TYPE_CHECKING:
    from pathlib import Path

    from railweave.verify.judges.report import Files

__all__ = ["JudgeReport", "judge_all"]


def judge_all(
    files: Files,
    yang: Path | None,
    frr_root: Path | None,
    netplan_root: Path | None = None,
    sonic_yang_models: Path | None = None,
    *,
    every: bool = False,
) -> list[JudgeReport]:
    """Have the files of every device and server (its name to file name to text) judged by every judge.

    ``yang`` is a folder of published Junos models, ``sonic_yang_models`` one of SONiC's; ``frr_root`` and ``netplan_root``
    are root folders with FRR and netplan. SONiC's judge is left out where nothing is for it. Slow
    judges read a sample where there are many files, unless they are to read ``every`` one.
    """
    most = None if every else MOST_JUDGED
    sonic = any(sonic_yang.FILE in own for own in files.values())
    return [
        vtysh.judge(files, frr_root),
        junos_yang.judge(files, yang, most),
        *([avd.judge(files)] if any("eos.conf" in own for own in files.values()) else []),
        *([sonic_yang.judge(files, sonic_yang_models, most)] if sonic else []),
        netplan.judge(files, netplan_root, most),
    ]
