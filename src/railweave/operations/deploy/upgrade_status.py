"""The reported state of the devices in a rollout, and the release that each switch of an upgrade runs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, ClassVar

from railweave.live.check.identity import same_release
from railweave.live.collect.collect import captured
from railweave.model.state.capture import read_capture
from railweave.operations.deploy.recovery import DeviceCondition
from railweave.systems.reading import read_states

if TYPE_CHECKING:
    from collections.abc import Collection

    from railweave.live.site.site import Site
    from railweave.model.state.device_state import DeviceState
    from railweave.operations.deploy.plan import Upgrade


async def states(
    site: Site, names: Collection[str], *, attempts: int = 1
) -> tuple[dict[str, DeviceState], dict[str, str]]:
    """Return the state of switches by name, and the reason for each switch that did not answer. Configurations are not read."""
    asked = {name: site.asked[name] for name in names}
    questions = [device.of_state() for device in asked.values()]
    with TemporaryDirectory() as place:
        folder = Path(place) / "capture"
        outcomes = await captured(questions, folder, {}, at_once=site.at_once, attempts=attempts, open_by=site.ask_by)
        silent = {outcome.device: outcome.error or "no answer" for outcome in outcomes if not outcome.answered}
        systems = {name: device.system for name, device in asked.items() if name not in silent}
        return read_states(read_capture(folder), systems) if systems else {}, silent


@dataclass(frozen=True)
class Runs(DeviceCondition):
    """The release that a switch of an upgrade runs.

    The state is ``before`` for the earlier release, ``after`` for the new one, and ``otherwise`` for any other.
    """

    of_upgrade: ClassVar[bool] = True
    release: str = ""

    def sentence(self) -> str:
        """Return the state as a sentence about the switch."""
        descriptions = {
            "before": f"runs {self.release}, as before",
            "after": f"runs {self.release}, the new release",
            "unknown": f"does not answer: {self.why}",
        }
        otherwise = f"runs {self.release}, neither the release of before nor the new one"
        return descriptions.get(self.state, otherwise)


async def releases(site: Site, upgrade: Upgrade) -> list[Runs]:
    """Return the release that each switch of an upgrade runs. Nothing is changed."""
    device_states, silent = await states(site, list(upgrade.versions))
    rows: list[Runs] = []
    for name, version in upgrade.versions.items():
        identity = device_states[name].identity if name in device_states else None
        now = (identity.version if identity else None) or ""
        if not now:
            rows.append(Runs(name, "unknown", why=silent.get(name, "it does not say its release")))
        elif same_release(now, upgrade.image.release):
            rows.append(Runs(name, "after", release=now))
        else:
            rows.append(Runs(name, "before" if now == version else "otherwise", release=now))
    return rows
