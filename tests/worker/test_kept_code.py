"""Generated code on its way from the candidate's process: only where asked for, never at a result's cost."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from roofscope.profiling.devices.host import cpu_device
from roofscope.profiling.planning.catalog import scan
from roofscope.profiling.planning.plan import SizeChoice, plan_jobs
from roofscope.profiling.planning.spec import Dtype, Provider
from roofscope.profiling.results.generated import MOST_BYTES, Code, CodeKind
from roofscope.profiling.results.outcome import Measured
from roofscope.profiling.supervision.protocol import CodeReady, Notice, OutcomeReady
from roofscope.profiling.worker.build.contract import BuildRequest, Built
from roofscope.profiling.worker.candidate import host
from roofscope.profiling.worker.job.executor import JobExecutor
from roofscope.profiling.worker.job.link import own_process
from roofscope.profiling.worker.timing.instruments import Instruments
from roofscope.tests.worker.toys import REFERENCE, add_toy

CODE = Code(CodeKind.PTX, "kernel", "ret;")


def long() -> Iterable[Code]:
    return [CODE, Code(CodeKind.SASS, "kernel", "EXIT ;\n" * MOST_BYTES)]


def failing() -> Iterable[Code]:
    yield CODE
    raise OSError("the disassembler is gone")


def events(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: Callable[[], Iterable[Code]], *, keeps_code: bool
) -> list[Any]:
    """What a worker says of a toy whose compiler gives this code."""
    build = host.providers.build

    def with_code(request: BuildRequest) -> Built:
        made = build(request)
        return Built(made.call, made.info, code)

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
    said: list[Any] = []
    JobExecutor(job, catalog, Instruments(cpu_device()), own_process, said.append, lambda: None).run()
    return [event for event in said if isinstance(event, CodeReady | OutcomeReady | Notice)]


def test_code_comes_before_the_outcome_and_is_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept, ready = events(tmp_path, monkeypatch, long, keeps_code=True)
    assert (kept.id, kept.implementation) == (ready.id, ready.implementation)
    assert kept.codes[0] == CODE
    assert len(kept.codes[1].text) < MOST_BYTES + 100
    assert isinstance(ready.outcome, Measured)


def test_nothing_is_kept_that_was_not_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    [ready] = events(tmp_path, monkeypatch, long, keeps_code=False)
    assert isinstance(ready.outcome, Measured)


def test_code_that_cannot_be_had_costs_no_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    notice, ready = events(tmp_path, monkeypatch, failing, keeps_code=True)
    assert notice.text.startswith("The generated code of toy / eager PyTorch could not be kept: ")
    assert isinstance(ready.outcome, Measured)
