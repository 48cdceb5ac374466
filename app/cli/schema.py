"""``schema``: the JSON Schema of every document that a command prints on ``--json``."""

import json

import msgspec

from roofscope.app.cli.documents import AnyDocument
from roofscope.profiling.analysis.export import SCHEMA, SessionDocument


def command() -> None:
    """Print the JSON Schema of what --json prints.

    A document of a command names itself in its field "document"; that of export --json has no such field.
    """
    kinds, definitions = msgspec.json.schema_components([AnyDocument, SessionDocument])
    print(
        json.dumps(
            {
                "$schema": "https://json-schema.org/draft/2020-12/schema",
                "title": SCHEMA,
                "anyOf": list(kinds),
                "$defs": definitions,
            },
            indent=2,
        )
    )
