"""The loader of operating systems.

It combines the modules of a folder into one ``System``, and imports each module when it is first used. A folder provides the parts of a
system, such as the reader, as modules and packages with the names in ``PARTS``. The folder's ``__init__`` may define such a part as a
variable instead. The ``__init__`` may also define the functions in ``FUNCTIONS``. Some functions need more than one part
(``USED_BY_FUNCTION``); all others replace a default behavior.
"""

from __future__ import annotations

import importlib
import re
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from railweave.errors import RenderError
from railweave.nearest import nearest
from railweave.plugged import check_known, modules_of
from railweave.reading import packaged_text, packaged_yaml

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path
    from types import ModuleType

    from railweave.model.config.tree import ConfigTree
    from railweave.model.device.model import DeviceConfig
    from railweave.model.findings import Finding
    from railweave.model.findings.validators import Validator
    from railweave.systems import protocol
    from railweave.systems.installation import Installation
    from railweave.systems.outage import Outage
    from railweave.systems.transaction import Transaction

T = TypeVar("T")
PARTS = (
    "render", "changes", "read", "state", "telemetry", "transaction", "upgrade", "outage", "first_boot", "lint", "validator", "runbook",
)  # fmt: skip
"""The names of the modules that a system's folder may have. For each missing one, ``without:`` in ``system.yaml`` gives the reason."""

OTHERS = "others"
"""The key under ``without:`` whose reason applies to all missing modules that ``without:`` does not name."""

FORMS = "forms.yaml"
"""The name of the file with a system's statement patterns, their sources and checks (``systems.forms``).

The file is optional and is next to ``system.yaml``.
"""

ANSIBLE, ANSIBLE_LOAD = "ansible.yaml", "ansible_load.yaml"
"""The file names of a system's Ansible variables and of its playbook, which loads the system's files (``railweave export ansible``). Both are optional."""

USED_BY_FUNCTION = {"changes": "trees", "lint": "mistakes"}
"""By module: the function of the folder's ``__init__`` through which railweave uses the module.

The functions exist because the arguments of these modules differ between systems.
"""

FUNCTIONS = ("trees", "beneath", "configurations", "mistakes", "quoted", "started_daemons", "by_hand")
"""Functions that the ``__init__`` of a folder may have.

No module may have one of these names, because importing the module would replace the function.
"""


def _refuse_read_policies(config: DeviceConfig) -> None:
    """Raise ``RenderError`` if a policy contains conditions that a reader has read but that no renderer can print.

    Without this check, the rendered policy would lack these conditions.
    """
    bgp = config.bgp
    if bgp is None:
        return
    for policy in bgp.policies:
        for term in policy.terms:
            if term.unknown:
                raise RenderError(
                    f"policy {policy.name!r} of {config.name} has `{term.unknown[0]}`: it is not understood"
                )
            if term.match.family and term.match.prefix_list is None:
                raise RenderError(f"policy {policy.name!r} of {config.name} differs between address families")
    for listed in bgp.entry_lists:
        raise RenderError(f"prefix list {listed.name!r} of {config.name} has entries that count one by one")


class Part(Generic[T]):
    """An attribute of ``System`` whose value is the module ``module`` of the system's folder, or None if the folder has no such module."""

    def __init__(self, module: str) -> None:
        self._module = module

    def __get__(self, system: System, owner: object) -> T:
        return cast("T", system.part(self._module))


class System:
    """An operating system: its modules that print a ``DeviceConfig`` as configuration files, read it, and check it.

    A system makes no design decisions. A module that the system does not have is None. Raises ``ImportError`` if a module is
    missing without a reason, or if its name is unknown.
    """

    reader: Part[protocol.Reader | None] = Part("read")
    """The reader of configuration text."""
    state: Part[protocol.StateReader | None] = Part("state")
    """The questions about a switch's state, and the reader of the switch's answers."""
    telemetry: Part[protocol.Telemetry | None] = Part("telemetry")
    """The gNMI subscriptions, and the function that converts the paths of their updates to time series."""
    transaction: Part[Transaction | None] = Part("transaction")
    """The functions that change a running device."""
    upgrade: Part[Installation | None] = Part("upgrade")
    """The installation of a different release."""
    first_boot: Part[protocol.FirstBoot | None] = Part("first_boot")
    """The DHCP options and files for the first boot of a new device."""
    outage: Part[Outage | None] = Part("outage")
    """The functions that cause outages by commands."""
    runbook: Part[protocol.Runbook | None] = Part("runbook")
    """The steps of the system's runbook."""
    _renderer: Part[protocol.Renderer] = Part("render")

    def __init__(self, definition: Path, package: ModuleType) -> None:
        self.without: Mapping[str, str] = missing_parts(definition, package)
        """The reasons why parts are missing, by the name of the part: ``without:`` in ``system.yaml``."""
        self._package = package

    def part(self, name: str) -> ModuleType | None:
        """Return the module ``name``, for example ``lint``, of the system's folder, or None if the system has no such module."""
        if name in self.without:
            return None
        return vars(self._package).get(name) or importlib.import_module(f"{self._package.__name__}.{name}")

    def _answer(self, function: str, usual: object, *arguments: object) -> Any:  # noqa: ANN401 - of any function
        """Return the result of the folder's function ``function``, called with ``arguments``, or ``usual`` if the folder has no such function."""
        return getattr(self._package, function)(*arguments) if hasattr(self._package, function) else usual

    def files(self, config: DeviceConfig) -> dict[str, str]:
        """Return the files of a configuration, by file name (``Renderer.files``).

        Raises ``RenderError`` if a policy has conditions that railweave can read but not print.
        """
        _refuse_read_policies(config)
        return self._renderer.files(config)

    def gaps(self, config: DeviceConfig) -> list[Finding]:
        """Return findings about parts of a configuration that the system cannot express (``Renderer.gaps``)."""
        return self._renderer.gaps(config)

    def lines(self, config: DeviceConfig) -> list[str]:
        """Return a line for each statement (``Renderer.lines``)."""
        return self._renderer.lines(config)

    def check_extra(self, text: str) -> None:
        """Check that the operator's own statements can be read (``Renderer.check_extra``)."""
        self._renderer.check_extra(text)

    @property
    def validators(self) -> Sequence[Validator]:
        """The external tools that validate the system's files: ``VALIDATOR`` of the module ``validator``. The result may be empty."""
        part = self.part("validator")
        return () if part is None else (cast("Validator", part.VALIDATOR),)

    def trees(self, config: DeviceConfig) -> dict[str, ConfigTree]:
        """Return the configuration of a device as trees for comparison, by file name.

        The result is empty if railweave cannot compare this system's files.
        """
        return self._answer("trees", {}, config)

    def configurations(self, config: DeviceConfig) -> list[str]:
        """Return the names of a device's configuration files, all of which are read together. Default: the file names of ``trees``."""
        return list(getattr(self._package, "configurations", self.trees)(config))

    def beneath(self, config: DeviceConfig) -> dict[str, str]:
        """Return the designed settings of the host on which the network operating system runs, by file name. Default: none.

        ``build`` does not write them as files; ``transaction`` sets them. Most systems need none, because their own files hold
        all settings.
        """
        return self._answer("beneath", {}, config)

    def lint(self, config: DeviceConfig) -> list[Finding]:
        """Return findings about mistakes that neither the types of ``DeviceConfig`` nor external validators detect. Default: none."""
        return self._answer("mistakes", [], config)

    def quoted(self, file: str, text: str) -> str:
        """Return a text, such as a secret, with the quotation marks that the system's files need. Default: only single words are accepted.

        Raises ``RenderError`` if the file cannot contain the text.
        """
        return self._package.quoted(file, text) if hasattr(self._package, "quoted") else plain_word(text)

    def daemons(self, config: DeviceConfig) -> frozenset[str] | None:
        """Return the FRRouting daemons that the switch starts with this configuration. The lab starts only these.

        None, the default, means all daemons that the configuration needs.
        """
        return self._answer("started_daemons", None, config)

    def by_hand(self, device: str) -> str:
        """Return a text for the operator of a device that railweave cannot change: the reason, and the files to load by hand."""
        return self._answer("by_hand", _BY_HAND.format(device), device)


_BY_HAND = "nothing here changes such a device: load the files of devices/{} that `railweave build` writes by hand"


def missing_parts(definition: Path, package: ModuleType) -> dict[str, str]:
    """Return the modules (names in ``PARTS``) that a system lacks on purpose, each with the reason from its ``system.yaml``.

    ``definition`` is the path of that file, ``package`` the system's Python package. Raises ``ImportError`` for:

    - a module that is neither in ``PARTS`` nor listed under ``modules:``, such as a misspelled name;
    - a missing module for which ``without:`` has no reason (``others`` is the reason for all modules not named);
    - an existing module for which ``without:`` has a reason;
    - a module of ``USED_BY_FUNCTION`` without its function, or the function without the module.
    """
    data: dict[str, Any] = packaged_yaml(packaged_text(definition))
    without: dict[str, str] = data.get("without") or {}
    folder, modules = definition.parent, data.get("modules") or ()
    check_known(
        folder,
        {*PARTS, *modules, definition.name, FORMS, ANSIBLE, ANSIBLE_LOAD},
        f"if it is no part of a system, name it in {definition.name} under `modules`",
    )
    there = modules_of(folder)
    others, named = without.pop(OTHERS, None), tuple(without)
    if clash := there.intersection(FUNCTIONS):
        raise ImportError(f"{folder}: {', '.join(sorted(clash))}: no module may have the name of a system's function")
    for name in modules:
        if name not in there:
            raise ImportError(f"{definition}: modules: there is no {name}{_hint(name, there)}")
    there |= {name for name in PARTS if hasattr(package, name)}
    for name in named:
        if name not in PARTS:
            raise ImportError(f"{definition}: without: a system has no part {name}{_hint(name, PARTS)}")
    for name, function in USED_BY_FUNCTION.items():
        if name in there and not hasattr(package, function):
            raise ImportError(f"{folder / name}: {package.__name__} has no function {function} that uses it")
    for name in PARTS:
        if name in named and (name in there or hasattr(package, USED_BY_FUNCTION.get(name, " "))):
            raise ImportError(f"{definition}: without: {name} is not missing")
        if name not in there and others:
            without.setdefault(name, others)
        if name not in without and name not in there:
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
    """Return the text unchanged if it is a single word on a command line without quotes. Raises ``RenderError`` if it is not."""
    bad = _NOT_IN_A_WORD.search(text)
    if bad is not None or not text:
        raise RenderError(f"it holds {bad[0]!r}, which would end the word" if bad else "it is empty")
    return text
