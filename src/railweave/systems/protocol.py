"""The parts of an operating system, as protocols: its folder's modules offer them, and ``systems.loader`` puts them together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from railweave.model.config.tree import ConfigTree, Node
    from railweave.model.device.expected import ExpectedRouting
    from railweave.model.device.model import DeviceConfig
    from railweave.model.device.reading import Reading
    from railweave.model.findings import Finding
    from railweave.model.findings.validators import Validator
    from railweave.model.network.model import Network
    from railweave.model.state.device_state import DeviceState
    from railweave.model.state.question import Question
    from railweave.model.state.telemetry import Column, Elements, Series, Subscription
    from railweave.model.state.values import Answers
    from railweave.systems.first_boot import Options, Place, Says
    from railweave.systems.installation import Installation
    from railweave.systems.outage import Outage
    from railweave.systems.runbook import Check
    from railweave.systems.transaction import Transaction


class Renderer(Protocol):
    """The printer of configurations: the package ``render`` of a system's folder."""

    def files(self, config: DeviceConfig) -> dict[str, str]:
        """Return the configuration files of a device, by file name."""
        ...

    def gaps(self, config: DeviceConfig) -> list[Finding]:
        """Return what the configuration asks for that this system cannot express."""
        ...

    def lines(self, config: DeviceConfig) -> list[str]:
        """Return every statement with its enclosing statements, a line each: two configurations are compared by them."""
        ...

    def check_extra(self, text: str) -> None:
        """Read the operator's own statements. Raises ``RenderError`` with the line that cannot be read."""
        ...


class System(Renderer, Protocol):
    """An operating system: how a ``DeviceConfig`` is printed for it, read by it, and checked on it. Nothing is decided.

    A part that is None is missing on purpose.
    """

    @property
    def without(self) -> Mapping[str, str]:
        """Parts that are missing on purpose, with the reasons: ``without:`` in ``system.yaml``."""
        ...

    @property
    def reader(self) -> Reader | None:
        """The reader of configuration text: the module ``read``; None where the system has none."""
        ...

    @property
    def state(self) -> StateReader | None:
        """Questions about a switch's state, and the reader of their answers: the module or package ``state``; None where the system has none."""
        ...

    @property
    def telemetry(self) -> Telemetry | None:
        """Subscriptions by gNMI, and the reader of their paths: the module ``telemetry``; None where the system has none."""
        ...

    @property
    def transaction(self) -> Transaction | None:
        """Changes of a running device: the module ``transaction``; None where the system has none."""
        ...

    @property
    def upgrade(self) -> Installation | None:
        """Installation of another release: the module ``upgrade``; None where the system has none."""
        ...

    @property
    def first_boot(self) -> FirstBoot | None:
        """Files for the first boot of a new device: the module ``first_boot``; None where the system has none."""
        ...

    @property
    def outage(self) -> Outage | None:
        """Outages that are commands: the module ``outage``; None where the system has none."""
        ...

    @property
    def runbook(self) -> Runbook | None:
        """Parts of a runbook: the module ``runbook``; None where the system has none."""
        ...

    @property
    def validators(self) -> Sequence[Validator]:
        """Tools of others that read its files: ``VALIDATOR`` of the module ``validator``."""
        ...

    def trees(self, config: DeviceConfig) -> dict[str, ConfigTree]:
        """Return the configuration of a device as trees that can be compared, by the file they are printed to."""
        ...

    def configurations(self, config: DeviceConfig) -> list[str]:
        """Return the files that hold the configuration of a device, and that the reader reads together; usually those of ``trees``."""
        ...

    def lint(self, config: DeviceConfig) -> list[Finding]:
        """Return the mistakes of a configuration that neither its type nor an outside validator sees; usually none."""
        ...

    def quoted(self, file: str, text: str) -> str:
        """Return a text, such as a secret, as one of its files takes it; usually a single word.

        Raises ``RenderError`` for a text that the file cannot take.
        """
        ...

    def daemons(self, config: DeviceConfig) -> frozenset[str] | None:
        """Return FRRouting's daemons that the switch starts with this configuration; usually None: all that it needs.

        The lab starts these and no others.
        """
        ...

    def by_hand(self, device: str) -> str:
        """Return why nothing here changes a running device, and which files to load by hand, for a system without ``transaction``."""
        ...


class Reader(Protocol):
    """The reader of configuration text, which makes a ``DeviceConfig`` of it: the module ``read`` of a system's folder.

    A text is in any form that the system itself prints its configuration in; names of files say only where a statement
    stands. Text whose form is broken raises ``RenderError`` with the line. What is well-formed and means nothing to the
    reader (a statement that it does not know, a value that is no number) is not understood, and raises nothing.
    """

    def read(self, texts: Mapping[str, str]) -> Reading:
        """Return the configuration that the texts of one device hold together, by file name."""
        ...

    def parsed(self, file: str, text: str) -> ConfigTree:
        """Return one text as the tree that ``System.trees`` has for that file, each node with its line."""
        ...

    def printed(self, file: str, nodes: Sequence[Node]) -> str:
        """Return the nodes of a tree as text that ``read`` takes for that file."""
        ...


class StateReader(Protocol):
    """Questions to a switch, and the reader of its answers: the module or package ``state`` of a system's folder."""

    @property
    def NOT_READ(self) -> Mapping[str, str]:  # noqa: N802 - a constant of the module
        """Fields of ``DeviceState`` that it never fills, each with the reason, such as a form that no public document shows."""
        ...

    @property
    def PROBES(self) -> Mapping[str, str]:  # noqa: N802 - a constant of the module
        """Commands by daemon that this daemon alone answers, for questions that no one answers in time; empty where there are none."""
        ...

    def questions(
        self, config: DeviceConfig, asked: Iterable[tuple[str, str]] = (), *, tables: bool = False
    ) -> list[Question]:
        """Return the questions to a switch. ``asked`` are routes by VRF and prefix; ``tables`` asks for whole routing tables.

        Without ``tables``, the numbers of routes are asked for, if the system shows them.
        """
        ...

    def read(self, answers: Answers) -> DeviceState:
        """Return the state that the answers describe. Never raises: an answer that cannot be read is noted, and its state is absent."""
        ...


class Telemetry(Protocol):
    """Subscriptions by gNMI, and the series of each leaf: the module ``telemetry`` of a system's folder."""

    @property
    def PORT(self) -> int:  # noqa: N802 - a constant of the module
        """The TCP port on which it usually listens."""
        ...

    @property
    def ENCODING(self) -> str:  # noqa: N802
        """The encoding that it is asked for: ``proto``, ``json`` or ``json_ietf``."""
        ...

    @property
    def SUBSCRIPTIONS(self) -> Sequence[Subscription]:  # noqa: N802
        """The subscriptions."""
        ...

    @property
    def SNMP(self) -> Sequence[Column]:  # noqa: N802
        """The columns that SNMP gives and no subscription does."""
        ...

    @property
    def QUICK(self) -> frozenset[str]:  # noqa: N802
        """Names of the questions that are asked at every interval, because no subscription answers them. Other questions are asked more rarely."""
        ...

    @property
    def NOT_STREAMED(self) -> Mapping[str, str]:  # noqa: N802
        """Series that no subscription gives, each with the reason."""
        ...

    def series(self, elements: Elements) -> Series | None:
        """Return the series of a leaf by its path; None if the leaf is not read."""
        ...


class Runbook(Protocol):
    """Commands to type on a switch, and their expected output: the module ``runbook`` of a system's folder."""

    @property
    def CONFIGURATION(self) -> str:  # noqa: N802 - a constant of the module
        """The file that is loaded."""
        ...

    def load(self, config: DeviceConfig) -> list[tuple[str, tuple[str, ...]]]:
        """Return the steps that put the configuration on the switch: each has a sentence, and the commands to type."""
        ...

    def identity(self, config: DeviceConfig, serial: str) -> Check:
        """Return the check of the device's identity, before anything is loaded."""
        ...

    def checks(self, network: Network, config: DeviceConfig, expected: ExpectedRouting) -> list[Check]:
        """Return the checks after loading, in order. ``expected`` is the state of routing that they must show."""
        ...


class FirstBoot(Protocol):
    """Files and DHCP options for the first boot of a device: the module ``first_boot`` of a system's folder."""

    @property
    def SAYS(self) -> tuple[Says, ...]:  # noqa: N802 - a constant of the module
        """DHCP options in which a device may send its serial number."""
        ...

    @property
    def HEADERS(self) -> tuple[str, ...]:  # noqa: N802
        """Headers of its HTTP requests that have its serial number; empty if it sends none."""
        ...

    @property
    def TAKES_IMAGE(self) -> bool:  # noqa: N802
        """True if the device can be given an image to run."""
        ...

    def files(self, config: DeviceConfig, rendered: Mapping[str, str], place: Place) -> dict[str, str]:
        """Return the files of a device by name, made from the rendered files of the configuration with which it is to boot."""
        ...

    def options(self, place: Place) -> Options:
        """Return the DHCP options for the device."""
        ...
