"""Every parser of something that railweave did not make itself: a row for each."""

from __future__ import annotations

from tests.fuzz.devices import DEVICES
from tests.fuzz.driver import Parser
from tests.fuzz.files import FILES
from tests.fuzz.messages import MESSAGES

PARSERS: tuple[Parser, ...] = (*FILES, *DEVICES, *MESSAGES)
