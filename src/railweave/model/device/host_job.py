"""The environment variables of a collective job on a server.

Sources: for path colors, the RDMA load-balancing document, "Running the NCCL Job" and Table 11. For AMD GPUs, the Thor2
guide, section 8.7.2. Neither document sets a traffic class. Without a traffic class, data would leave with DSCP 0 and
miss the lossless queue. Both documents give the GID index as a fixed number, but the index can change. So railweave
looks it up when a job starts.
"""

from __future__ import annotations

import ipaddress
from functools import lru_cache
from typing import TYPE_CHECKING

from railweave.model.catalog import catalog
from railweave.model.catalog.rdma import PLUGIN
from railweave.model.device.host_model import HostAddress, HostNic, HostQos, Variable
from railweave.model.device.queue_pairs import queue_pairs

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from railweave.model.catalog.hardware import NicModel
    from railweave.model.config.addresses import Family
    from railweave.model.device.host_scope import HostScope
    from railweave.model.network.devices import Fabric
    from railweave.model.network.model import Job


def address_range(pools: Iterable[str], addresses: Iterable[HostAddress]) -> str:
    """Return the first pool that contains all addresses. If no pool does, return the longest prefix that contains them.

    The latter applies to layer-2 networks, and to servers whose link type differs from that of the fabric's other servers.
    """
    prefixes = list(dict.fromkeys(str(address.prefix) for address in addresses))
    networks = [_network(prefix) for prefix in prefixes]
    for pool in pools:
        whole = _network(pool)
        if all(_holds(whole, network) for network in networks):
            return pool
    around = networks[0]
    while not all(_holds(around, network) for network in networks):
        around = around.supernet()
    return str(around)


@lru_cache(maxsize=1 << 14)  # servers of a stripe share their prefixes
def _network(text: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network:
    return ipaddress.ip_network(text)


def _holds(
    whole: ipaddress.IPv4Network | ipaddress.IPv6Network, part: ipaddress.IPv4Network | ipaddress.IPv6Network
) -> bool:
    return (
        whole.version == part.version
        and whole.prefixlen <= part.prefixlen
        and int(part.network_address) >> (whole.max_prefixlen - whole.prefixlen)
        == int(whole.network_address) >> (whole.max_prefixlen - whole.prefixlen)
    )


PLUGIN_FOLDER = "/usr/local/lib"
AMD_MPI_FOLDER = "/opt/AMD/install/mpi"
"""The folder of Open MPI on servers with AMD GPUs (Thor2 guide, section 8.7.2)."""

TUNER_FILE = "/etc/railweave/tuner.json"
"""The path of railweave's table of collective algorithms on every server. The build has the same table as ``hosts/tuner.json``."""

LD = "LD_LIBRARY_PATH"


def job(scope: HostScope, nics: Sequence[HostNic], qos: Sequence[HostQos]) -> tuple[Variable, ...]:
    """Return the variables of a collective job, in the order in which they are written; () if no NIC has an address.

    ``scope`` holds the server and the parts of the network that affect it, and ``qos`` the QoS values of each of its fabrics.
    """
    used = [nic for nic in rdma_nics(nics) if nic.addresses]
    if not used:
        return ()
    fabric = scope.fabrics[used[0].fabric]
    if fabric.adapters:  # the ports of a NIC beside each other
        used.sort(key=lambda nic: (fabric.nic_number(nic.rail), nic.rail))
    wanted, library = scope.hosts.job, scope.library
    fabric_qos = next(candidate for candidate in qos if candidate.fabric == used[0].fabric)
    colored, own_plugin = _colored(used), uses_own_plugin(scope, used)
    plugged = colored or wanted.net_plugin is not None
    first = used_addresses(used[0], scope.families[used[0].fabric, used[0].tenant])
    family = first[0].address.family
    rails = [used_addresses(nic, wanted.address_family)[0] for nic in used]
    far = scope.long_haul.get(fabric_qos.fabric)
    variables = [
        *(_plugin(wanted, colored=colored) if plugged else []),
        *(Variable(name, *text) for name, text in queue_pairs(wanted, len(first) if colored else 0, far).items()),
        *_devices(used, fabric, exact=library == "NCCL"),
        *(_merged(library, own_plugin=own_plugin) if fabric.adapters else []),
        *_traffic_class(fabric_qos, by_color=bool(wanted.color_dscp) and own_plugin),
        *_addresses(wanted, address_range(fabric.pools_of(used[0].tenant), rails), ipv6=family == "ipv6"),
        *([] if plugged else [_gid_index("NCCL_IB_GID_INDEX", library)]),
        *(_rccl() if library == "RCCL" else []),
        *_sockets(wanted, colored=colored),
        *([_adaptive_routing()] if fabric_qos.adaptive_routing else []),
        *(_tuner(wanted) if own_plugin else []),
        *_ucx(used, fabric_qos),
        *_library_path(wanted, library, plugged=plugged),
    ]
    if library == "RCCL":
        variables = _of_model(variables, catalog().nics[used[0].model])
    return tuple(_changed(variables, wanted.environment))


def tenant_jobs(
    scope: HostScope, nics: Sequence[HostNic], qos: Sequence[HostQos]
) -> tuple[tuple[str, tuple[Variable, ...]], ...]:
    """Return (tenant, variables of its jobs) for each tenant, if the server's GPUs belong to several tenants; otherwise ().

    The variables make only the tenant's NICs and GPUs visible to its jobs. ``scope`` holds the server and the parts of the network that
    affect it, and ``qos`` the QoS values of each of its fabrics.
    """
    used = [nic for nic in rdma_nics(nics) if nic.addresses] if nics else []
    tenants = list(dict.fromkeys(nic.tenant for nic in used))
    if len(tenants) < 2:
        return ()
    visible = "ROCR_VISIBLE_DEVICES" if scope.library == "RCCL" else "CUDA_VISIBLE_DEVICES"
    jobs: list[tuple[str, tuple[Variable, ...]]] = []
    for tenant in tenants:
        tenant_nics = [nic for nic in used if nic.tenant == tenant]
        beside = {
            nic.gpu for nic in used if nic.gpu is not None
        }  # with fewer NICs than GPUs each has several beside it
        nearest = {
            gpu: max((near_gpu for near_gpu in beside if near_gpu <= gpu), default=0) for gpu in range(scope.gpus)
        }
        gpus = ",".join(str(gpu) for gpu in nearest if nearest[gpu] in {nic.gpu for nic in tenant_nics})
        mine = Variable(visible, gpus, "the GPUs of this tenant: those beside its NICs")
        jobs.append((tenant, (mine, *job(scope, tenant_nics, qos))))
    return tuple(jobs)


def rdma_nics(nics: Sequence[HostNic]) -> list[HostNic]:
    """Return the NICs that collectives use: those next to a GPU, or all NICs of the first fabric if no NIC is next to a GPU."""
    beside = [nic for nic in nics if nic.gpu is not None]
    return beside or [nic for nic in nics if nic.fabric == nics[0].fabric]


def used_addresses(nic: HostNic, family: Family | None) -> list[HostAddress]:
    """Return the addresses of a NIC that a job uses: all of the address family ``family``.

    If ``family`` is None, the family of the first address counts. If the NIC has no address of the family, return all addresses.
    """
    wanted = family or nic.addresses[0].address.family
    return [address for address in nic.addresses if address.address.family == wanted] or list(nic.addresses)


def uses_own_plugin(scope: HostScope, nics: Sequence[HostNic]) -> bool:
    """Return True if jobs load railweave's NCCL net plugin and tuner.

    They do if the server (``scope``) uses NCCL, the design has path colors, and the fabric file names no other net plugin.
    """
    return _colored(nics) and scope.library == "NCCL" and scope.hosts.job.net_plugin in {None, PLUGIN}


def _colored(nics: Sequence[HostNic]) -> bool:
    """Return True if the NICs have one address per path color."""
    return any(address.color is not None for address in nics[0].addresses)


def mpi_folder(wanted: Job, gpu_vendor: str) -> str | None:
    """Return the folder of Open MPI on the servers. Return None if Open MPI is found through PATH.

    This is the folder in the fabric file's job settings (``wanted``). If they name none, servers with AMD GPUs have a default folder.
    """
    return wanted.mpi_folder or (AMD_MPI_FOLDER if gpu_vendor == "AMD" else None)


def _plugin(wanted: Job, *, colored: bool) -> list[Variable]:
    """Return the variables by which the library loads the net plugin, and stops if railweave's own cannot start.

    NCCL chooses its device-initiated transports (GIN, RMA) without regard to NCCL_NET (NCCL 2.30, ``plugin/gin.cc``).
    """
    name = wanted.net_plugin or PLUGIN
    why = (
        "gives each queue pair a path color" if colored else "spreads queue pairs over equal paths by their flow labels"
    )
    variables = [Variable("NCCL_NET_PLUGIN", name, f"the net plug-in that {why}")]
    if name == PLUGIN:
        why = (
            "a server on which the plug-in cannot start stops the job: else its own transport would be used in silence"
        )
        variables.append(Variable("NCCL_NET", PLUGIN, why))
    return variables


def _tuner(wanted: Job) -> list[Variable]:
    """Return the variables that tell railweave's plugin which table of algorithms to use.

    ``wanted`` holds the job settings of the fabric file. The variable with the table's path is always set. If the fabric file
    asks for it (``tuner``), a second variable makes NCCL follow the table.
    """
    variables = [
        Variable("RAILWEAVE_NET_TUNER_FILE", TUNER_FILE, "the plug-in's table of algorithms, the same on all servers")
    ]
    if wanted.tuner:
        variables.append(Variable("RAILWEAVE_NET_TUNER", "1", "NCCL chooses by that table"))
    return variables


def _devices(nics: Sequence[HostNic], fabric: Fabric, *, exact: bool) -> list[Variable]:
    names = _device_list(nics)
    beside = any(nic.gpu is not None for nic in nics)
    whose = "the NICs beside GPUs" if beside else f"the NICs of fabric {fabric.name}, for no NIC is beside a GPU"
    if exact and fabric.adapters:
        places = [f":{fabric.nic_number(nic.rail) - 1}:{(nic.rail - 1) // fabric.adapters}" for nic in nics]
        names = ",".join(f"{nic.rdma}:{nic.rdma_port}{place}" for nic, place in zip(nics, places, strict=True))
        why = f"the ports of {whose}, by exact names (=), each with its rail and its plane, which NCCL 2.30 and newer read"
        return [Variable("NCCL_IB_HCA", f"={names}", why)]
    if not exact:
        return [Variable("NCCL_IB_HCA", names, f"{whose}, in the order of the GPUs" if beside else whose)]
    return [
        Variable(
            "NCCL_IB_HCA",
            f"={names}",
            f"{whose}; the leading = matches whole names, as mlx5_1 would match mlx5_10 too",
        )
    ]


def _merged(library: str, *, own_plugin: bool) -> list[Variable]:
    """Return the variables that let the library treat all ports of a NIC as one device.

    Sources: NCCL 2.20 (``NCCL_IB_MERGE_NICS``) and 2.24 (``NCCL_NET_MERGE_LEVEL``). ``own_plugin`` is True if jobs load
    railweave's plugin, which needs no port failover of NCCL.
    """
    variables = [
        Variable(
            "NCCL_IB_MERGE_NICS", "1", "the ports of a NIC are one device, over whose planes every message is split"
        ),
        Variable("NCCL_NET_MERGE_LEVEL", "PORT", "ports of one NIC are merged, and nothing that is further apart"),
    ]
    if library == "NCCL" and not own_plugin:
        variables += [
            Variable(
                "NCCL_IB_RESILIENCY_PORT_FAILOVER",
                "1",
                "a plane that dies leaves its share to the others rather than end the job (NCCL 2.29 and newer; off by default)",
            ),
            Variable(
                "NCCL_IB_RESILIENCY_PORT_RECOVERY",
                "1",
                "and takes it back when it is there again (NCCL 2.30 and newer)",
            ),
        ]
    return variables


def _device_list(nics: Sequence[HostNic]) -> str:
    return ",".join(f"{nic.rdma}:{nic.rdma_port}" for nic in nics)


def _traffic_class(qos: HostQos, *, by_color: bool) -> list[Variable]:
    """Return the variables that set the traffic class of RDMA data and of clear-to-send messages, from the fabric's ``qos``.

    If path colors have their own traffic classes (``by_color``), the plug-in reads the class of data from host.json. The variable for
    the class of data is then left out.
    """
    data = f"DSCP {qos.dscp} x 4 + ECT(0): the class of RDMA data on the switches; the library's own default is 0"
    clear = "the class of clear-to-send messages and acknowledgements"
    variables = [] if by_color else [Variable("NCCL_IB_TC", str(qos.traffic_class), data)]
    if qos.clear_to_send_traffic_class is not None:
        variables.append(Variable("NCCL_IB_FIFO_TC", str(qos.clear_to_send_traffic_class), clear))
    return variables


def _addresses(wanted: Job, pool: str, *, ipv6: bool) -> list[Variable]:
    family = "AF_INET6" if ipv6 else "AF_INET"
    return [
        Variable("NCCL_IB_ROCE_VERSION_NUM", "2", "RoCE v2 GIDs: the fabric routes"),
        Variable("NCCL_IB_ADDR_FAMILY", family, "GIDs of the fabric's address family; the default is AF_INET"),
        Variable("NCCL_IB_ADDR_RANGE", pool, "and of its addresses only, where the library takes GIDs by value"),
        Variable("NCCL_SOCKET_FAMILY", wanted.socket_family or family, "address family of the bootstrap connections"),
    ]


def _gid_index(name: str, who: str) -> Variable:
    return Variable(name, "", f"{who} takes GIDs by index, and indexes change: found when a job starts", resolve=True)


def _sockets(wanted: Job, *, colored: bool) -> list[Variable]:
    variables: list[Variable] = []
    if colored:
        variables.append(Variable("NCCL_SOCKET_NTHREADS", "8", "threads per socket, as the source has it"))
    if wanted.socket_interface:
        variables.append(
            Variable("NCCL_SOCKET_IFNAME", wanted.socket_interface, "interface of the bootstrap connections")
        )
    return variables


def _adaptive_routing() -> Variable:
    return Variable(
        "NCCL_IB_ADAPTIVE_ROUTING",
        "1",
        "the fabric sprays packets: bulk data in writes that may arrive in any order; off by default on RoCE",
    )


def _of_model(variables: Iterable[Variable], model: NicModel) -> list[Variable]:
    """Return ``variables``, changed to the values that the NIC vendor documents for this model.

    Variables that only the vendor's documents name are added at the end.
    """
    overrides = {setting.name: Variable(setting.name, setting.value, setting.why) for setting in model.rccl}
    return [*(overrides.pop(variable.name, variable) for variable in variables), *overrides.values()]


def _rccl() -> list[Variable]:
    """Return the RCCL variables of the Thor2 guide, section 8.7.2. Their meanings are from the NCCL and RCCL documentation.

    The catalog (``rccl`` of a NIC model) overrides the values that depend on the NIC model.
    """
    return [
        Variable("NCCL_IB_DISABLE", "0", "RDMA, not sockets"),
        Variable("NCCL_NET_GDR_LEVEL", "SYS", "NIC to GPU memory directly, wherever in the server the two are"),
        Variable("NCCL_NET_GDR_READ", "1", "sends read GPU memory directly, too"),
        Variable("NCCL_P2P_LEVEL", "SYS", "GPU to GPU directly (XGMI), wherever in the server they are"),
        Variable("NCCL_SHM_DISABLE", "1", "no detour by host memory between GPUs of a server"),
        Variable("NCCL_IB_PCI_RELAXED_ORDERING", "1", "PCIe relaxed ordering is required, not tried"),
        Variable("HSA_FORCE_FINE_GRAIN_PCIE", "1", "GPU memory that NICs write is coherent at fine grain"),
        Variable("NCCL_DMABUF_ENABLE", "0", "GPU memory is registered by peer memory, not as a dma-buf"),
        Variable("NCCL_MIN_NCHANNELS", "32", "enough channels to fill eight NICs"),
    ]


def _ucx(nics: Sequence[HostNic], qos: HostQos) -> list[Variable]:
    return [
        Variable("UCX_NET_DEVICES", _device_list(nics), "Open MPI's own messages by the same NICs"),
        Variable("UCX_IB_TRAFFIC_CLASS", str(qos.traffic_class), "and in the same class"),
        _gid_index("UCX_IB_GID_INDEX", "UCX"),
    ]


def _library_path(wanted: Job, library: str, *, plugged: bool) -> list[Variable]:
    mpi = mpi_folder(wanted, "AMD" if library == "RCCL" else "NVIDIA")
    folders: list[tuple[str, str]] = []
    if plugged or wanted.library_folder:
        folders.append((wanted.library_folder or PLUGIN_FOLDER, "the net plug-in"))
    if mpi:
        folders.append((f"{mpi}/lib", "Open MPI"))
    if not folders:
        return []
    value = ":".join([f"${LD}", *(folder for folder, _ in folders)])
    return [Variable(LD, value, "libraries of " + " and of ".join(content for _, content in folders))]


def _changed(variables: Iterable[Variable], changes: dict[str, str | int | None]) -> Iterable[Variable]:
    """Yield the variables with the changes that the fabric file asks for.

    ``changes`` holds the new value by variable name. The value None removes the variable. Variables that are new come last.
    """
    given = {name: str(value) for name, value in changes.items() if value is not None}
    why = "the fabric file says so (hosts.job.environment)"
    for variable in variables:
        if variable.name not in changes:
            yield variable
        elif variable.name in given:
            yield Variable(variable.name, given.pop(variable.name), why)
    for name, value in given.items():
        yield Variable(name, value, why)
