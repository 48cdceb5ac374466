"""Where a trace comes from: a session that stores it, or a file of its own."""

from pathlib import Path

from msgspec import Struct

from roofscope.app.presentation.traces.exported import exported_json, exported_json_gz
from roofscope.profiling.results.chrome_trace import TraceError
from roofscope.profiling.results.session_reader import SessionError, load_trace
from roofscope.profiling.traces.columns import Trace
from roofscope.profiling.traces.source import Progress

_ENDINGS = (".json", ".json.gz", ".zip")


class TraceSource(Struct, frozen=True):
    """``number`` is of the trace in its session; None for a file that is a trace itself."""

    title: str
    path: Path
    number: int | None = None

    def read(self, progress: Progress | None = None) -> Trace:
        """For a thread. Raises TraceError or SessionError."""
        from roofscope.profiling.traces.reading import open_trace, read_trace_bytes  # not at the start

        if self.number is None:
            return open_trace(self.path, progress)
        return read_trace_bytes(load_trace(self.path, self.number), self.title, progress)

    def packed(self) -> bytes:
        """The Chrome trace for a file, gzip of its JSON. Raises TraceError or SessionError."""
        from roofscope.profiling.traces.saving import packed

        if self.number is None:
            return b"".join(packed([self.json_text()]))
        return exported_json_gz(self.path, self.number)

    def json_text(self) -> bytes:
        """The same, not packed."""
        from roofscope.profiling.traces.source import from_file

        if self.number is None:
            return from_file(self.path, lambda _: None).whole()
        return exported_json(self.path, self.number)


def is_trace_file(path: Path) -> bool:
    """By its name, as sessions and kernels are known when they are dropped."""
    return path.name.lower().endswith(_ENDINGS)


def read_or_say(source: TraceSource, progress: Progress | None = None) -> Trace | str:
    """The trace, or one sentence why there is none."""
    try:
        return source.read(progress)
    except (SessionError, TraceError) as error:
        return str(error)
    except OSError as error:
        return f"{source.path} cannot be read: {error.strerror or error}."
