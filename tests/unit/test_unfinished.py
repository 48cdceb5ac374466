"""What a restart goes on with."""

from pathlib import Path

import msgspec

from roofscope.app.window.unfinished import Unfinished, planned_now
from roofscope.profiling.planning.catalog import scan
from roofscope.profiling.planning.plan import SizeChoice, plan_jobs
from roofscope.profiling.planning.spec import Dtype
from roofscope.profiling.results.outcome import Cancelled, SkipKind, Skipped
from roofscope.profiling.supervision.protocol import Probe, Run
from roofscope.tests.sessions import make_session
from roofscope.tests.worker.toys import REFERENCE, add_toy

JOB = max((point.job for point in make_session().points), key=lambda job: len(job.implementations))
OTHER = msgspec.structs.replace(JOB, id="job-other")
SKIPPED = Skipped(SkipKind.UNSUPPORTED, "Invented.")


def test_a_run_goes_on_with_what_has_no_outcome():
    unfinished = Unfinished([Probe("ceilings", "cpu"), Run(JOB), Run(OTHER)])
    for implementation in JOB.implementations:
        unfinished.note(JOB, implementation, SKIPPED)
    unfinished.note(OTHER, OTHER.implementations[0], SKIPPED)
    unfinished.note(OTHER, OTHER.implementations[1], Cancelled())
    rest = msgspec.structs.replace(OTHER, implementations=OTHER.implementations[1:])
    assert unfinished.runs() == [Run(rest)]


def test_nothing_is_left_of_a_run_that_ended():
    unfinished = Unfinished([Run(JOB)])
    for implementation in JOB.implementations:
        unfinished.note(JOB, implementation, SKIPPED)
    assert unfinished.runs() == []


def test_a_restart_goes_on_by_the_files_as_they_are_now(tmp_path: Path):
    folder = add_toy(tmp_path / "mine", "toy", REFERENCE)
    (folder / "triton_a.py").write_text("def run(x): ...\n")
    kernel = scan([folder.parent]).kernel("toy")
    assert kernel
    sizes, stems = [SizeChoice("small")], ["eager", "triton_a"]
    [job] = plan_jobs([kernel], device="cpu", dtypes=[Dtype.FLOAT32], size_choices=sizes, stems=stems)
    runs = [Run(job)]
    assert planned_now(runs, scan([folder.parent]), 7) == (runs, [])
    spec = (folder / "spec.py").read_text()
    (folder / "spec.py").write_text(spec.replace('WorkFormula("', 'WorkFormula("7*'))
    (folder / "triton_a.py").unlink()
    catalog = scan([folder.parent])
    [run], said = planned_now(runs, catalog, 7)
    assert run.job.work.flop_count == 7 * job.work.flop_count
    assert run.job.id == "job-7"
    assert [one.stem for one in run.job.implementations] == ["eager"]
    assert said == ["toy/triton_a is no longer among the kernels."]
    (folder / "spec.py").unlink()
    assert planned_now(runs, scan([folder.parent]), 7) == ([], ["toy is no longer among the kernels."])
