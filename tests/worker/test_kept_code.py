"""Generated code on its way from the candidate's process: only where asked for, never at a result's cost."""

import subprocess
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import torch
from msgspec.structs import replace

from roofscope.profiling.devices.host import cpu_device
from roofscope.profiling.planning.catalog import Kernel, scan
from roofscope.profiling.planning.plan import SizeChoice, plan_jobs
from roofscope.profiling.planning.spec import Dtype, Provider
from roofscope.profiling.planning.trace_options import TraceOptions
from roofscope.profiling.results.generated import MOST_BYTES, Code, CodeKind
from roofscope.profiling.results.outcome import BuildInfo, Failed, FailureKind, Measured
from roofscope.profiling.supervision.protocol import CodeReady, Notice, OutcomeReady
from roofscope.profiling.worker.build import machine_code
from roofscope.profiling.worker.build.contract import BuildRequest, Built
from roofscope.profiling.worker.build.machine_code import Budget
from roofscope.profiling.worker.candidate import host
from roofscope.profiling.worker.candidate.messages import Asked, Make, Record, Reveal, Trouble
from roofscope.profiling.worker.job.candidate_process import (
    CandidateLost,
    Heard,
    Look,
    OwnProcess,
    Process,
    Tampered,
)
from roofscope.profiling.worker.job.deadlines import Deadlines
from roofscope.profiling.worker.job.executor import JobExecutor
from roofscope.profiling.worker.job.link import CandidateFailed
from roofscope.profiling.worker.timing.instruments import Instruments
from roofscope.tests.worker.toys import REFERENCE, add_toy

CODE = Code(CodeKind.PTX, "kernel", "ret;")


def long(_budget: Budget) -> Iterable[Code]:
    return [CODE, Code(CodeKind.SASS, "kernel", "EXIT ;\n" * MOST_BYTES)]


def failing(_budget: Budget) -> Iterable[Code]:
    yield CODE
    raise OSError("the disassembler is gone")


def exiting(_budget: Budget) -> Iterable[Code]:
    yield CODE
    sys.exit(3)


def is_unchanged(*_: object) -> bool:
    return True


def events(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    code: Callable[[Budget], Iterable[Code]],
    *,
    keeps_code: bool = True,
    info: Callable[[], BuildInfo] | None = None,
    connect: Callable[[], Process] = OwnProcess,
    has_other: bool = False,
) -> list[Any]:
    """What a worker says of a toy with this code, and of another version of it where there is one."""
    build = host.providers.build

    def with_code(request: BuildRequest) -> Built:
        made = build(request)
        return made if request.implementation.variant else Built(made.call, info or made.info, code)

    monkeypatch.setattr(host.providers, "build", with_code)
    add_toy(tmp_path, "toy", REFERENCE)
    catalog = scan([tmp_path])
    [job] = plan_jobs(
        catalog.kernels,
        device="cpu",
        dtypes=[Dtype.FLOAT32],
        size_choices=[SizeChoice("small")],
        providers=[Provider.EAGER],
        keeps_code=keeps_code,
    )
    assert job.keeps_code is keeps_code
    if has_other:  # with the same text, which is enough here
        folder = tmp_path / "toy"
        (folder / "eager_other.py").write_bytes((folder / "eager.py").read_bytes())
        monkeypatch.setattr(Kernel, "is_unchanged", is_unchanged)
        [one] = job.implementations
        job = replace(job, implementations=(one, replace(one, variant="other")))
    said: list[Any] = []
    executor = JobExecutor(
        job, catalog, Instruments(cpu_device()), lambda _: connect(), said.append, lambda: None
    )
    with suppress(CandidateLost):
        executor.run()
    return [event for event in said if isinstance(event, CodeReady | OutcomeReady | Notice)]


def test_code_comes_behind_the_outcome_and_is_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ready, kept = events(tmp_path, monkeypatch, long)
    assert (kept.id, kept.implementation) == (ready.id, ready.implementation)
    assert kept.codes[0] == CODE
    assert len(kept.codes[1].text) < MOST_BYTES + 100
    assert isinstance(ready.outcome, Measured)


def test_nothing_is_kept_that_was_not_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    [ready] = events(tmp_path, monkeypatch, long, keeps_code=False)
    assert isinstance(ready.outcome, Measured)


@pytest.mark.parametrize(
    ("code", "why"),
    [(failing, "the disassembler is gone"), (exiting, "it raised SystemExit instead of an answer")],
)
def test_code_that_cannot_be_had_costs_no_result(
    code: Callable[[Budget], Iterable[Code]], why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ready, notice = events(tmp_path, monkeypatch, code)
    assert notice.text.startswith("The generated code of toy / eager PyTorch was not kept: ")
    assert notice.text.endswith(why)
    assert isinstance(ready.outcome, Measured)


def test_code_that_tampers_costs_itself_and_no_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other one, which was measured in the same process, is measured again in another."""

    def replacing(_budget: Budget) -> Iterable[Code]:
        yield CODE
        monkeypatch.setattr(torch.cuda.Event, "elapsed_time", is_unchanged)

    made: list[OwnProcess] = []

    def connect() -> OwnProcess:
        made.append(OwnProcess())
        return made[-1]

    first, notice, other = events(tmp_path, monkeypatch, replacing, connect=connect, has_other=True)
    assert isinstance(first.outcome, Measured)
    assert isinstance(other.outcome, Measured)
    assert first.implementation != other.implementation
    assert (
        "was not kept, because its process replaced torch.cuda.Event.elapsed_time (by test_kept"
        in notice.text
    )
    assert len(made) == 2


@pytest.mark.parametrize("spoils", [Tampered("torch.empty"), "memory"])
def test_what_spoils_a_process_before_it_is_timed_costs_no_other_version(
    spoils: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody knows which of them did, so each is run by itself; alone it has the outcome itself."""

    class Spoiled(OwnProcess):
        def ask(self, asked: Asked, look: Look | None, contents_bytes: int = 0) -> Heard:
            if isinstance(asked.request, Make) and asked.request.group == "sets":
                connections.append(self)
                if len(connections) < 3:  # with both, and with the first alone
                    if isinstance(spoils, Tampered):
                        raise spoils
                    full = Failed(FailureKind.OUT_OF_MEMORY, asked.stage, "Full.")
                    raise CandidateFailed(Trouble(full, True, False))
            return super().ask(asked, look, contents_bytes)

    connections: list[Process] = []
    first, other = events(tmp_path, monkeypatch, long, connect=Spoiled, keeps_code=False, has_other=True)
    assert isinstance(first.outcome, Failed)
    is_tampered = isinstance(spoils, Tampered)
    assert first.outcome.kind is (FailureKind.TAMPERED if is_tampered else FailureKind.OUT_OF_MEMORY)
    assert isinstance(other.outcome, Measured)
    assert len(connections) == 3


def test_a_trace_of_what_tampers_says_so(tmp_path: Path) -> None:
    class Replaced(OwnProcess):
        def ask(self, asked: Asked, look: Look | None, contents_bytes: int = 0) -> Heard:
            if isinstance(asked.request, Record):
                raise Tampered("torch.empty (by eager.py:3)")
            return super().ask(asked, look, contents_bytes)

    add_toy(tmp_path, "toy", REFERENCE)
    catalog = scan([tmp_path])
    [job] = plan_jobs(
        catalog.kernels,
        device="cpu",
        dtypes=[Dtype.FLOAT32],
        size_choices=[SizeChoice("small")],
        providers=[Provider.EAGER],
    )
    executor = JobExecutor(
        job, catalog, Instruments(cpu_device()), lambda _: Replaced(), lambda _: None, lambda: None
    )
    with pytest.raises(RuntimeError, match=r"^its process replaced torch\.empty \(by eager\.py:3\)\.$"):
        executor.trace(TraceOptions())


class EndedOverCode(OwnProcess):
    """As a process that os._exit ends."""

    def ask(self, asked: Asked, look: Look | None, contents_bytes: int = 0) -> Heard:
        if isinstance(asked.request, Reveal):
            raise CandidateLost(3)
        return super().ask(asked, look, contents_bytes)


def test_a_process_that_ends_over_code_has_given_its_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    [ready] = events(tmp_path, monkeypatch, long, connect=EndedOverCode, has_other=True)
    assert isinstance(ready.outcome, Measured)


def test_what_exits_where_facts_are_asked_for_costs_its_own_result_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def info() -> BuildInfo:
        sys.exit(3)

    first, other = events(tmp_path, monkeypatch, long, info=info, keeps_code=False, has_other=True)
    assert isinstance(first.outcome, Failed)
    assert first.outcome.kind is not FailureKind.WORKER_LOST
    assert first.outcome.message.endswith("it raised SystemExit instead of an answer")
    assert isinstance(other.outcome, Measured)


class Slow:
    """A disassembler that takes 15 s for everything, by the clock that it is given."""

    def __init__(self) -> None:
        self.now, self.calls = 0.0, 0

    def run(self, *_: object, timeout: float, **__: object) -> None:
        self.calls += 1
        self.now += min(15.0, timeout)
        if timeout < 15.0:
            raise subprocess.TimeoutExpired("nvdisasm", timeout)


def test_all_code_of_an_implementation_has_one_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    slow = Slow()
    monkeypatch.setattr(machine_code, "tool_path", Path)
    monkeypatch.setattr(machine_code.subprocess, "run", slow.run)
    budget = Budget(now=lambda: slow.now)
    found = [code for name in "abc" for code in machine_code.sass_of(name, b"", budget)]
    assert slow.now == machine_code.MOST_S
    assert slow.calls == 3  # two for the first one, which gives nothing; then there is no time left
    assert [code.name for code in found] == ["b", "c"]
    assert all(code.text.startswith("[left out: the disassembler was not done") for code in found)
    library = list(machine_code.code_of_library("d", Path("/d.so"), budget))
    assert [code.kind for code in library] == [CodeKind.PTX, CodeKind.SASS]


def test_the_budget_ends_before_the_wait_for_it_does() -> None:
    add = Deadlines.__new__(Deadlines)
    assert add.of(Reveal(0)).seconds >= machine_code.MOST_S + 15
