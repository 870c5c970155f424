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
        """The reader of configuration text: the module ``read``."""
        ...

    @property
    def state(self) -> StateReader | None:
        """Questions about a switch's state, and the reader of their answers: the module or package ``state``."""
        ...

    @property
    def telemetry(self) -> Telemetry | None:
        """Subscriptions by gNMI, and the reader of their paths: the module ``telemetry``."""
        ...

    @property
    def transaction(self) -> Transaction | None:
        """Changes of a running device: the module ``transaction``."""
        ...

    @property
    def upgrade(self) -> Installation | None:
        """Installation of another release: the module ``upgrade``."""
        ...

    @property
    def first_boot(self) -> FirstBoot | None:
        """Files for the first boot of a new device: the module ``first_boot``."""
        ...

    @property
    def outage(self) -> Outage | None:
        """Outages that are commands: the module ``outage``."""
        ...

    @property
    def runbook(self) -> Runbook | None:
        """Parts of a runbook: the module ``runbook``."""
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
    """What the module ``read`` of a system's folder offers: the way back from text to ``DeviceConfig``.

    A text is in any form that the system itself prints its configuration in; names of files say only where a statement
    stands. Text whose form is broken raises ``RenderError`` with the line. What is well-formed and means nothing to the
    reader (a statement that it does not know, a value that is no number) is not understood, and raises nothing.
    """

    def read(self, texts: Mapping[str, str]) -> Reading:
        """The configuration that the texts of one device hold together, by file name."""
        ...

    def parsed(self, file: str, text: str) -> ConfigTree:
        """One text as the tree that ``System.trees`` has for that file, each node with its line."""
        ...

    def printed(self, file: str, nodes: Sequence[Node]) -> str:
        """The nodes of a tree as text that ``read`` takes for that file."""
        ...


class StateReader(Protocol):
    """What the module or package ``state`` of a system's folder offers: what is asked of a switch, and what its answers say."""

    @property
    def NOT_READ(self) -> Mapping[str, str]:  # noqa: N802 - a constant of the module
        """Fields of ``DeviceState`` that it never fills, with the reason: no public document shows the form, or there is no such thing."""
        ...

    def questions(
        self, config: DeviceConfig, asked: Iterable[tuple[str, str]] = (), *, tables: bool = False
    ) -> list[Question]:
        """What is asked of a switch: ``asked`` are routes by VRF and prefix, ``tables`` asks for whole tables of routes too."""
        ...

    def read(self, answers: Answers) -> DeviceState:
        """What the answers say. Nothing is raised: what cannot be read is noted, and absent."""
        ...


class Telemetry(Protocol):
    """What the module ``telemetry`` of a system's folder offers: what it is subscribed to by gNMI, and which leaf is which series."""

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
        """What is subscribed to."""
        ...

    @property
    def SNMP(self) -> Sequence[Column]:  # noqa: N802
        """What SNMP gives and no subscription does."""
        ...

    @property
    def QUICK(self) -> frozenset[str]:  # noqa: N802
        """Names of the questions about its state that are asked at every interval, for what no subscription gives; the others more rarely."""
        ...

    @property
    def NOT_STREAMED(self) -> Mapping[str, str]:  # noqa: N802
        """What no subscription gives, with the reason."""
        ...

    def series(self, elements: Elements) -> Series | None:
        """The series of a leaf, by its path; None where it is not read."""
        ...


class Runbook(Protocol):
    """What is typed on a switch of an operating system, and what must be seen."""

    @property
    def CONFIGURATION(self) -> str:  # noqa: N802 - a constant of the module
        """The file that is loaded."""
        ...

    def load(self, config: DeviceConfig) -> list[tuple[str, tuple[str, ...]]]:
        """What to do to put the configuration on the switch, step by step: words, and the commands to type."""
        ...

    def identity(self, config: DeviceConfig, serial: str) -> Check:
        """What to look at before anything is loaded."""
        ...

    def checks(self, network: Network, config: DeviceConfig, expected: ExpectedRouting) -> list[Check]:
        """Return what to look at afterwards, in order; ``expected`` is the state of routing to be seen."""
        ...


class FirstBoot(Protocol):
    """What the module ``first_boot`` of a system's folder offers."""

    @property
    def SAYS(self) -> tuple[Says, ...]:  # noqa: N802 - a constant of the module
        """How a device says its serial number by DHCP, any of them."""
        ...

    @property
    def HEADERS(self) -> tuple[str, ...]:  # noqa: N802
        """Headers of its HTTP requests that have its serial number; empty: it says none."""
        ...

    @property
    def TAKES_IMAGE(self) -> bool:  # noqa: N802
        """Whether it can be given an image to run."""
        ...

    def files(self, config: DeviceConfig, rendered: Mapping[str, str], place: Place) -> dict[str, str]:
        """The files of a device by name, from those that the renderer made of the configuration it is to boot with."""
        ...

    def options(self, place: Place) -> Options:
        """What DHCP tells the device."""
        ...
