"""What every document that ``--json`` prints begins with."""

from msgspec import Struct

from roofscope import __version__
from roofscope.profiling.analysis.export import SCHEMA, Schema


class Document(Struct, frozen=True, kw_only=True, tag_field="document"):
    """What every document begins with."""

    schema: Schema = SCHEMA
    roofscope_version: str = __version__
