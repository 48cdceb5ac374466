"""How long a process waited for a core, which tells a slow call from one beside other work.

A thread that is ready to run and has no core waits: another program has it, or, in a virtual machine, another
machine. Linux counts both. Elsewhere only the number of involuntary context switches is known.
"""

import os
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from pathlib import Path

MOST_WAITED = 0.01  # of a slice: more is other work's doing
_SWITCH_S = 1e-3  # that an involuntary switch is taken to cost where waits are not counted
_PROC = Path("/proc")

ReadWaits = Callable[[], float]


@contextmanager
def waits(*processes: int, proc: Path = _PROC) -> Generator[ReadWaits]:
    """A reader of the seconds that the threads there are now have waited, for some milliseconds of work.

    Of this process where none is named. Its files stay open meanwhile, because it is read between slices of a
    millisecond.
    """
    files: list[int] = []
    try:
        for process in processes or ("self",):
            with suppress(OSError):  # not Linux, or it has ended
                for thread in (proc / str(process) / "task").iterdir():
                    with suppress(OSError):  # one that has just ended
                        files.append(os.open(thread / "schedstat", os.O_RDONLY))
        if not files:
            yield _switches_s
            return
        with suppress(OSError):
            files.append(os.open(proc / "stat", os.O_RDONLY))
        yield lambda: sum(map(_waited_s, files))
    finally:
        for file in files:
            os.close(file)


def waited_until_now_s() -> float:
    """Seconds that all threads of this process have waited so far, for comparison over a longer time."""
    with waits() as read:
        return read()


def _waited_s(file: int) -> float:
    """Of a thread, ``schedstat``: nanoseconds run, nanoseconds waited, slices. Of the CPUs, ``stat``."""
    try:
        fields = os.pread(file, 256, 0).split()
    except OSError:  # the thread has ended
        return 0.0
    if fields[0] == b"cpu":  # user nice system idle iowait irq softirq steal, in ticks of all CPUs
        return int(fields[8]) / os.sysconf("SC_CLK_TCK")
    return int(fields[1]) * 1e-9


def _switches_s() -> float:
    """On macOS and other systems with getrusage; 0 where that is not there either."""
    try:
        import resource
    except ImportError:  # Windows
        return 0.0
    return resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw * _SWITCH_S
