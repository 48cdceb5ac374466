"""One child of a debug run: it is heard while it runs, ends at its deadline or a Stop, and leaves nothing."""

import os
import selectors
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from enum import StrEnum

import msgspec
from msgspec import Struct

from roofscope.profiling.decoding import UnreadableError, decode
from roofscope.profiling.paths import module_command
from roofscope.profiling.planning.debug_question import DebugQuestion
from roofscope.profiling.process_tree import end_tree
from roofscope.profiling.results.debugging import Said

_CHILD = "roofscope.profiling.worker.debug"
_LOOK_S = 0.1  # between two looks at the Stop button
_PIECE = 1 << 16
_MOST_LINE = 1 << 26  # bytes of one message: a map and what was seen


class EndedBy(StrEnum):
    ITSELF = "itself"
    DEADLINE = "deadline"
    STOP = "stop"
    SIGNAL = "signal"


class ChildEnd(Struct, frozen=True):
    how: EndedBy
    words: str = ""  # such as ``by signal SIGSEGV``


def run_child(
    question: DebugQuestion, hear: Callable[[Said], None], is_stopped: Callable[[], bool], within_s: float
) -> ChildEnd:
    """Ask, and hear what it says, line by line. Raises OSError where no process can be started."""
    with tempfile.TemporaryFile() as asked:
        asked.write(msgspec.json.encode(question))
        asked.seek(0)
        with subprocess.Popen(
            module_command(_CHILD),
            stdin=asked,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        ) as child:
            try:
                how = _heard(child, hear, is_stopped, time.monotonic() + within_s)
                if how is EndedBy.ITSELF:
                    child.wait()
            finally:
                end_tree(child.pid)
    if how is not EndedBy.ITSELF:
        return ChildEnd(how)
    code = child.returncode
    if code < 0:
        return ChildEnd(EndedBy.SIGNAL, f"by signal {_signal_name(-code)}")
    return ChildEnd(how, f"with exit code {code}" if code else "")


def _heard(
    child: subprocess.Popen[bytes],
    hear: Callable[[Said], None],
    is_stopped: Callable[[], bool],
    until: float,
) -> EndedBy:
    """Until it closes its output, or is not waited for any longer."""
    assert child.stdout
    rest = b""
    with selectors.DefaultSelector() as selector:
        selector.register(child.stdout, selectors.EVENT_READ)
        while True:
            if is_stopped():
                return EndedBy.STOP
            if time.monotonic() > until:
                return EndedBy.DEADLINE
            if not selector.select(_LOOK_S):
                continue
            piece = os.read(child.stdout.fileno(), _PIECE)
            if not piece:
                return EndedBy.ITSELF
            whole, _, rest = (rest + piece).rpartition(b"\n")
            rest = rest[-_MOST_LINE:]
            for line in whole.splitlines():
                with suppress(UnreadableError):  # nothing but our own child writes there
                    hear(decode(line, Said))


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return str(number)
