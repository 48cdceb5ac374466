"""A trace of a session as a file for others: with both ends of each arrow, else as it was recorded."""

import gzip
from pathlib import Path

from roofscope.profiling.results.chrome_trace import unpack
from roofscope.profiling.results.session_reader import load_trace

_LEVEL = 3  # of gzip: 128 MiB in half a second; the window waits for it


def exported_json(session: Path, number: int) -> bytes:
    """The Chrome trace's JSON text. Raises SessionError or TraceError."""
    return paired_json(load_trace(session, number))


def exported_json_gz(session: Path, number: int) -> bytes:
    """The same as gzip. Raises SessionError or TraceError."""
    return paired_json_gz(load_trace(session, number))


def paired_json(chrome_json_gz: bytes) -> bytes:
    """The JSON text of what a session stores. Raises TraceError."""
    from roofscope.profiling.traces.lone_flows import without_lone_flows  # numpy: not at the start

    return without_lone_flows(unpack(chrome_json_gz))


def paired_json_gz(chrome_json_gz: bytes) -> bytes:
    """The same as gzip. Raises TraceError."""
    return gzip.compress(paired_json(chrome_json_gz), _LEVEL, mtime=0)
