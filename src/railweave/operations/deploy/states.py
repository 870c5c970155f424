"""What devices say of their state now, in a rollout: asked as a capture is, and read from it."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from railweave.live.collect.collect import captured
from railweave.model.state.capture import read_capture
from railweave.systems.reading import read_states

if TYPE_CHECKING:
    from collections.abc import Collection

    from railweave.live.site.site import Site
    from railweave.model.state.device_state import DeviceState


async def states(
    site: Site, names: Collection[str], *, attempts: int = 1
) -> tuple[dict[str, DeviceState], dict[str, str]]:
    """The state of switches, and those that did not answer, with the reason. Their configuration is not asked for."""
    asked = {name: site.asked[name] for name in names}
    questions = [one.of_state() for one in asked.values()]
    with TemporaryDirectory() as place:
        folder = Path(place) / "capture"
        outcomes = await captured(questions, folder, {}, at_once=site.at_once, attempts=attempts, open_by=site.ask_by)
        silent = {one.device: one.error or "no answer" for one in outcomes if not one.answered}
        systems = {name: one.system for name, one in asked.items() if name not in silent}
        return read_states(read_capture(folder), systems) if systems else {}, silent
