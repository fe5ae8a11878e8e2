"""Checks dashboards with the model of Grafana: reads them, and prints every value that the model does not keep."""

import json
import sys

from grafana_foundation_sdk.cog import plugins
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.dashboard import Dashboard


def list_differences(source, kept, path):
    if isinstance(source, dict):
        for key, value in source.items():
            if isinstance(kept, dict) and key in kept:
                yield from list_differences(value, kept[key], f"{path}.{key}")
            else:
                yield f"{path}.{key} is unknown"
    elif isinstance(source, list):
        if not isinstance(kept, list) or len(kept) != len(source):
            yield f"{path} is not a list of the model"
        else:
            for index, value in enumerate(source):
                yield from list_differences(value, kept[index], f"{path}[{index}]")
    elif source != kept or type(source) is not type(kept):
        yield f"{path} is {source!r}, not {kept!r}"


plugins.register_default_plugins()
problems = []
for file in sys.argv[1:]:
    with open(file, encoding="utf-8") as stream:
        source = json.load(stream)
    kept = json.loads(JSONEncoder().encode(Dashboard.from_json(source)))
    problems += [f"{file}: {problem}" for problem in list_differences(source, kept, "dashboard")]
print("\n".join(problems))
sys.exit(1 if problems else 0)
