"""Which process a job's implementations run in: one of their own, or that of the job before.

A process pays for a context on the GPU, and each compiler in it for its first work: some three seconds a job.
One in which only kernels of the program's own library have run, without any trouble, serves the next job of
the library, too. It rests while jobs run that leave much behind, such as graphs that torch.compile replays:
these have processes of their own. What a user brings along finds no process beside its own.
"""

from functools import partial
from pathlib import Path

from roofscope.profiling.paths import LIBRARY
from roofscope.profiling.process_tree import children_of
from roofscope.profiling.worker.candidate.compilers import Compiler
from roofscope.profiling.worker.candidate.fork_server import ForkServer
from roofscope.profiling.worker.job.candidate_process import Connect, ForkedProcess


class Processes:
    """Candidates' processes of one worker, of which one at most rests between two jobs."""

    def __init__(self, server: ForkServer) -> None:
        self._server = server
        self._resting: tuple[ForkedProcess, Compiler, str] | None = None

    def connect(self, folder: Path | None, device: str, *, leaves_much: bool = False) -> Connect:
        """How a job gets a process for the kernel of this folder; None has one of its own.

        One that ``leaves_much`` in its process has its own, too. It is our library's, so another one may
        rest meanwhile, idle and with empty hands, for the job behind it.
        """
        if folder is None or folder.parent != LIBRARY:
            return self._new
        if leaves_much:
            return partial(ForkedProcess, self._server)
        return partial(self._rested, device=device)

    def end_resting(self) -> None:
        """For what must find the device empty, or files that may have changed."""
        if self._resting:
            self._resting[0].end()
            self._resting = None

    def _new(self, compilers: Compiler) -> ForkedProcess:
        self.end_resting()
        return ForkedProcess(self._server, compilers)

    def _rested(self, compilers: Compiler, device: str) -> ForkedProcess:
        found, self._resting = self._resting, None
        if found:
            process, ready, its_device = found
            # Children, such as a compiler's, would take the cores from what is measured next.
            if its_device == device and compilers in ready and not children_of(process.pid):
                return process
            process.end()

        def rest(process: ForkedProcess) -> None:
            self._resting = (process, compilers, device)

        return ForkedProcess(self._server, compilers, rest)
