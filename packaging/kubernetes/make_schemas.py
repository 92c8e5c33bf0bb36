#!/usr/bin/env python3
"""Writes the schemas of Kubernetes for kubeconform, from the OpenAPI file of the Go module k8s.io/kubernetes.

    packaging/kubernetes/make_schemas.py .../api/openapi-spec/swagger.json FOLDER

kubeconform downloads such schemas from a site that not every machine reaches. A property that no schema names is an
error, as with `kubeconform -strict`.
"""

import json
import sys
from pathlib import Path


def strict(schema):
    """Refuses unknown properties, and lets $ref point into this file."""
    if isinstance(schema, list):
        return [strict(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    changed = {key: strict(value) for key, value in schema.items() if key != "format"}
    if isinstance(changed.get("properties"), dict) and "additionalProperties" not in changed:
        changed["additionalProperties"] = False
    return changed


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    definitions = json.loads(Path(sys.argv[1]).read_text())["definitions"]
    folder = Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    checked = strict(definitions)
    for name in ("IntOrString", "Quantity"):
        for full in definitions:
            if full.endswith("." + name):
                checked[full] = {"type": ["string", "integer", "number"]}
    (folder / "_definitions.json").write_text(json.dumps({"definitions": checked}))
    for full, schema in definitions.items():
        for kind in schema.get("x-kubernetes-group-version-kind", []):
            group = kind["group"].split(".")[0]
            parts = [kind["kind"], group, kind["version"]] if group else [kind["kind"], kind["version"]]
            name = "-".join(parts).lower()
            (folder / f"{name}.json").write_text(json.dumps({"$ref": f"_definitions.json#/definitions/{full}"}))


if __name__ == "__main__":
    main()
