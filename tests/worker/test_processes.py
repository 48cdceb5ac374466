"""Jobs of the program's own library share a process while all goes well; nobody else's does."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from roofscope.profiling.devices.host import cpu_device
from roofscope.profiling.paths import LIBRARY
from roofscope.profiling.planning.catalog import Catalog, scan
from roofscope.profiling.planning.plan import SizeChoice, plan_jobs
from roofscope.profiling.planning.spec import Dtype, Provider, Workload
from roofscope.profiling.results.outcome import Measured, Outcome
from roofscope.profiling.supervision.protocol import OutcomeReady
from roofscope.profiling.worker.candidate.compilers import Compiler
from roofscope.profiling.worker.candidate.fork_server import ForkServer
from roofscope.profiling.worker.candidate.messages import Build, Call, Done, Info, Informed, Layout
from roofscope.profiling.worker.job.candidate_process import Connect, Process
from roofscope.profiling.worker.job.executor import JobExecutor
from roofscope.profiling.worker.job.link import CandidateFailed, Link
from roofscope.profiling.worker.job.processes import Processes
from roofscope.profiling.worker.timing.instruments import Instruments

CPU = torch.device("cpu")
OURS = LIBRARY / "relu"


@pytest.fixture
def processes(server: ForkServer) -> Iterator[Processes]:
    made = Processes(server)
    yield made
    made.end_resting()


def linked(connect: Connect, compilers: Compiler = Compiler.NONE) -> Link:
    return Link(connect(compilers), cpu_device(), CPU)


def pid_of(connect: Connect, compilers: Compiler = Compiler.NONE) -> int:
    """Of the process of a job that goes well."""
    process = connect(compilers)
    Link(process, cpu_device(), CPU).close(is_done=True)
    return process.pid


def test_a_process_of_the_library_serves_its_next_job(processes: Processes) -> None:
    connect = processes.connect(OURS, "cpu")
    first = pid_of(connect)
    assert pid_of(connect) == pid_of(processes.connect(LIBRARY / "gelu", "cpu")) == first


def test_nothing_of_a_job_is_left_for_the_next(processes: Processes) -> None:
    connect = processes.connect(OURS, "cpu")
    link = linked(connect)
    kernel = scan().kernel("relu")
    assert kernel is not None
    workload = Workload("relu", Dtype.FLOAT32, {"n": 1000})
    eager = next(one for one in kernel.implementations if one.provider is Provider.EAGER)
    link.ask(Build(0, eager, str(kernel.folder), workload, ("x",)), Done)
    link.ask(Info(0), Informed)
    link.make("kept", (Layout((1000,), "float32"),))
    link.close(is_done=True)
    again = linked(connect)
    for request in (Info(0), Call(0, "kept")):
        with pytest.raises(CandidateFailed):
            again.ask(request, Done)
    again.close()


@pytest.mark.parametrize("folder", [Path("/home/somebody/kernels/relu"), None, LIBRARY])
def test_what_is_not_of_the_library_has_a_process_of_its_own(
    processes: Processes, folder: Path | None
) -> None:
    ours = processes.connect(OURS, "cpu")
    first = pid_of(ours)
    theirs = pid_of(processes.connect(folder, "cpu"))
    assert theirs not in (first, pid_of(ours), pid_of(processes.connect(folder, "cpu")))


def test_another_device_or_compiler_has_another_process(processes: Processes) -> None:
    first = pid_of(processes.connect(OURS, "cpu"))
    second = pid_of(processes.connect(OURS, "another"))
    third = pid_of(processes.connect(OURS, "another"), Compiler.TRITON)
    assert len({first, second, third}) == 3
    assert pid_of(processes.connect(OURS, "another"), Compiler.NONE) == third


def test_what_leaves_much_has_its_own_process_beside_one_that_rests(processes: Processes) -> None:
    ours = processes.connect(OURS, "cpu")
    first = pid_of(ours)
    much = processes.connect(OURS, "cpu", leaves_much=True)
    assert len({first, pid_of(much), pid_of(much)}) == 3
    assert pid_of(ours) == first, "what rested was ended"


def test_a_users_kernel_that_leaves_much_finds_no_other_process(processes: Processes) -> None:
    ours = processes.connect(OURS, "cpu")
    first = pid_of(ours)
    pid_of(processes.connect(Path("/home/somebody/kernels/relu"), "cpu", leaves_much=True))
    assert pid_of(ours) != first


def test_trouble_ends_a_process(processes: Processes) -> None:
    connect = processes.connect(OURS, "cpu")
    troubled = connect(Compiler.NONE)
    link = Link(troubled, cpu_device(), CPU)
    with pytest.raises(CandidateFailed):
        link.ask(Info(7), Informed)
    link.close(is_done=True)
    cut_short = connect(Compiler.NONE)
    Link(cut_short, cpu_device(), CPU).close()
    assert len({troubled.pid, cut_short.pid, pid_of(connect)}) == 3


def test_a_resting_process_that_ended_is_replaced_without_a_word(processes: Processes) -> None:
    connect = processes.connect(OURS, "cpu")
    os.kill(pid_of(connect), signal.SIGKILL)
    outcomes = measured(scan(), "relu", connect)
    assert all(isinstance(outcome, Measured) for outcome in outcomes)


def test_jobs_in_one_process_come_out_as_they_do_apart(processes: Processes) -> None:
    """Compiled versions count their own graphs, whatever was compiled before."""
    catalog, connect, pids = scan(), processes.connect(OURS, "cpu"), set[int]()

    def noting(compilers: Compiler) -> Process:
        process = connect(compilers)
        pids.add(process.pid)
        return process

    found = [measured(catalog, name, noting, compiled=True) for name in ("relu", "swish", "relu")]
    assert len(pids) == 1
    for outcomes in found:
        assert [type(outcome) for outcome in outcomes] == [Measured, Measured]
        infos = [outcome.build for outcome in outcomes if isinstance(outcome, Measured)]
        assert [info.graph_count for info in infos if info.graph_count] == [1]


def measured(catalog: Catalog, name: str, connect: Connect, *, compiled: bool = False) -> list[Outcome]:
    kernel = catalog.kernel(name)
    assert kernel is not None
    stems = ["eager", "compile_default"] if compiled else ["eager"]
    [job] = plan_jobs(
        [kernel],
        device="cpu",
        dtypes=[Dtype.FLOAT32],
        size_choices=[SizeChoice("small", {"n": 4096})],
        stems=stems,
    )
    said: list[object] = []
    JobExecutor(job, catalog, Instruments(cpu_device()), connect, said.append, lambda: None).run()
    return [one.outcome for one in said if isinstance(one, OutcomeReady)]
