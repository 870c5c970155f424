"""Conversion of a capture (a folder of recorded answers) to ``DeviceState``. Each device's operating system provides the reader."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.model.state.device_state import DeviceState, Note
from railweave.model.state.values import Answers
from railweave.systems import system, systems

if TYPE_CHECKING:
    from collections.abc import Mapping

    from railweave.model.state.capture import Capture


def read_state(device: str, nos: str, texts: Mapping[str, str]) -> DeviceState:
    """Return the state of one device from its recorded answers. ``texts`` has the answers by the name of the question.

    Answers that cannot be read raise no error.
    """
    answers = Answers(device, texts)
    reader = system(nos).state if nos in systems() else None
    if reader is None:
        return DeviceState(
            device, nos, notes=(Note(device, "", "", f"nothing reads the state of {nos or 'its system'}"),)
        )
    try:
        return reader.read(answers)
    except Exception as error:  # noqa: BLE001 - an unforeseen form of answer from one device must not stop the others
        problem = f"the answers cannot be read: {type(error).__name__}"
        return DeviceState(device, nos, notes=(*answers.notes, Note(device, "", "", problem)))


def read_states(capture: Capture, systems_of: Mapping[str, str]) -> dict[str, DeviceState]:
    """Return the state of every device that has answers in a capture, by device name. ``systems_of`` gives the operating system of each device."""
    return {
        device: read_state(device, nos, texts) for device, nos in systems_of.items() if (texts := capture.texts(device))
    }
