"""``schema``: the JSON Schema of every document that a command prints on ``--json``."""

import json

import msgspec

from roofscope.app.cli.documents import AnyDocument


def command() -> None:
    """Print the JSON Schema of what --json prints."""
    print(json.dumps(msgspec.json.schema(AnyDocument), indent=2))
