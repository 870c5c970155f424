"""What the folder of an operating system offers. Each gives one ``SYSTEM``, whose parts are imported where they are used."""

from __future__ import annotations

import importlib
import re
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, cast

from railweave.errors import RenderError
from railweave.model.catalog.definitions import system_files
from railweave.nearest import nearest
from railweave.plugged import check_known, modules_of
from railweave.reading import packaged_yaml

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path
    from types import ModuleType

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


PARTS = {
    "render": "files",
    "changes": "trees",
    "read": "reader",
    "state": "state",
    "telemetry": "telemetry",
    "transaction": "transaction",
    "upgrade": "upgrade",
    "outage": "outage",
    "first_boot": "first_boot",
    "lint": "lint",
    "validator": "validators",
    "runbook": "runbook",
}
"""Modules and packages of a system's folder, and the attribute of ``System`` that offers each."""

FORMS = "forms.yaml"
"""Statement forms, their sources and how each was checked (``systems.forms``): beside ``system.yaml``, if the system has them."""

USED_BY_METHOD = ("changes", "lint")
"""Parts that a system's own method must use: what a part takes differs from system to system."""


def missing_parts(kind: type, plain: type, definition: Path) -> dict[str, str]:
    """The parts that a system lacks on purpose, with the reasons that its ``system.yaml`` (``definition``) gives.

    ``kind`` is the system's class, ``plain`` the class ``System``. Raises ``ImportError`` for:

    - a module that is no part and that ``modules:`` does not name, such as a misnamed part;
    - a part that is missing without a reason under ``without:``, or that has a reason and exists;
    - a part that no method of the class uses.
    """
    data: dict[str, Any] = packaged_yaml(definition.read_text(encoding="utf-8"))
    without: dict[str, str] = data.get("without") or {}
    folder, modules = definition.parent, data.get("modules") or ()
    check_known(
        folder,
        {*PARTS, *modules, definition.name, FORMS},
        f"if it is no part of a system, name it in {definition.name} under `modules`",
    )
    there = modules_of(folder)
    for name in modules:
        if name not in there:
            raise ImportError(f"{definition}: modules: there is no {name}{_hint(name, there)}")
    for name in without:
        if name not in PARTS:
            raise ImportError(f"{definition}: without: a system has no part {name}{_hint(name, PARTS)}")
    for name, attribute in PARTS.items():
        given = getattr(kind, attribute) is not getattr(plain, attribute)
        if name in USED_BY_METHOD and name in there and not given:
            raise ImportError(f"{folder / name}: {kind.__name__} has no method {attribute} that uses it")
        if name in without and (name in there or given):
            raise ImportError(f"{definition}: without: {name} is not missing")
        if name not in without and not (name in there or given):
            raise ImportError(
                f"{folder} has no {name}: add it, or give the reason in {definition.name} under `without`"
            )
    if bool(data.get("lint")) is ("lint" in without):
        raise ImportError(
            f"{definition}: `lint` (its id, what it says) must be there exactly if the folder has lint rules"
        )
    return without


def _hint(name: str, known: Iterable[str]) -> str:
    meant = nearest(name, known)
    return f": did you mean {meant}?" if meant else ""


_NOT_IN_A_WORD = re.compile(r"[^!-~]|[\"'`\\?]")


def plain_word(text: str) -> str:
    """A text that a command line takes for one word as it is. Raises ``RenderError`` for another."""
    found = _NOT_IN_A_WORD.search(text)
    if found is not None or not text:
        raise RenderError(f"it holds {found[0]!r}, which would end the word" if found else "it is empty")
    return text


class Renderer(Protocol):
    """What the package ``render`` of a system's folder offers."""

    def files(self, config: DeviceConfig) -> dict[str, str]:
        """The configuration files of a device, by file name."""
        ...

    def gaps(self, config: DeviceConfig) -> list[Finding]:
        """What the configuration asks for that this system cannot express."""
        ...

    def lines(self, config: DeviceConfig) -> list[str]:
        """Every statement with what it stands in, a line each: two configurations are compared by them."""
        ...

    def check_extra(self, text: str) -> None:
        """Read the operator's own statements. Raises ``RenderError`` with the line where that cannot be done."""
        ...


class System(Renderer, Protocol):
    """An operating system: how a ``DeviceConfig`` is printed for it, read by it, and checked on it. Nothing is decided.

    Its parts are modules of its folder (``systems.protocol``). A folder with an unknown module, or that lacks a part without a
    reason, is an ``ImportError``. Secrets need no quoting unless the system says otherwise.
    """

    without: ClassVar[Mapping[str, str]] = {}
    """Parts that are missing on purpose, and why: ``without:`` in ``system.yaml``."""

    def __init_subclass__(cls, **rest: Any) -> None:  # noqa: ANN401 - whatever classes above take
        super().__init_subclass__(**rest)
        definition = system_files().get(cls.__module__.rpartition(".")[2])
        if definition is not None:
            cls.without = missing_parts(cls, System, definition)

    @property
    def _renderer(self) -> Renderer:
        return cast("Renderer", importlib.import_module(f"{type(self).__module__}.render"))

    def files(self, config: DeviceConfig) -> dict[str, str]:
        """The configuration files of a device, by file name."""
        return self._renderer.files(config)

    def gaps(self, config: DeviceConfig) -> list[Finding]:
        """What the configuration asks for that this system cannot express."""
        return self._renderer.gaps(config)

    def lines(self, config: DeviceConfig) -> list[str]:
        """Every statement with what it stands in, a line each: two configurations are compared by them."""
        return self._renderer.lines(config)

    def check_extra(self, text: str) -> None:
        """Read the operator's own statements. Raises ``RenderError`` with the line where that cannot be done."""
        self._renderer.check_extra(text)

    def trees(self, config: DeviceConfig) -> dict[str, ConfigTree]:
        """The configuration of a device as trees that can be compared, by the file they are printed to; empty: not known."""
        del config
        return {}

    @property
    def reader(self) -> Reader | None:
        """The reader of configuration text: the module ``read`` of its folder; None: missing on purpose."""
        return cast("Reader | None", self._part("read"))

    @property
    def state(self) -> StateReader | None:
        """Questions about a switch's state, and the reader of their answers: the module or package ``state``; None: missing on purpose."""
        return cast("StateReader | None", self._part("state"))

    @property
    def telemetry(self) -> Telemetry | None:
        """Subscriptions by gNMI, and the reader of their paths: the module ``telemetry``; None: missing on purpose."""
        return cast("Telemetry | None", self._part("telemetry"))

    @property
    def transaction(self) -> Transaction | None:
        """Changes of a running device: the module ``transaction``; None: missing on purpose."""
        return cast("Transaction | None", self._part("transaction"))

    @property
    def upgrade(self) -> Installation | None:
        """Installation of another release: the module ``upgrade``; None: missing on purpose."""
        return cast("Installation | None", self._part("upgrade"))

    @property
    def first_boot(self) -> FirstBoot | None:
        """Files for the first boot of a new device: the module ``first_boot``; None: missing on purpose."""
        return cast("FirstBoot | None", self._part("first_boot"))

    @property
    def outage(self) -> Outage | None:
        """Outages that are commands: the module ``outage``; None: missing on purpose."""
        return cast("Outage | None", self._part("outage"))

    def _part(self, name: str) -> ModuleType | None:
        """A module of its folder; None if ``system.yaml`` says that it is missing."""
        return None if name in self.without else importlib.import_module(f"{type(self).__module__}.{name}")

    def by_hand(self, device: str) -> str:
        """Why nothing here changes a running device, and which files to load by hand; where ``transaction`` is None."""
        return f"nothing here changes such a device: load the files of devices/{device} that `railweave build` writes by hand"

    def configurations(self, config: DeviceConfig) -> list[str]:
        """The files that hold the configuration of a device, and that the reader reads together; as most have it, those of ``trees``."""
        return list(self.trees(config))

    def quoted(self, file: str, text: str) -> str:
        """A text, as a secret's, the way one of its files takes it. Raises ``RenderError`` where it takes no such text.

        As most have it: a word, which blanks and quotation marks would end.
        """
        del file
        return plain_word(text)

    def daemons(self, config: DeviceConfig) -> frozenset[str] | None:
        """FRRouting's daemons that the switch starts with this configuration, which the lab then starts and no others; None: all that it needs."""
        del config
        return None

    def lint(self, config: DeviceConfig) -> list[Finding]:
        """What is wrong with the configuration that neither its type nor an outside validator sees."""
        del config
        return []

    @property
    def validators(self) -> Sequence[Validator]:
        """Tools of others that read its files: ``VALIDATOR`` of the module ``validator``."""
        part = self._part("validator")
        return () if part is None else (cast("Validator", part.VALIDATOR),)

    @property
    def runbook(self) -> Runbook | None:
        """Parts of a runbook: the module ``runbook``; None: missing on purpose."""
        return cast("Runbook | None", self._part("runbook"))


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
