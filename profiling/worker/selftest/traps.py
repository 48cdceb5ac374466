"""Runs planted cheats through the executor of every job, which must refuse or flag each of them."""

import tempfile
from pathlib import Path

from roofscope.profiling.analysis.selftest_limits import judge_traps
from roofscope.profiling.analysis.verdict import flags_of
from roofscope.profiling.planning.catalog import Catalog, scan
from roofscope.profiling.planning.plan import Job, SizeChoice, plan_jobs
from roofscope.profiling.planning.spec import Dtype, Provider
from roofscope.profiling.results.outcome import Failed, Flag, Measured, Outcome
from roofscope.profiling.results.proof import Proof, Row
from roofscope.profiling.results.session import Point, Session
from roofscope.profiling.supervision.protocol import Event, OutcomeReady
from roofscope.profiling.worker.job.executor import JobExecutor
from roofscope.profiling.worker.selftest.rig import Rig
from roofscope.profiling.worker.selftest.trap_sources import HONEST, REFERENCE, SPEC, TRAPS, Trap

# Flags that warn a reader that the time is not that of the work.
_TELLING = frozenset((Flag.PROFILER_DISAGREES, Flag.REMEMBERS, Flag.ABOVE_ROOF))
_TWIN = Trap("honest", "the honest twin", HONEST)


def prove(rig: Rig) -> Proof:
    """Try every trap that applies to this device, and an honest kernel, which must be measured."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for trap in (*TRAPS, _TWIN):
            write(root, trap)
        catalog = scan([root])
        cheats = [try_cheat(rig, catalog, trap) for trap in TRAPS]
        return judge_traps(cheats, _try_honest(rig, catalog))


def write(root: Path, trap: Trap) -> None:
    """Make the trap's folder, as a user would make a kernel's."""
    folder = root / trap.name
    folder.mkdir(parents=True)
    (folder / "spec.py").write_text(SPEC.format(name=trap.name, title=trap.title))
    (folder / "reference.py").write_text(REFERENCE)
    (folder / "eager.py").write_text(trap.source)


def try_cheat(rig: Rig, catalog: Catalog, trap: Trap) -> Row:
    """Try one trap; the row says what caught it, if anything did."""
    if trap.needs_gpu and not rig.is_cuda:
        return Row(trap.title, (), None, "there are no streams on a CPU")
    outcome, telling = _run(rig, catalog, trap)
    match outcome:
        case Failed(kind=kind, stage=stage):
            return Row(trap.title, (), True, f"refused in its {stage} stage: {kind}")
        case Measured(method=method) if telling:
            return Row(trap.title, (), True, f"flagged ({method}): {', '.join(telling)}")
        case Measured(method=method):
            return Row(trap.title, (), False, f"measured by {method} as if it were honest")
        case _:
            return Row(trap.title, (), False, f"was not tried: {outcome}")


def _try_honest(rig: Rig, catalog: Catalog) -> Row:
    outcome, telling = _run(rig, catalog, _TWIN)
    match outcome:
        case Measured(method=method) if not telling:
            return Row(_TWIN.title, (), True, f"measured by {method}")
        case Measured():
            return Row(_TWIN.title, (), False, f"flagged: {', '.join(telling)}")
        case Failed(message=message):
            return Row(_TWIN.title, (), False, f"refused: {message}")
        case _:
            return Row(_TWIN.title, (), False, f"was not measured: {outcome}")


def _run(rig: Rig, catalog: Catalog, trap: Trap) -> tuple[Outcome | None, tuple[Flag, ...]]:
    """The outcome, and those flags of its point that reveal a cheat."""
    kernel = catalog.kernel(trap.name)
    assert kernel is not None
    jobs = plan_jobs(
        [kernel],
        device=rig.device.id,
        dtypes=[Dtype.FLOAT32],
        size_choices=[SizeChoice(str(rig.device.kind))],
        providers=[Provider.EAGER],
    )
    found: list[OutcomeReady] = []

    def watch(event: Event) -> None:
        if isinstance(event, OutcomeReady):
            found.append(event)

    JobExecutor(jobs[0], catalog, rig.instruments, rig.connect, watch, rig.check_cancelled).run()
    if not found:
        return None, ()
    # Beside other work nobody knows whether calls remember: of a cheat that warning is enough.
    telling = _TELLING if trap == _TWIN else _TELLING | {Flag.PREEMPTED}
    return found[0].outcome, _telling_flags(jobs[0], found[0], telling)


def _telling_flags(job: Job, event: OutcomeReady, telling: frozenset[Flag]) -> tuple[Flag, ...]:
    """As the window computes them, in a session without ceilings."""
    point = Point(1, job, event.implementation, event.outcome, "")
    return tuple(flag for flag in flags_of(point, Session(Path(), "")) if flag in telling)
