"""Interfaces (typing protocols) of the modules in an operating system's folder. ``systems.loader`` combines these modules."""

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
    from railweave.systems.first_boot import Options, Place, SerialOption
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
        """Return a line for each statement, preceded by its parent headers. Comparisons of configurations use these lines."""
        ...

    def check_extra(self, text: str) -> None:
        """Check that the operator's own statements can be read. Raises ``RenderError``, with the line number, if they cannot."""
        ...


class Reader(Protocol):
    """The reader that converts configuration text to a ``DeviceConfig``: the module ``read`` of a system's folder.

    A text may have any format in which the system prints its configuration. File names are used only to report where a
    statement is. A malformed text raises ``RenderError`` with the line number. An unknown statement or an invalid value
    raises no error: the reader marks it as not understood.
    """

    def read(self, texts: Mapping[str, str]) -> Reading:
        """Return the configuration of one device, read from all its texts together. ``texts`` has the texts by file name."""
        ...

    def parsed(self, file: str, text: str) -> ConfigTree:
        """Return a text as a tree, for comparison with a tree from ``systems.loader.System.trees``.

        Each node of the tree has its line number in the text.
        """
        ...

    def printed(self, file: str, nodes: Sequence[Node]) -> str:
        """Return the nodes of a tree as text. ``read`` accepts this text as the content of ``file``."""
        ...


class StateReader(Protocol):
    """Questions to a switch, and the reader of its answers: the module or package ``state`` of a system's folder."""

    NOT_READ: Mapping[str, str]
    """The fields of ``DeviceState`` that the reader never fills, each with the reason, for example an undocumented output format."""
    PROBES: Mapping[str, str]
    """Commands that test the daemons of the switch, by daemon. Each command is answered only by its daemon.

    If a question gets no answer in time, the commands show which daemon hangs.
    """

    def questions(
        self, config: DeviceConfig, asked: Iterable[tuple[str, str]] = (), *, tables: bool = False
    ) -> list[Question]:
        """Return the questions to a switch.

        - ``asked``: the routes to ask for, as (VRF, prefix).
        - ``tables``: True to ask for whole routing tables; False to ask for the numbers of routes instead, if the
          system shows them.
        """
        ...

    def read(self, answers: Answers) -> DeviceState:
        """Return the state of the switch that the answers show. Never raises an error.

        An answer that cannot be read is noted, and the fields that depend on it are missing in the state.
        """
        ...


class Telemetry(Protocol):
    """The gNMI subscriptions of a system, and the time series for each path of their updates: the module ``telemetry``."""

    PORT: int
    """The default TCP port of the system's gNMI server."""
    ENCODING: str
    """The encoding to request: ``proto``, ``json`` or ``json_ietf``."""
    SUBSCRIPTIONS: Sequence[Subscription]
    """The gNMI subscriptions to set up on the device."""
    SNMP: Sequence[Column]
    """The SNMP columns to poll, because no gNMI subscription carries their values."""
    QUICK: frozenset[str]
    """Names of the questions to ask at every interval, because no subscription carries their values. Other questions are asked less often."""
    NOT_STREAMED: Mapping[str, str]
    """The time series that no subscription carries, each with the reason."""

    def series(self, elements: Elements) -> Series | None:
        """Return the time series to which a telemetry leaf belongs, or None if the leaf is not used. ``elements`` is the leaf's path."""
        ...


class Runbook(Protocol):
    """Commands to enter on a switch, and their expected output: the module ``runbook`` of a system's folder."""

    CONFIGURATION: str
    """The name of the configuration file that is loaded on the switch."""

    def load(self, config: DeviceConfig) -> list[tuple[str, tuple[str, ...]]]:
        """Return the steps that load the configuration on the switch, each as (a sentence, the commands to enter)."""
        ...

    def identity(self, config: DeviceConfig, serial: str) -> Check:
        """Return the check of the device's identity, before anything is loaded. ``serial`` is the expected serial number."""
        ...

    def checks(self, network: Network, config: DeviceConfig, expected: ExpectedRouting) -> list[Check]:
        """Return the checks after loading, in order. ``expected`` is the state of routing that they must show."""
        ...


class FirstBoot(Protocol):
    """Files and DHCP options for the first boot of a device: the module ``first_boot`` of a system's folder."""

    SERIAL_OPTIONS: tuple[SerialOption, ...]
    """The DHCP options in which a device may send its serial number, and the place of the serial number in each option."""
    HEADERS: tuple[str, ...]
    """The names of HTTP headers in which the device sends its serial number when it downloads a file; empty if it sends none."""
    TAKES_IMAGE: bool
    """True if the first boot can also install an image on the device."""

    def files(self, config: DeviceConfig, rendered: Mapping[str, str], place: Place) -> dict[str, str]:
        """Return the first-boot files of a device, by file name.

        ``rendered`` are the configuration files with which the device boots. ``place`` is the server from which the device downloads its
        files.
        """
        ...

    def options(self, place: Place) -> Options:
        """Return the DHCP options for the device. ``place`` is the server from which the device downloads its files."""
        ...
