"""Examines implementations without the GPU that they are for: compiled for it, interpreted, never timed.

The judgement is that of every job: secret inputs, the float64 reference, the spec's tolerances, deadlines.
"""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace

from roofscope.profiling.planning.catalog import Kernel
from roofscope.profiling.planning.plan import Job
from roofscope.profiling.planning.spec import Implementation, Workload
from roofscope.profiling.results.generated import Code
from roofscope.profiling.results.outcome import BuildInfo, Examined, SkipKind, Skipped, Stage, Verification
from roofscope.profiling.worker.build.contract import Call
from roofscope.profiling.worker.candidate.compilers import Compiler
from roofscope.profiling.worker.candidate.messages import (
    Build,
    Done,
    Info,
    Informed,
    Reveal,
    Revealed,
    Target,
)
from roofscope.profiling.worker.inputs import InputMaker
from roofscope.profiling.worker.job.candidate_process import Connect, ConnectInterpreter, Process
from roofscope.profiling.worker.job.examined_sizes import sizes_to_interpret
from roofscope.profiling.worker.job.link import CandidateFailed, Link, RemoteCall
from roofscope.profiling.worker.job.verify import Verifier
from roofscope.profiling.worker.job.waiting import Waiting
from roofscope.profiling.worker.timing.instruments import Instruments

_NUMBER = 0  # each has a process of its own


class ExaminedCode(NamedTuple):
    """An outcome, and what the compiler made."""

    outcome: Examined
    codes: tuple[Code, ...]


class Examiner:
    """Of one job. ``stage`` is that of what is done now."""

    def __init__(
        self,
        job: Job,
        kernel: Kernel,
        instruments: Instruments,
        maker: InputMaker,
        reference: Call,
        waiting: Waiting,
        connect: Connect,
        connect_interpreter: ConnectInterpreter,
    ) -> None:
        self.stage = Stage.BUILD
        self._job = job
        self._kernel = kernel
        self._instruments = instruments
        self._maker = maker
        self._reference = reference
        self._waiting = waiting
        self._connect = connect
        self._connect_interpreter = connect_interpreter

    def examine(self, implementation: Implementation) -> ExaminedCode:
        """Raises CandidateFailed with an outcome, WrongResult, and what a lost process raises."""
        self._begin(Stage.BUILD, implementation, f"compiling for {self._job.architecture}")
        build, codes, missing = self._compiled(implementation)
        if not implementation.provider.facts.is_interpreted:
            return ExaminedCode(Examined(build=build, missing=missing), codes)
        sizes = sizes_to_interpret(self._kernel.spec, self._job.workload, implementation.domain)
        self._begin(Stage.VERIFY, implementation, "interpreting")
        try:
            verification = self._interpreted(implementation, sizes)
        except CandidateFailed as error:
            if build is None or not isinstance(error.outcome, Skipped):
                raise
            missing = f"Not interpreted: {error.outcome.message}"
            return ExaminedCode(Examined(build=build, missing=missing), codes)
        return ExaminedCode(Examined(verification, sizes, build, missing), codes)

    def _begin(self, stage: Stage, implementation: Implementation, detail: str) -> None:
        self.stage = stage
        self._waiting.begin(stage, implementation, detail)

    def _compiled(self, implementation: Implementation) -> tuple[BuildInfo | None, tuple[Code, ...], str]:
        """What the compiler says and made; or why a version that is interpreted too has neither."""
        target = Target(self._job.architecture, self._maker.layouts(self._job.workload.sizes))
        with self._linked(implementation, partial(self._connect, Compiler.of([implementation]))) as link:
            try:
                link.ask(self._request(implementation, target), Done)
            except CandidateFailed as error:
                outcome = error.outcome
                if isinstance(outcome, Skipped) and implementation.provider.facts.is_interpreted:
                    if outcome.kind is SkipKind.UNAVAILABLE:
                        raise
                    return None, (), f"Not compiled for {target.architecture}: {outcome.message}"
                raise
            build = link.ask(Info(_NUMBER), Informed).build
            codes = link.ask(Reveal(_NUMBER), Revealed).codes if self._job.keeps_code else ()
        return build, codes, ""

    def _interpreted(self, implementation: Implementation, sizes: dict[str, int]) -> Verification:
        workload = replace(self._job.workload, sizes=sizes)
        verifier = Verifier(self._kernel.spec, workload, self._reference, self._maker)
        target = Target(self._job.architecture, interprets=True)
        with self._linked(implementation, self._connect_interpreter) as link:
            link.ask(self._request(implementation, target, workload), Done)
            return verifier.verify(RemoteCall(link, _NUMBER, self._maker), implementation.domain)

    def _request(
        self, implementation: Implementation, target: Target, workload: Workload | None = None
    ) -> Build:
        kernel = self._kernel
        return Build(
            _NUMBER,
            implementation,
            str(Path(kernel.folder)),
            workload or self._job.workload,
            tuple(tensor.name for tensor in kernel.spec.inputs),
            kernel.entries.get(implementation.stem),
            target,
        )

    @contextmanager
    def _linked(self, implementation: Implementation, connect: Callable[[], Process]) -> Generator[Link]:
        self._waiting.own_work()
        instruments = self._instruments
        link = Link(connect(), instruments.device, instruments.torch_device, self._waiting)
        link.stage = self.stage
        link.what = f"{implementation.title} at {self._job.workload.size_label}"
        try:
            yield link
        finally:
            link.close()
