"""The networks of GPU servers for Kubernetes: NIC settings, node addresses, secondary networks and a test job (docs/export/kubernetes.md)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.model.device.host import host_config
from railweave.operations.exports import mpi_jobs, nic_templates, node_networks, pod_networks
from railweave.operations.exports.manifests import labels, node_names
from railweave.operations.exports.placement import placements

if TYPE_CHECKING:
    from railweave.model.network.model import Network


def files(network: Network) -> dict[str, str]:
    """Return the files for Kubernetes, by name. Raises ``InputError`` if Kubernetes would refuse a name."""
    places = placements(network)
    nodes = node_names(places)
    configs = {place.server: host_config(network, place.server) for place in places}
    rails = pod_networks.rails(places, nodes, configs)
    templates = nic_templates.text(network.name, places, configs)
    jobs = mpi_jobs.text(network.name, places, nodes, configs, labels(network, places), rails)
    return {
        **({"nic-configuration.yaml": templates} if templates else {}),
        **pod_networks.files(network.name, rails),
        "mpijob.yaml": jobs,
        **node_networks.files({nodes[place.server]: (configs[place.server], place.fabric) for place in places}),
    }
