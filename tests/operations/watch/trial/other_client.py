"""Subscribes to a target of ``gnmi_target`` by pygnmi, and prints what came until it was in step, as one JSON object by path.

``python other_client.py PORT FOLDER USER PASSWORD``, by an interpreter that has pygnmi.
"""

from __future__ import annotations

import json
import sys

PATHS = ("/interfaces/interface/state/counters", "/qos/interfaces/interface/output/queues/queue/state")


def main() -> None:
    from pygnmi.client import gNMIclient  # pyright: ignore[reportMissingImports, reportUnknownVariableType]

    port, folder, user, password = sys.argv[1:]
    sampled = [{"path": one, "mode": "sample", "sample_interval": 10**9} for one in PATHS]
    wanted = {"subscription": sampled, "mode": "stream", "encoding": "proto"}
    options = {"path_root": f"{folder}/ca.pem", "override": "switch.example", "username": user, "password": password}
    found: dict[str, object] = {}
    with gNMIclient(target=("127.0.0.1", port), **options) as client:  # pyright: ignore[reportUnknownVariableType]
        for message in client.subscribe2(subscribe=wanted):  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
            updates = message.get("update", {}).get("update", [])  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
            found |= {one["path"]: one["val"] for one in updates}  # pyright: ignore[reportUnknownVariableType]
            if message.get("sync_response"):  # pyright: ignore[reportUnknownMemberType]
                break
    print(json.dumps(found))


if __name__ == "__main__":
    main()
