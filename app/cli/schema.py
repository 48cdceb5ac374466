"""``schema``: the JSON Schema of every document that a command prints on ``--json``."""

import json
from typing import Annotated

import msgspec
import typer

from roofscope.app.cli.documents import AnyDocument
from roofscope.profiling.analysis.export import SCHEMA, SessionDocument


def command(
    request: Annotated[
        bool, typer.Option("--request", help="Of what `run --json-in` reads, instead.")
    ] = False,
) -> None:
    """Print the JSON Schema of what --json prints.

    A document of a command names itself in its field "document"; that of export --json has no such field.
    A command that did nothing prints the document "fault" with one sentence.
    """
    if request:
        from roofscope.app.cli.run_request import RunRequest

        print(json.dumps(msgspec.json.schema(RunRequest), indent=2))
        return
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
