"""A real worker process on the CPU: verification, failures, survival."""

import os
import signal
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from roofscope.profiling.devices.host import cpu_device
from roofscope.profiling.paths import LIBRARY
from roofscope.profiling.planning.catalog import Catalog, scan
from roofscope.profiling.planning.plan import Job, SizeChoice, plan_jobs
from roofscope.profiling.planning.spec import Dtype, Provider
from roofscope.profiling.results.chrome_trace import read_trace
from roofscope.profiling.results.outcome import (
    Failed,
    FailureKind,
    Flag,
    Measured,
    Method,
    Outcome,
    SkipKind,
    Skipped,
    Stage,
)
from roofscope.profiling.supervision.headless import HeadlessRun
from roofscope.profiling.supervision.protocol import Run, Trace
from roofscope.profiling.supervision.recording import carry_out
from roofscope.profiling.supervision.run_events import (
    Banner,
    EnvironmentKnown,
    OutcomeArrived,
    Progressed,
    RunEvent,
    TraceArrived,
    WorkerLost,
)
from roofscope.profiling.supervision.supervisor import Supervisor
from roofscope.profiling.supervision.target import LocalTarget
from roofscope.tests.worker.toys import REFERENCE, SPEC, add_toy

GOOD = REFERENCE
TIRED = """
calls = []
def run(x):
    calls.append(None)
    if len(calls) > 40:
        raise ValueError('too often')
    return x * 2
"""
MULTIPLES = """
def run(x):
    if len(x) % 8:
        raise ValueError('n must be a multiple of 8')
    return x * 2
"""
CACHED = """
seen = {}
def run(x):
    key = (x.data_ptr(), len(x))
    if key not in seen:
        seen[key] = (x, x * 2)
    return seen[key][1]
"""
BAD = {
    "wrong_values": ("def run(x):\n    return x * 2.01\n", FailureKind.WRONG_VALUES),
    "wrong_shape": ("def run(x):\n    return (x * 2)[:-1]\n", FailureKind.WRONG_SHAPE),
    "wrong_dtype": ("def run(x):\n    return (x * 2).double()\n", FailureKind.WRONG_DTYPE),
    "two_outputs": ("def run(x):\n    return x * 2, x * 3\n", FailureKind.WRONG_SHAPE),
    "returns_a_view": ("def run(x):\n    x *= 2\n    return x[:]\n", FailureKind.ALIASED),
    "stride_zero": ("def run(x):\n    return (x[:1] * 2).expand(len(x))\n", FailureKind.ALIASED),
    "mutates": ("def run(x):\n    y = x * 2\n    x[0] += 1\n    return y\n", FailureKind.INPUT_CHANGED),
    "nan_when_large": (
        "import torch\ndef run(x):\n    return torch.where(x.abs() > 50, x * float('nan'), x * 2)\n",
        FailureKind.WRONG_VALUES,
    ),
    "wrong_at_odd_sizes": (
        "def run(x):\n    y = x.clone()\n    n = len(x) // 8 * 8\n    y[:n] = x[:n] * 2\n    return y\n",
        FailureKind.WRONG_VALUES,
    ),
    "no_return": ("def run(x):\n    x * 2\n", FailureKind.WRONG_SHAPE),
    "a_number": ("def run(x):\n    return 2.0\n", FailureKind.WRONG_SHAPE),
    "raises": ("def run(x):\n    raise ValueError('no such luck')\n", FailureKind.LAUNCH_ERROR),
    "raises_when_timed": (TIRED, FailureKind.LAUNCH_ERROR),
    "result_cached_by_address": (
        CACHED,
        FailureKind.WRONG_VALUES,
    ),
}
NO_JUDGES = {
    "no_return": ("def run(x):\n    x * 2\n", "reference.py returned a NoneType"),
    "two_inputs": ("def run(x, y):\n    return x * y\n", "reference.py:1: run cannot be called with (x)"),
    "short": ("def run(x):\n    return x[:5]\n", "reference.py returned shapes [(5,)] at n=65536"),
    "no_syntax": ("def run(x)\n    return x\n", "reference.py cannot be used: line 1: "),
    "no_run": ("go = 1\n", "reference.py has no function run"),
}
CRASH = "import os, signal\ndef run(x):\n    os.kill(os.getpid(), signal.SIGSEGV)\n"
# What torch raises where a CUDA graph's capture fails under it.
CAPTURE_FAILS = """
class AcceleratorError(RuntimeError):
    error_code = 901
def run(x):
    try:
        raise AcceleratorError('operation failed due to a previous error during capture')
    except RuntimeError:
        raise RuntimeError('and then some')
"""
CHATTY = "import os\nprint('hello from import')\ndef run(x):\n    os.write(1, b'{}\\n')\n    return x * 2\n"


def jobs_of(catalog: Catalog, names: list[str]) -> list[Job]:
    kernels = [kernel for name in names if (kernel := catalog.kernel(name))]
    assert len(kernels) == len(names)
    return list(
        plan_jobs(
            kernels,
            device="cpu",
            dtypes=[Dtype.FLOAT32],
            size_choices=[SizeChoice("small")],
            providers=[Provider.EAGER],
        )
    )


class Watched:
    """A headless run that keeps its reports."""

    def __init__(self, root: Path, also: Callable[[RunEvent], None] = lambda _: None) -> None:
        self.catalog = scan([root])
        self.reports: list[RunEvent] = []
        self._also = also
        # The worker scans the library too: both must know the same kernels.
        supervisor = Supervisor([str(root)], scan([LIBRARY, root]).hash)
        self.run = HeadlessRun(supervisor, self._see, LocalTarget())

    def _see(self, report: RunEvent) -> None:
        self.reports.append(report)
        self._also(report)

    @property
    def outcomes(self) -> dict[str, Outcome]:
        return {r.implementation.kernel: r.outcome for r in self.reports if isinstance(r, OutcomeArrived)}

    def of_kind(self, kind: type) -> list[RunEvent]:
        return [report for report in self.reports if isinstance(report, kind)]


MISTAKES = {
    "one_too_few": (
        "def run(): return 2\n",
        "eager.py:1: run cannot be called with (x): too many positional",
    ),
    "one_too_many": (
        "\ndef run(x, y): return 2\n",
        "eager.py:2: run cannot be called with (x): missing a req",
    ),
    "no_run": ("def ran(x): return x * 2\n", "eager.py has no function run"),
    "no_syntax": ("def run(x):\n    return x *\n", "invalid syntax (eager.py, line 2)"),
    "no_import": ("\nimport no_such_package\n", "eager.py:2: No module named 'no_such_package'"),
    "no_name": ("run = no_such_name\n", "eager.py:1: name 'no_such_name' is not defined"),
}


def test_a_file_that_cannot_be_used_is_a_build_error_with_its_line(tmp_path: Path) -> None:
    for name, (source, _) in MISTAKES.items():
        add_toy(tmp_path, name, source)
    watched = Watched(tmp_path)
    watched.run.run([Run(job) for job in jobs_of(watched.catalog, list(MISTAKES))])
    watched.run.close()

    for name, (_, sentence) in MISTAKES.items():
        outcome = watched.outcomes[name]
        assert isinstance(outcome, Failed), (name, outcome)
        assert outcome.kind is FailureKind.BUILD_ERROR, (name, outcome)
        assert sentence in outcome.message


def test_right_is_measured_and_wrong_has_a_reason_and_no_time(tmp_path: Path) -> None:
    for name, (source, _) in BAD.items():
        add_toy(tmp_path, name, source)
    add_toy(tmp_path, "good", GOOD)
    add_toy(tmp_path, "chatty", CHATTY)
    watched = Watched(tmp_path)
    watched.run.run([Run(job) for job in jobs_of(watched.catalog, [*BAD, "good", "chatty"])])
    watched.run.close()

    for name, (_, kind) in BAD.items():
        outcome = watched.outcomes[name]
        assert isinstance(outcome, Failed), (name, outcome)
        assert outcome.kind is kind, (name, outcome)
        assert name in outcome.message
    for name in ("good", "chatty"):
        outcome = watched.outcomes[name]
        assert isinstance(outcome, Measured), (name, outcome)
        assert outcome.method is Method.WALL_CLOCK
        bounds_s = outcome.time.bounds_s  # none where other work left fewer than five blocks alone
        assert bounds_s is None or 0 < bounds_s[0] <= outcome.time.median_s <= bounds_s[1]
        assert outcome.time.median_s > 0
        assert outcome.verification.relative_error <= outcome.verification.tolerance
        assert outcome.verification.shape_count == 2
    assert not watched.of_kind(Banner)


BOASTFUL = SPEC.replace('"n*s", "n*s"', '"1000*n*s", "1000*n*s"')  # 1000 times its bytes


def test_sets_are_counted_by_what_lies_in_memory(tmp_path: Path) -> None:
    """A formula that says too much would leave two sets of 512 KiB, in the cache."""
    folder = add_toy(tmp_path, "boastful", REFERENCE)
    (folder / "spec.py").write_text(BOASTFUL.format(name="boastful"))
    watched = Watched(tmp_path)
    watched.run.run([Run(job) for job in jobs_of(watched.catalog, ["boastful"])])
    watched.run.close()
    outcome = watched.outcomes["boastful"]
    assert isinstance(outcome, Measured)
    cache_bytes = cpu_device().last_level_cache_bytes or 0
    assert outcome.rotated_bytes == max(2, -(-3 * cache_bytes // 2**19)) * 2**19
    assert Flag.PARTLY_WARM not in outcome.flags


def lost_to(root: Path, eager: str) -> tuple[Failed, WorkerLost]:
    """What becomes of a kernel that costs the worker, once; the next one is measured all the same."""
    add_toy(root, "bad", eager)
    add_toy(root, "good", GOOD)
    watched = Watched(root)
    watched.run.run([Run(job) for job in jobs_of(watched.catalog, ["bad", "good"])])
    watched.run.close()
    assert isinstance(watched.outcomes["good"], Measured)
    failed, [lost] = watched.outcomes["bad"], watched.of_kind(WorkerLost)
    assert isinstance(failed, Failed)
    assert isinstance(lost, WorkerLost)
    return failed, lost


def test_a_crash_costs_one_implementation_and_the_run_goes_on(tmp_path: Path) -> None:
    crashed, _ = lost_to(tmp_path, CRASH)
    assert crashed.kind is FailureKind.WORKER_LOST
    assert "SIGSEGV" in crashed.message


def test_a_capture_that_fails_costs_one_implementation_and_its_process(tmp_path: Path) -> None:
    """Torch's own graphs would fail in every later job of this process."""
    add_toy(tmp_path, "bad", CAPTURE_FAILS)
    add_toy(tmp_path, "good", GOOD)
    watched = Watched(tmp_path)
    watched.run.run([Run(job) for job in jobs_of(watched.catalog, ["bad", "good"])])
    watched.run.close()
    failed = watched.outcomes["bad"]
    assert isinstance(failed, Failed)
    assert failed.kind is FailureKind.LAUNCH_ERROR
    assert isinstance(watched.outcomes["good"], Measured)
    assert not watched.of_kind(WorkerLost)


def test_kill_minus_nine_in_mid_run_loses_one_point_only(tmp_path: Path) -> None:
    for name in ("first", "second", "third"):
        add_toy(tmp_path, name, GOOD)
    killed: list[int] = []

    def kill_after_first(report: RunEvent) -> None:
        if isinstance(report, OutcomeArrived) and not killed and watched.run.worker_pid:
            killed.append(watched.run.worker_pid)
            os.kill(watched.run.worker_pid, signal.SIGKILL)

    watched = Watched(tmp_path, kill_after_first)
    watched.run.run([Run(job) for job in jobs_of(watched.catalog, ["first", "second", "third"])])
    watched.run.close()
    assert isinstance(watched.outcomes["first"], Measured)
    assert isinstance(watched.outcomes["third"], Measured)
    assert watched.of_kind(WorkerLost)


def test_what_was_stopped_can_be_run_again_in_the_same_worker(tmp_path: Path) -> None:
    """Under the same id, as the ceilings and the self-test always go."""
    add_toy(tmp_path, "good", GOOD)
    stopped: list[RunEvent] = []

    def stop_once(report: RunEvent) -> None:
        if isinstance(report, Progressed) and report.stage is Stage.BUILD and not stopped:
            stopped.append(report)
            watched.run.press_stop()

    watched = Watched(tmp_path, stop_once)
    [job] = jobs_of(watched.catalog, ["good"])
    watched.run.run([Run(job)])
    pid = watched.run.worker_pid
    assert stopped
    assert not isinstance(watched.outcomes.get("good"), Measured)
    watched.run.run([Run(job)])
    assert watched.run.worker_pid == pid
    watched.run.close()
    assert isinstance(watched.outcomes["good"], Measured)


def test_a_run_that_is_told_to_end_as_it_ends_does_end(tmp_path: Path) -> None:
    """Nothing that follows a report in the same step may be lost: the last is that the queue is empty."""
    add_toy(tmp_path, "good", GOOD)
    outcomes: list[Outcome] = []
    told: list[RunEvent] = []

    def end_with_the_task(report: RunEvent) -> None:
        match report:
            case OutcomeArrived(outcome=outcome):
                outcomes.append(outcome)
            case Progressed(done=1, total=1):
                told.append(report)
                if len(told) == 2:  # the first came with the outcome
                    signal.raise_signal(signal.SIGTERM)
            case _:
                pass

    jobs = jobs_of(scan([tmp_path]), ["good"])
    carry_out(map(Run, jobs), scan([LIBRARY, tmp_path]), [tmp_path], end_with_the_task)
    assert len(told) == 2
    assert [type(outcome) for outcome in outcomes] == [Measured]
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


@pytest.mark.parametrize("name", ["eager.py", "reference.py"])
def test_what_was_edited_since_it_was_planned_is_not_measured(tmp_path: Path, name: str) -> None:
    add_toy(tmp_path, "good", GOOD)
    add_toy(tmp_path, "edited", GOOD)

    def edit(report: RunEvent) -> None:
        if isinstance(report, EnvironmentKnown):  # the worker has read the folders and has no task yet
            file = tmp_path / "edited" / name
            file.write_text(f"{file.read_text()}# edited")

    watched = Watched(tmp_path, edit)
    watched.run.run([Run(job) for job in jobs_of(watched.catalog, ["edited", "good"])])
    watched.run.close()
    outcome = watched.outcomes["edited"]
    assert isinstance(outcome, Skipped), outcome
    assert outcome.kind is SkipKind.CHANGED
    assert outcome.message.endswith("changed since the run was planned; run it again.")
    assert isinstance(watched.outcomes["good"], Measured)


def test_a_reference_that_cannot_judge_has_the_blame(tmp_path: Path) -> None:
    for name, (reference, _) in NO_JUDGES.items():
        (add_toy(tmp_path, name, GOOD) / "reference.py").write_text(reference)
    watched = Watched(tmp_path)
    watched.run.run([Run(job) for job in jobs_of(watched.catalog, list(NO_JUDGES))])
    watched.run.close()
    for name, (_, words) in NO_JUDGES.items():
        outcome = watched.outcomes[name]
        assert isinstance(outcome, Failed), outcome
        assert outcome.kind is FailureKind.BUILD_ERROR
        assert words in outcome.message


def test_too_large_a_size_is_refused_before_anything_is_allocated(tmp_path: Path) -> None:
    add_toy(tmp_path, "good", GOOD)
    watched = Watched(tmp_path)
    [job] = jobs_of(watched.catalog, ["good"])
    kernel = watched.catalog.kernel("good")
    assert kernel is not None
    sizes = {"n": 10**15}
    huge = msgspec.structs.replace(
        job,
        workload=msgspec.structs.replace(job.workload, sizes=sizes),
        work=kernel.spec.work_at(sizes, Dtype.FLOAT32),
    )
    watched.run.run([Run(huge)])
    watched.run.close()
    outcome = watched.outcomes["good"]
    assert isinstance(outcome, Skipped)
    assert outcome.kind is SkipKind.TOO_LARGE
    assert "Choose smaller sizes" in outcome.message


def test_without_a_gpu_cuda_and_triton_are_refused_with_the_reason(tmp_path: Path) -> None:
    folder = add_toy(tmp_path, "good", GOOD)
    (folder / "triton_tiles.py").write_text("def run(x): ...")
    (folder / "cuda_packed.py").write_text("def run(program, x): ...")
    (folder / "cuda_packed.cu").write_text("// kernel")
    watched = Watched(tmp_path)
    [kernel] = watched.catalog.kernels
    jobs = plan_jobs(
        [kernel],
        device="cpu",
        dtypes=[Dtype.FLOAT32],
        size_choices=[SizeChoice("small")],
        providers=[Provider.TRITON, Provider.CUDA],
    )
    watched.run.run(map(Run, jobs))
    watched.run.close()
    outcomes = [r.outcome for r in watched.reports if isinstance(r, OutcomeArrived)]
    assert len(outcomes) == 2
    for outcome in outcomes:
        assert isinstance(outcome, Skipped)
        assert "need an NVIDIA GPU" in outcome.message


def test_a_trace_names_what_ran(tmp_path: Path) -> None:
    add_toy(tmp_path, "good", GOOD)
    watched = Watched(tmp_path)
    watched.run.run([Trace(job) for job in jobs_of(watched.catalog, ["good"])])
    watched.run.close()
    [recorded] = watched.of_kind(TraceArrived)
    assert isinstance(recorded, TraceArrived)
    summary = read_trace(recorded.chrome_json_gz)
    assert any("mul" in row.name for row in summary.rows)


def test_an_unknown_device_is_one_banner(tmp_path: Path) -> None:
    add_toy(tmp_path, "good", GOOD)
    watched = Watched(tmp_path)
    [job] = jobs_of(watched.catalog, ["good"])
    watched.run.run([Run(msgspec.structs.replace(job, device="cuda:77"))])
    watched.run.close()
    [banner] = watched.of_kind(Banner)
    assert isinstance(banner, Banner)
    assert "no device 'cuda:77'" in banner.text


@pytest.mark.exhaustive
def test_torch_compile_is_measured_too(tmp_path: Path) -> None:
    add_toy(tmp_path, "good", GOOD)
    watched = Watched(tmp_path)
    [kernel] = watched.catalog.kernels
    jobs = plan_jobs(
        [kernel],
        device="cpu",
        dtypes=[Dtype.FLOAT32],
        size_choices=[SizeChoice("small")],
        providers=[Provider.COMPILE],
    )
    watched.run.run(map(Run, jobs))
    watched.run.close()
    outcome = watched.outcomes["good"]
    assert isinstance(outcome, Measured)
    assert outcome.build.compile_s > 0


def test_what_takes_some_sizes_only_is_measured_at_those(tmp_path: Path) -> None:
    add_toy(tmp_path, "narrow", f"DOMAIN = 'n % 8 == 0 and n > 1000000'\n{GOOD}")
    add_toy(tmp_path, "declared", f"DOMAIN = 'n % 8 == 0'\n{MULTIPLES}")
    add_toy(tmp_path, "silent", MULTIPLES)
    watched = Watched(tmp_path)
    watched.run.run([Run(job) for job in jobs_of(watched.catalog, ["narrow", "declared", "silent"])])
    watched.run.close()

    narrow, declared, silent = (watched.outcomes[name] for name in ("narrow", "declared", "silent"))
    assert isinstance(narrow, Skipped)
    assert narrow.kind is SkipKind.UNSUPPORTED
    assert narrow.message == (
        "narrow / eager PyTorch takes only n % 8 == 0 and n > 1000000, which n=65536 does not meet."
    )
    assert isinstance(declared, Measured), declared
    assert declared.verification.unverified == (
        "No odd size of the spec is in its domain n % 8 == 0, not even n=1237."
    )
    assert isinstance(silent, Measured), silent
    assert silent.verification.unverified == "It refused n=1237: n must be a multiple of 8"
    assert silent.verification.shape_count == 1
