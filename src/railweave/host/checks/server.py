"""The server to check: the machine, the requirements from ``host.json``, and the function that runs checks."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from ..failure import HostInputError
from ..machine import CannotTellError
from . import counters, gpus, job, link, log, modules, network, nics, pcie, qos, rdma, second_files, system
from .outcome import ALL, FAILED, NOT_SEEN, Check, Outcome, not_applicable, not_seen

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from ..host_file import HostFile, Nic
    from ..machine import Machine


class LosslessClass(NamedTuple):
    """A lossless class other than RDMA data. ``ecn`` is True if switches mark its packets.

    ``bandwidth_percent`` is the share of the NIC's bandwidth that the class has.
    """

    dscp: tuple[int, ...]
    priority: int
    ecn: bool
    bandwidth_percent: int


@dataclass(frozen=True)
class Traffic:
    """The QoS values on which a fabric's NICs and switches must agree: DSCP values, priorities, and their treatment.

    The first fields are about RDMA data, and ``cnp_dscp`` and ``cnp_priority`` about congestion notification packets. ``others``
    has the other lossless classes by name; ``other_dscp`` has further DSCPs of RDMA data.
    """

    dscp: int
    priority: int
    traffic_class: int
    lossless: bool
    ecn: bool
    bandwidth_percent: int
    adaptive_routing: bool
    cnp_dscp: int
    cnp_priority: int
    others: Mapping[str, LosslessClass] = field(default_factory=dict[str, LosslessClass])
    other_dscp: tuple[int, ...] = ()

    @property
    def paused(self) -> frozenset[int]:
        """The priorities for which switches send pause frames."""
        return frozenset(
            (*((self.priority,) if self.lossless else ()), *(other.priority for other in self.others.values()))
        )

    @property
    def slows_down(self) -> bool:
        """True if congestion control of the whole NIC is on, because switches mark RDMA data or another lossless class."""
        return self.ecn or any(other.ecn for other in self.others.values())


@dataclass(frozen=True)
class WantedNic:
    """A planned NIC.

    - ``key``: the NIC's place in host.json, such as ``nics[0]``.
    - ``plan``: the NIC's names, addresses and GPU.
    - ``leaf_port_names``: other names by which the leaf may announce its port.
    - ``optic``, ``wavelength_nm``: the planned module, and the shortest and the longest wavelength that it may send.
    - ``slaac``: True if addresses come from router advertisements.
    - ``flash``: the planned settings in the NIC's flash, by name. ``flash_per_function``: the names of the settings of which each PCI
      function has its own copy.
    - ``traffic``: the planned QoS; None if the NIC's fabric has none.
    """

    key: str
    plan: Nic
    model: str
    driver: str
    rail: int
    leaf: str
    leaf_port: str
    leaf_port_names: tuple[str, ...]
    speed_gbps: int
    cable_m: int
    optic: str
    wavelength_nm: tuple[float, ...]
    slaac: bool
    flash: Mapping[str, str]
    flash_per_function: tuple[str, ...]
    traffic: Traffic | None

    @property
    def netdev(self) -> str:
        """The NIC's Linux interface."""
        return self.plan.netdev

    @property
    def rdma(self) -> str:
        """The NIC's RDMA device."""
        return self.plan.rdma

    @property
    def mlx5(self) -> bool:
        """True if the NIC is of NVIDIA's family."""
        return self.driver == "mlx5_core"

    @property
    def bnxt(self) -> bool:
        """True if the NIC is of Broadcom's family."""
        return self.driver == "bnxt_en"


@dataclass(frozen=True)
class Counters:
    """The counters of an earlier run, by NIC and counter name, and the time of that run in seconds since 1970."""

    time: float
    nics: Mapping[str, Mapping[str, int]]


@dataclass(frozen=True)
class Server:
    """A server to check: the machine, and the planned values with which checks compare it.

    - ``sysctl``: the planned kernel parameters that can be set while the kernel runs. ``command_line``: those of the kernel command line.
    - ``versions``: the planned versions, by software.
    - ``library``: the collective library, ``NCCL`` or ``RCCL``. ``environment``: the planned variables of jobs.
    - ``advertisements_by``: the program that forms addresses from router advertisements, ``networkd`` or ``kernel``.
    - ``driver_files``: the planned settings in configuration files of drivers, by path and name.
    - ``earlier``: the counters of an earlier run to compare with; None without such a run.
    """

    machine: Machine
    plan: HostFile
    nics: tuple[WantedNic, ...]
    gpus: int
    gpu_vendor: str
    sysctl: Mapping[str, str]
    command_line: tuple[str, ...]
    versions: Mapping[str, Any]
    library: str
    environment: Mapping[str, str]
    advertisements_by: str
    driver_files: Mapping[str, Mapping[str, str]]
    earlier: Counters | None = None
    memory_gib: int = 0
    """The memory of the server's model in GiB; 0 if it is not known."""
    domain_gpus: int = 0
    """The number of GPUs of a full NVLink domain; 0 if NVLink ends at the server."""
    generic: bool = False
    """True if there is no design. ``discovery`` then derives the requirements from the machine itself."""

    def origin(self, place: str, without: str) -> str:
        """Return the source of a wanted value, such as ``host.json nics[0].mtu``, or ``without`` if there is no design.

        ``place`` is the value's place in host.json.
        """
        return without if self.generic else f"host.json {place}"


def server(machine: Machine, plan: HostFile, document: Mapping[str, Any], earlier: Counters | None = None) -> Server:
    """Return the server that a ``host.json`` describes.

    ``plan`` is the validated file, and ``document`` its JSON content. ``earlier`` has the counters of an earlier run to compare with.
    Raises HostInputError if a value that checks use has the wrong type.
    """
    top = _Values(document, str(plan.file))
    fabrics = {name: _traffic(fabric) for name, fabric in top.objects("fabrics").items()}
    nics = tuple(
        _nic(f"nics[{i}]", nic, values, fabrics.get(nic.fabric))
        for i, (nic, values) in enumerate(zip(plan.nics, top.list("nics")))
    )
    gpu = top.objects("gpu", wrap=False)["gpu"]
    return Server(
        machine,
        plan,
        nics,
        gpu.number("count"),
        gpu.text("vendor"),
        {name: str(value) for name, value in top.mapping("sysctl").items()},
        tuple(str(word) for word in document.get("kernel_command_line") or ()),
        top.mapping("versions"),
        _Values(top.mapping("job"), top.where).text("library"),
        plan.environment,
        top.text("router_advertisements"),
        {
            path: {key: str(value) for key, value in driver_file.value.items()}
            for path, driver_file in top.objects("driver_files").items()
        },
        earlier,
        top.number("memory_gib"),
        gpu.number("domain"),
    )


class _Values:
    """A reader of the values of one object in ``host.json``. Absent values are empty; a value of the wrong type raises an error."""

    def __init__(self, value: Mapping[str, Any], where: str) -> None:
        self.value = value
        self.where = where

    def text(self, key: str) -> str:
        return cast("str", self._get(key, str, ""))

    def number(self, key: str) -> int:
        return cast("int", self._get(key, int, 0))

    def flag(self, key: str) -> bool:
        return cast("bool", self._get(key, bool, False))

    def mapping(self, key: str) -> Mapping[str, Any]:
        return cast("Mapping[str, Any]", self._get(key, dict, {}))

    def numbers(self, key: str) -> tuple[int, ...]:
        values = self._get(key, list, [])
        if not all(type(number) is int for number in values):
            raise HostInputError(f"{self.where}: {key} is not a list of numbers")
        return tuple(values)

    def wavelengths(self, key: str) -> tuple[float, ...]:
        values = self._get(key, list, [])
        if values and not (len(values) == 2 and all(type(number) in {int, float} for number in values)):
            raise HostInputError(f"{self.where}: {key} is not a pair of numbers")
        return tuple(float(number) for number in values)

    def texts(self, key: str) -> tuple[str, ...]:
        return tuple(str(text) for text in self._get(key, list, []))

    def list(self, key: str) -> list[_Values]:
        return [_Values(mapping, f"{self.where}: {key}[{i}]") for i, mapping in enumerate(self._get(key, list, []))]

    def objects(self, key: str, *, wrap: bool = True) -> dict[str, _Values]:
        mappings = self.mapping(key) if wrap else {key: self.mapping(key)}
        return {
            name: _Values(cast("Mapping[str, Any]", mapping), f"{self.where}: {key}.{name}")
            for name, mapping in mappings.items()
        }

    def _get(self, key: str, kind: type, default: object) -> Any:  # noqa: ANN401 - JSON
        value = self.value.get(key, default)
        if value is None:
            return default
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            raise HostInputError(f"{self.where}: {key} is not of the kind {kind.__name__}")
        return value


def _traffic(fabric: _Values) -> Traffic:
    roce, cnp = (_Values(fabric.mapping(section), f"{fabric.where}.{section}") for section in ("roce", "cnp"))
    return Traffic(
        roce.number("dscp"),
        roce.number("priority"),
        roce.number("traffic_class"),
        roce.flag("lossless"),
        roce.flag("ecn"),
        roce.number("bandwidth_percent"),
        roce.flag("adaptive_routing"),
        cnp.number("dscp"),
        cnp.number("priority"),
        {
            name: LosslessClass(
                lossless_class.numbers("dscp"),
                lossless_class.number("priority"),
                lossless_class.flag("ecn"),
                lossless_class.number("bandwidth_percent"),
            )
            for name, lossless_class in fabric.objects("other_lossless").items()
        },
        roce.numbers("other_dscp"),
    )


def _nic(key: str, plan: Nic, values: _Values, traffic: Traffic | None) -> WantedNic:
    return WantedNic(
        key,
        plan,
        values.text("model"),
        values.text("driver"),
        values.number("rail"),
        values.text("leaf"),
        values.text("leaf_port"),
        values.texts("leaf_port_names"),
        values.number("speed_gbps"),
        values.number("cable_m"),
        values.text("optic"),
        values.wavelengths("wavelength_nm"),
        values.flag("slaac"),
        {name: str(value) for name, value in values.mapping("firmware").items()},
        values.texts("firmware_per_function"),
        traffic,
    )


_AT_ONCE = 16
_MODULES = (nics, modules, link, pcie, rdma, network, second_files, qos, gpus, system, job, log, counters)
"""The modules that define checks, in report order."""


@dataclass(frozen=True)
class Result:
    """The outcome of one check on the server, a NIC or a GPU."""

    check: Check
    outcome: Outcome


def chosen(only: Iterable[str], option: str = "--only") -> list[Check]:
    """Return the checks whose IDs or subjects are in ``only``, or all checks if ``only`` is empty.

    Raises HostInputError for an unknown name. ``option`` is the command-line option that the error names.
    """
    wanted = list(only)
    subjects = list(dict.fromkeys(module.__name__.rpartition(".")[2] for module in _MODULES))
    for name in wanted:
        if name not in ALL and name not in subjects:
            raise HostInputError(
                f"{option} {name}: no such check; subjects are {', '.join(subjects)}; ids are in docs/checks.md"
            )
    inside = sorted(ALL.values(), key=lambda check: subjects.index(check.subject))
    return [check for check in inside if not wanted or check.id in wanted or check.subject in wanted]


def run(server: Server, checks: Iterable[Check]) -> list[Result]:
    """Run checks and return the results in order. A check that could not read a value does not stop the other checks.

    Checks of an absent NIC have the outcome "not seen". They are left out if ``nic-present`` is run too, because that check fails for the
    NIC. A check that yields no outcome is reported as not applicable.
    """
    checks = [check for check in checks if not (server.generic and check.design)]
    there = set(server.machine.names("/sys/class/net"))
    absence_reported = any(check.id == "nic-present" for check in checks)
    tasks: list[tuple[Check, WantedNic | None]] = []
    for check in checks:
        if check.per_nic:
            tasks += [(check, nic) for nic in server.nics if nic.netdev in there or not absence_reported]
        else:
            tasks.append((check, None))
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        parts = [pool.submit(_one, server, check, nic) for check, nic in tasks]
        results = [result for part in parts for result in part.result()]
    looked = {result.check.id for result in results}
    return results + [
        Result(check, not_applicable("the server has nothing that this check is about"))
        for check in checks
        if check.id not in looked
    ]


def _one(server: Server, check: Check, nic: WantedNic | None) -> list[Result]:
    of = nic.netdev if nic else ""
    arguments = (server, nic) if nic else (server,)
    outcomes: list[Outcome] = []
    if nic is not None and nic.netdev not in server.machine.names("/sys/class/net"):
        return [Result(check, not_seen(f"there is no network device {of}", of))]
    try:
        why = check.unless(*arguments) if check.unless else ""
        outcomes.extend([not_applicable(why)] if why else check.look(*arguments))
    except CannotTellError as error:
        outcomes.append(not_seen(str(error)))
    except (KeyError, ValueError, TypeError, IndexError, AttributeError) as error:
        # A tool that answers in a form nobody has seen must not end the other checks.
        outcomes.append(not_seen(f"its answer is not understood ({type(error).__name__}: {error})"))
    return [Result(check, Outcome(o.verdict, o.seen, o.wanted, o.origin, o.remedy, o.of or of)) for o in outcomes]


def exit_code(results: Iterable[Result], allowed: Collection[str] | None = ()) -> int:
    """Return the exit code for the results of checks: 1 if any check failed, or if the values of any check could not be read; otherwise 0.

    ``allowed`` has the ids and subjects of the checks whose values need not be readable; None means all checks.
    """
    bad = (
        result.outcome.verdict == FAILED
        or (
            result.outcome.verdict == NOT_SEEN
            and allowed is not None
            and result.check.id not in allowed
            and result.check.subject not in allowed
        )
        for result in results
    )
    return 1 if any(bad) else 0


def counted(results: Iterable[Result]) -> dict[str, int]:
    """Return the number of results by verdict."""
    counts: dict[str, int] = {}
    for result in results:
        counts[result.outcome.verdict] = counts.get(result.outcome.verdict, 0) + 1
    return counts
