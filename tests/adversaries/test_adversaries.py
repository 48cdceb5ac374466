"""The corpus of cheats through the engine of every run: each gets a right answer, each honest control a time.

All of a run share it, as they do for a user: what one leaves behind must not change the answer to another.
"""

import functools
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import median

import msgspec
import pytest

from roofscope.app.cli.documents import AdversariesDocument, AnsweredAdversary
from roofscope.profiling.analysis.adversaries import Adversary, Need, read_corpus, write_kernel
from roofscope.profiling.devices.host import cpu_device
from roofscope.profiling.paths import LIBRARY
from roofscope.profiling.planning.catalog import scan
from roofscope.profiling.planning.plan import Job, SizeChoice, plan_jobs
from roofscope.profiling.planning.spec import Dtype
from roofscope.profiling.roofline.roofline import Bound, Ceiling, Mix
from roofscope.profiling.supervision.protocol import Probe, Run
from roofscope.profiling.supervision.recording import carry_out
from roofscope.profiling.supervision.run_events import CeilingArrived, RunEvent

CHECKOUT = Path(__file__).resolve().parents[2]
CORPUS = read_corpus()
ON_CPU = [one for one in CORPUS if one.needs is Need.CPU and not one.is_deadly]
ON_GPU = [one for one in CORPUS if not one.is_deadly]
DEADLY = [one for one in CORPUS if one.is_deadly]
# One or two of each class, and the controls that they could spoil.
SAMPLE = (
    *("perf_counter", "error_function", "outcome_emitter", "reference_code", "norm"),
    *("by_sampled_content", "by_seed", "view_of_input", "lazy_instance", "thread", "trace_hook"),
    *("forged_outcome", "own_stop", "autocast", "plain", "library_product"),
)


@functools.cache
def _run(device: str, names: tuple[str, ...], limit_s: float) -> dict[str, AnsweredAdversary] | str:
    """One run of these, by the command line; a sentence where it gave no answers."""
    words = [word for name in names for word in ("--adversary", name)]
    try:
        done = subprocess.run(
            [sys.executable, "-P", "main.py", "selftest", "--device", device, "--json", *words],
            cwd=CHECKOUT,
            # With as many threads as a user's, of which a cheat takes all but one from the others.
            env={name: value for name, value in os.environ.items() if name != "OMP_NUM_THREADS"},
            capture_output=True,
            text=True,
            check=False,
            timeout=limit_s,
        )
    except subprocess.TimeoutExpired:
        return f"The run did not end within {limit_s:g} s: a cheat holds it up."
    if not done.stdout:
        return f"The run ended with exit code {done.returncode} and no answer: {done.stderr}"
    document = msgspec.json.decode(done.stdout, type=AdversariesDocument)
    assert done.returncode == (not document.passed), document.problem
    return {adversary.name: adversary for adversary in document.adversaries}


def _answer(device: str, adversaries: Sequence[Adversary], name: str, limit_s: float) -> AnsweredAdversary:
    answers = _run(device, tuple(adversary.name for adversary in adversaries), limit_s)
    if isinstance(answers, str):
        pytest.fail(answers, pytrace=False)
    return answers[name]


def _is_right(answer: AnsweredAdversary) -> None:
    if answer.is_right is None:
        pytest.skip(answer.cause)
    assert answer.is_right, f"{answer.title}\nexpected: {answer.expected}\n{answer.answered}: {answer.cause}"


@pytest.mark.parametrize("name", SAMPLE)
def test_a_sample_gets_its_right_answers(name: str) -> None:
    sample = [adversary for adversary in ON_CPU if adversary.name in SAMPLE]
    _is_right(_answer("cpu", sample, name, limit_s=240))


@pytest.mark.exhaustive
@pytest.mark.timeout(1300)  # of which the first waits for the run of all
@pytest.mark.parametrize("name", [adversary.name for adversary in ON_CPU])
def test_each_on_a_cpu_gets_its_right_answer(name: str) -> None:
    _is_right(_answer("cpu", ON_CPU, name, limit_s=1200))


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", [adversary.name for adversary in DEADLY])
def test_a_judge_survives_what_kills(name: str) -> None:
    _is_right(_answer("cpu", DEADLY, name, limit_s=240))


@pytest.mark.gpu
@pytest.mark.timeout(1300)
@pytest.mark.parametrize("name", [adversary.name for adversary in ON_GPU])
def test_each_on_a_gpu_gets_its_right_answer(name: str) -> None:
    _is_right(_answer("cuda", ON_GPU, name, limit_s=1200))


@pytest.mark.exhaustive
@pytest.mark.timeout(600)
def test_a_slowed_clock_does_not_reach_the_ceilings(tmp_path: Path) -> None:
    """A tenth of the time would be ten times the rate; two probes of a busy CPU differ by less than three."""
    [cheat] = [adversary for adversary in CORPUS if adversary.name == "perf_counter"]
    write_kernel(tmp_path, cheat)
    after, alone = _ceilings([tmp_path]), _ceilings([])
    assert after.keys() == alone.keys()
    assert median(after[key] / alone[key] for key in alone) < 3


def _ceilings(roots: list[Path]) -> dict[tuple[Bound, Mix | None], float]:
    """The ceilings of a probe that follows all kernels at the roots in the same run."""
    device, catalog = cpu_device(), scan([LIBRARY, *roots])
    jobs: tuple[Job, ...] = ()
    if roots:
        kernels = [kernel for kernel in catalog.kernels if not kernel.folder.is_relative_to(LIBRARY)]
        jobs = plan_jobs(
            kernels, device=device.id, dtypes=(), size_choices=[SizeChoice("cpu")], stems=["eager"]
        )
    found: list[Ceiling] = []

    def watch(report: RunEvent) -> None:
        if isinstance(report, CeilingArrived):
            found.append(report.ceiling)

    carry_out([*map(Run, jobs), Probe("ceilings", device.id)], catalog, roots, watch)
    return {(ceiling.bound, ceiling.mix): ceiling.value for ceiling in found}


@pytest.mark.parametrize("name", [one.name for one in CORPUS if one.needs is Need.NVRTC])
def test_cuda_sources_compile(name: str) -> None:
    cuda = pytest.importorskip("roofscope.profiling.worker.build.providers.cuda")
    [adversary] = [one for one in CORPUS if one.name == name]
    assert cuda.compile_source(adversary.path.with_suffix(".cu"), Dtype.FLOAT32, "sm_90a")
