"""Protocols for the parts of an operating system. The modules of the system's folder provide the parts; ``systems.loader`` combines them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from railweave.model.config.tree import ConfigTree, Node
    from railweave.model.device.expected import ExpectedRouting
    from railweave.model.device.model import DeviceConfig
    from railweave.model.device.reading import Reading
    from railweave.model.findings import Finding
    from railweave.model.network.model import Network
    from railweave.model.state.device_state import DeviceState
    from railweave.model.state.question import Question
    from railweave.model.state.telemetry import Column, Elements, Series, Subscription
    from railweave.model.state.values import Answers
    from railweave.systems.first_boot import Options, Place, Says
    from railweave.systems.runbook import Check


class Renderer(Protocol):
    """The functions that print configurations: the package ``render`` of a system's folder."""

    def files(self, config: DeviceConfig) -> dict[str, str]:
        """Return the configuration files of a device, by file name."""
        ...

    def gaps(self, config: DeviceConfig) -> list[Finding]:
        """Return a finding for each part of the configuration that this system cannot express."""
        ...

    def lines(self, config: DeviceConfig) -> list[str]:
        """Return a line for each statement, with its enclosing statements. Comparisons of configurations use these lines."""
        ...

    def check_extra(self, text: str) -> None:
        """Check that the operator's own statements can be read. Raises ``RenderError``, with the line, if they cannot."""
        ...


class Reader(Protocol):
    """The reader that converts configuration text to a ``DeviceConfig``: the module ``read`` of a system's folder.

    A text may have any form in which the system prints its configuration. File names are used only to report the place of a statement.
    A malformed text raises ``RenderError`` with the line. Well-formed statements that the reader does not know, and invalid values, are
    recorded as not understood; they raise no error.
    """

    def read(self, texts: Mapping[str, str]) -> Reading:
        """Return the configuration of one device, read from all its texts together. ``texts`` are by file name."""
        ...

    def parsed(self, file: str, text: str) -> ConfigTree:
        """Return a text as a tree, in the form of ``systems.loader.System.trees``, so that both can be compared.

        Each node has its line in the text.
        """
        ...

    def printed(self, file: str, nodes: Sequence[Node]) -> str:
        """Return the nodes of a tree as text that ``read`` accepts for this file."""
        ...


class StateReader(Protocol):
    """Questions to a switch, and the reader of its answers: the module or package ``state`` of a system's folder."""

    NOT_READ: Mapping[str, str]
    """The fields of ``DeviceState`` that the reader never fills, each with the reason, for example an undocumented output format."""
    PROBES: Mapping[str, str]
    """Commands by daemon, each of which only that daemon answers. They show which daemon is at fault if a question gets no answer in time."""

    def questions(
        self, config: DeviceConfig, asked: Iterable[tuple[str, str]] = (), *, tables: bool = False
    ) -> list[Question]:
        """Return the questions to a switch.

        - ``asked``: routes to ask for, as (VRF, prefix).
        - ``tables``: True to ask for whole routing tables; False to ask for the numbers of routes instead, if the
          system shows them.
        """
        ...

    def read(self, answers: Answers) -> DeviceState:
        """Return the state that the answers describe. Never raises: an answer that cannot be read is noted, and its state is absent."""
        ...


class Telemetry(Protocol):
    """The gNMI subscriptions, and the time series of each path: the module ``telemetry`` of a system's folder."""

    PORT: int
    """The default TCP port of the system's gNMI server."""
    ENCODING: str
    """The encoding to request: ``proto``, ``json`` or ``json_ietf``."""
    SUBSCRIPTIONS: Sequence[Subscription]
    """The subscriptions."""
    SNMP: Sequence[Column]
    """The SNMP columns with values that no gNMI subscription gives."""
    QUICK: frozenset[str]
    """Names of the questions that are asked at every interval, because no subscription answers them. Other questions are asked more rarely."""
    NOT_STREAMED: Mapping[str, str]
    """The series that no subscription gives, each with the reason."""

    def series(self, elements: Elements) -> Series | None:
        """Return the time series of a telemetry leaf by the leaf's path, or None if the leaf is not used."""
        ...


class Runbook(Protocol):
    """Commands to enter on a switch, and their expected output: the module ``runbook`` of a system's folder."""

    CONFIGURATION: str
    """The name of the configuration file that is loaded on the switch."""

    def load(self, config: DeviceConfig) -> list[tuple[str, tuple[str, ...]]]:
        """Return the steps that load the configuration on the switch, each as (a sentence, the commands to enter)."""
        ...

    def identity(self, config: DeviceConfig, serial: str) -> Check:
        """Return the check of the device's identity, before anything is loaded."""
        ...

    def checks(self, network: Network, config: DeviceConfig, expected: ExpectedRouting) -> list[Check]:
        """Return the checks after loading, in order. ``expected`` is the state of routing that they must show."""
        ...


class FirstBoot(Protocol):
    """Files and DHCP options for the first boot of a device: the module ``first_boot`` of a system's folder."""

    SAYS: tuple[Says, ...]
    """The DHCP options in which a device may send its serial number."""
    HEADERS: tuple[str, ...]
    """The headers of the device's HTTP requests that contain its serial number; empty if it sends none."""
    TAKES_IMAGE: bool
    """True if the device can be given an image to install and run."""

    def files(self, config: DeviceConfig, rendered: Mapping[str, str], place: Place) -> dict[str, str]:
        """Return the files of a device by name, derived from the rendered files of the configuration with which it will boot."""
        ...

    def options(self, place: Place) -> Options:
        """Return the DHCP options for the device."""
        ...
