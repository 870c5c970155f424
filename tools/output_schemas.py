#!/usr/bin/env python3
"""Write the JSON Schemas of what verbs print with ``--json``, from recorded outputs: `railweave schema output VERB` prints them.

    tools/output_schemas.py RECORDED     a folder that `RAILWEAVE_RECORD_OUTPUTS=RECORDED make python-test` has filled

The commands of compare_answers.py, and some in a lab, are recorded there too, once. If a key that was always there is no longer there, the version of the
verb's schema goes up. Tests check every output that they print
against these schemas, so that what is here is not a guess: a key or type that the schema lacks fails the test that printed it.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from compare_answers import COMMANDS, inputs
from compare_outputs import called

from railweave.api.site_verbs import EXPORTS

ROOT = Path(__file__).parents[1]
FILE = ROOT / "src" / "railweave" / "api" / "output_schemas.json"
_FIELD = re.compile(r"[a-z][A-Za-z_]*(?:\d+[A-Za-z_]+)*")
"""The name of a field. Names of devices, files and ports, which end in a number or have other signs, are keys of a map."""
LEAST = 3
"""The number of values from which the type of a number or text is stated. A value that was seen once may have another type the next time."""
MOST_FIELDS = 60
SHARED = 0.2
"""The share of objects that a field is in at least, or it is a key of a map."""
MORE = """
host env --host-file earlier/host.json --sysfs sys --json
host check --list --json
host check --host-file earlier/host.json --json
host undo --dry-run --json
flows --topology no-such-shape --traffic permutation:bytes=1MB --json
export slurm h100-rlb.yaml -o slurm --json
export netbox h100-rlb.yaml -o netbox --json
inventory fill h100-rlb.yaml --json
"""
"""Commands whose outputs are recorded beside those of compare_answers.py."""
LAB = """
lab up lab.yaml --slice rails=1,spines=2 --json
lab access lab.yaml --json
lab test lab.yaml --json
lab fib lab.yaml -o fib.json --json
lab fault lab.yaml --fault 'link-down link=stripe1-leaf1:et-0/0/0:0--spine1:et-0/0/0:0 for=1s' --json
deploy drain lab.yaml spine2 --lab --force -o drain.json --json
deploy apply drain.json --lab --yes --json
deploy undrain lab.yaml spine2 --lab -o undrain.json --json
lab down lab.yaml --json
"""
"""Commands in a lab, which need root and FRR."""
PLANS = ["deploy plan", "deploy drain", "deploy undrain", "deploy replace", "deploy upgrade", "deploy rollback"]
"""Verbs that print a plan."""
INVENTORIES = ["inventory fill", "inventory from-netbox", "inventory from-nautobot"]
"""Verbs that print a filled inventory."""
REVISIONS = ["deploy apply", "deploy resume"]
"""Verbs that print a revision."""
Schema = dict[str, Any]


def kind(value: object) -> str:
    """Return the name of a value's type in JSON Schema."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int | float):
        return "number"
    return {str: "string", list: "array", dict: "object"}[type(value)]


def inferred(values: list[Any]) -> Schema:
    """Return the schema of the values that were seen at one place."""
    schema: Schema = {}
    kinds = sorted({kind(value) for value in values})
    scalar = not {"array", "object"} & set(kinds)
    if kinds and kinds != ["null"] and not (scalar and len(values) < LEAST):
        schema["type"] = kinds[0] if len(kinds) == 1 else kinds
    if items := [item for value in values if isinstance(value, list) for item in value]:
        schema["items"] = inferred(items)
    objects = [value for value in values if isinstance(value, dict)]
    keys = list(dict.fromkeys(key for value in objects for key in value))
    if not keys:
        return schema
    if is_map(objects, keys):
        return schema | {"additionalProperties": inferred([inner for value in objects for inner in value.values()])}
    properties = {key: inferred([value[key] for value in objects if key in value]) for key in keys}
    required = [key for key in keys if all(key in value for value in objects)]
    return schema | {"properties": properties} | ({"required": required} if required else {})


def is_map(objects: list[dict[str, Any]], keys: list[str]) -> bool:
    """Return True if the keys of objects are names of things, and False if they are fields."""
    if any(_FIELD.fullmatch(key) is None for key in keys) or len(keys) > MOST_FIELDS:
        return True
    filled = [value for value in objects if value]
    often = sum(len(value) for value in filled) / (len(keys) * len(filled))
    return len(keys) > 3 and often < SHARED


def broken(old: Schema, new: Schema) -> bool:
    """Return True if somebody who relies on the old schema would be misled: a required key of it is not required any more."""
    if set(old.get("required", ())) - set(new.get("required", ())):
        return True
    parts = [(old.get(key), new.get(key)) for key in ("items", "additionalProperties")]
    parts += [(value, new.get("properties", {}).get(key)) for key, value in old.get("properties", {}).items()]
    return any(broken(before, after or {}) for before, after in parts if before)


def recorded(folder: Path) -> dict[str, list[Any]]:
    """Return the outputs that tests have recorded, by verb."""
    outputs: dict[str, list[Any]] = {}
    for file in sorted(folder.glob("*.jsonl")):
        for line in file.read_text().splitlines():
            entry = json.loads(line)
            outputs.setdefault(entry["verb"], []).append(entry["output"])
    return outputs


def verb_of(words: list[str]) -> str:
    """Return the verb that a command line calls, with the name of its subcommand if it has some."""
    if words[0] in ("host", "flows"):
        return " ".join(words[: 1 + (words[0] == "host")])
    from typer.main import get_command

    from railweave.cli.app import app

    command, names = get_command(app), []
    for word in words:
        if not hasattr(command, "commands") or word not in command.commands:
            break
        command = command.commands[word]
        names.append(word)
    return " ".join(names)


def answered() -> dict[str, list[Any]]:
    """Return what the commands of compare_answers.py print, by verb; errors are under ``error``."""
    outputs: dict[str, list[Any]] = {}
    with tempfile.TemporaryDirectory(prefix="railweave-") as folder:
        inputs(Path(folder))
        shutil.copy(Path(folder) / "h100-rlb.yaml", Path(folder) / "lab.yaml")
        lab = "" if os.geteuid() else LAB
        for command in filter(None, (COMMANDS + MORE + lab).splitlines()):
            done = called(ROOT, shlex.split(command), Path(folder))
            try:
                output = json.loads(done.stdout)
            except ValueError:
                print(f"{command}: {done.returncode}: no JSON: {done.stderr.decode()[:300]}", file=sys.stderr)
                continue
            is_error = isinstance(output, dict) and "error" in output and done.returncode
            outputs.setdefault("error" if is_error else verb_of(shlex.split(command)), []).append(output)
    return outputs


def main() -> int:
    """Write the file."""
    folder = Path(sys.argv[1])
    answers = folder / "answers.jsonl"
    if not answers.exists():
        rows = [{"verb": verb, "output": output} for verb, outputs in answered().items() for output in outputs]
        answers.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    outputs = recorded(folder)
    for verbs in (PLANS, REVISIONS, INVENTORIES, [f"export {target}" for target in EXPORTS]):
        together = [value for verb in verbs for value in outputs.get(verb, ())]
        outputs |= {verb: together for verb in verbs if together}
    before = json.loads(FILE.read_text()) if FILE.exists() else {}
    if missing := sorted(before.keys() - outputs.keys()):
        sys.exit(f"nothing was recorded of {', '.join(missing)}")
    schemas: dict[str, Any] = {}
    for verb in sorted(outputs):
        old = before.get(verb, {"version": 1, "schema": {}})
        new = inferred(outputs[verb])
        version = old["version"] + broken(old["schema"], new)
        schemas[verb] = {"version": version, "schema": new}
        print(f"{verb}: version {version}, {len(outputs[verb])} outputs, {len(json.dumps(new)):,} bytes")
    FILE.write_text(json.dumps(schemas, indent=None, separators=(",", ":"), sort_keys=True) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
