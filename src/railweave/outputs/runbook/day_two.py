"""What is done to a switch before and after it is brought up: first boot, drain, another release, new hardware, a fault on purpose."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.outputs.runbook.markdown import block
from railweave.systems import system

if TYPE_CHECKING:
    from railweave.model.network.devices import Switch


def day_two(switch: Switch) -> list[str]:
    """The section of one switch; ``FABRIC`` stands for the fabric file. Each verb writes a plan, which `deploy apply` carries out."""
    name, installs = switch.name, system(switch.nos).upgrade
    leaf = switch.role == "leaf"
    lines = [
        f"New from its box, {name} can fetch by itself what lets `railweave deploy apply` reach it: `railweave deploy ztp FABRIC -o DIR`.",
        "",
        "Each of these shows a plan and changes nothing; `railweave deploy apply PLAN --access access.yaml` carries it out.",
        "",
        *block(
            (
                f"railweave deploy drain FABRIC {name}{' --force' if leaf else ''} --access access.yaml -o drain.json",
                f"railweave deploy undrain FABRIC {name} --access access.yaml -o back.json",
                *(
                    _upgrade(name, by_release=installs.BY_RELEASE, leaf=leaf)
                    if installs and not installs.BY_HAND
                    else ()
                ),
                f"railweave deploy replace FABRIC {name} --serial SERIAL --access access.yaml -o new.json",
            )
        ),
        "",
    ]
    if leaf:
        lines.append("It is the only way to its servers' NICs: take their servers from jobs first.")
    if system(switch.nos).transaction is not None:
        lines.append("Broken on purpose, with a timer that restores it: `railweave deploy campaign FABRIC SCENARIO`.")
    if installs and installs.BY_HAND:
        lines.append(f"Another release: {installs.BY_HAND}.")
    return lines


def _upgrade(name: str, *, by_release: bool, leaf: bool) -> tuple[str, ...]:
    image = "" if by_release else " --image FILE"
    force = " --force" if leaf else ""
    return (
        f"railweave deploy upgrade FABRIC --release RELEASE{image} --only {name}{force} --access access.yaml -o upgrade.json",
    )
