"""The process that runs foreign code, over a real fork: what it is asked, what it cannot reach, its end."""

import inspect
import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from roofscope.profiling.devices.host import cpu_device
from roofscope.profiling.planning.catalog import scan
from roofscope.profiling.planning.plan import SizeChoice, plan_jobs
from roofscope.profiling.planning.spec import Dtype, Provider, Workload
from roofscope.profiling.results.outcome import Failed, Method, SkipKind, Skipped, Stage
from roofscope.profiling.worker.candidate import fork_server
from roofscope.profiling.worker.candidate.fork_server import ForkServer
from roofscope.profiling.worker.candidate.memory import Mapping, make_block, sets_of
from roofscope.profiling.worker.candidate.messages import (
    Asked,
    Build,
    Call,
    Collect,
    Counts,
    Done,
    LastReturned,
    Layout,
    Lending,
    Lent,
    ReadActivity,
    ReadLast,
    Replay,
    Said,
    SetOutputs,
    Settle,
    Settled,
    TimerFacts,
    Trouble,
)
from roofscope.profiling.worker.job.candidate_process import (
    CandidateLost,
    ForkedProcess,
    Heard,
    Look,
    OwnProcess,
    Tampered,
)
from roofscope.profiling.worker.job.executor import JobExecutor
from roofscope.profiling.worker.job.link import CandidateFailed, Link, RemoteTimer
from roofscope.profiling.worker.job.second_clock import BlockSeen
from roofscope.profiling.worker.timing.blocks import GraphTimer, QueueTimer
from roofscope.profiling.worker.timing.instruments import Instruments
from roofscope.profiling.worker.timing.wall_timer import WallTimer
from roofscope.tests.children import python
from roofscope.tests.worker.toys import add_toy

CPU = torch.device("cpu")
X = (Layout((1000,), "float32"),)


@pytest.fixture
def link(server: ForkServer) -> Iterator[Link]:
    link = Link(ForkedProcess(server), cpu_device(), CPU)
    yield link
    link.close()


def build(link: Link, folder: Path, source: str, number: int = 0) -> None:
    add_toy(folder, "toy", source)
    kernel = scan([folder]).kernel("toy")
    assert kernel is not None
    link.what, link.stage = "toy / eager PyTorch", Stage.BUILD
    workload = Workload("toy", Dtype.FLOAT32, {"n": 1000})
    link.ask(Build(number, kernel.implementations[0], str(kernel.folder), workload, ("x",)), Done)


def called(link: Link, number: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    """The input that was filled here, and what came back for it."""
    sets = link.make("test", X)
    sets.sets[0][0].uniform_(-1, 1)
    sets.send()
    link.ask(Call(number, "test"), Done)
    lent = link.ask(Collect(), Lending).tensors
    return sets.sets[0][0], link.outputs(lent)[0]


def test_contents_go_there_and_results_come_back(link: Link, tmp_path: Path) -> None:
    build(link, tmp_path, "def run(x):\n    return x * 2\n")
    for _ in range(2):
        x, y = called(link)
        assert torch.equal(y, x * 2)


def test_an_output_is_read_before_the_next_call_writes_over_it(link: Link, tmp_path: Path) -> None:
    """As the modes of torch.compile do that replay a graph of their own."""
    build(
        link,
        tmp_path,
        "import torch\nout = torch.empty(1000)\ndef run(x):\n    return torch.mul(x, 2, out=out)\n",
    )
    sets = link.make("test", X, 2)
    for index, (x,) in enumerate(sets.sets):
        x.fill_(index + 1)
    sets.send()
    link.ask(Settle(0, "test", has_hot=False), Settled)
    lent = link.ask(Replay(0, (1, 0)), SetOutputs).sets
    assert [link.outputs(of_set)[0].unique().tolist() for of_set in lent] == [[4.0], [2.0]]


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="Linux only")
@pytest.mark.parametrize(
    ("takes", "name"),
    [
        ("resource.prlimit(server, resource.RLIMIT_AS, (2**40, resource.RLIM_INFINITY))", "a limit"),
        ("os.setpriority(os.PRIO_PROCESS, server, 5)", "the priority"),
        ("os.sched_setaffinity(server, {min(os.sched_getaffinity(server))})", "the cores"),
    ],
)
def test_what_foreign_code_takes_from_the_judge_is_put_back(
    server: ForkServer, tmp_path: Path, takes: str, name: str
) -> None:
    """A candidate inherits it from the server: the next version would be slow, or find no memory."""
    if name == "the cores" and len(os.sched_getaffinity(0)) < 2:
        pytest.skip("There is one core only.")
    link = Link(ForkedProcess(server), cpu_device(), CPU)
    imports = "import os, resource\nserver = os.getppid()\n"
    build(link, tmp_path, f"{imports}def run(x):\n    {takes}\n    return x * 2\n")
    with pytest.raises(Tampered, match=f"{name} of a process of the judge"):
        called(link)
    link.close()
    assert not server.put_back_grants()
    assert os.getpriority(os.PRIO_PROCESS, os.getpid()) == 0


def test_what_a_timed_block_returned_last_can_be_read(link: Link, tmp_path: Path) -> None:
    build(link, tmp_path, "def run(x):\n    return x * 2\n")
    sets = link.make("test", X, 3)
    for index, (x,) in enumerate(sets.sets):
        x.fill_(index + 1)
    sets.send()
    settled = link.ask(Settle(0, "test", has_hot=False), Settled)
    RemoteTimer(link, 0, settled.cold).block(keeps_last=True)
    last = link.ask(ReadLast(0), LastReturned)
    assert link.outputs(last.tensors)[0].unique().tolist() == [2.0 * (last.place + 1)]


@pytest.mark.parametrize("kind", [GraphTimer, QueueTimer, WallTimer])
def test_a_timer_keeps_nothing_under_the_name_of_a_method(kind: type) -> None:
    """For a timer that does is taken for one whose method somebody has replaced."""
    kept = set(re.findall(r"self\.(\w+)(?:: [^=]+)? = ", inspect.getsource(kind)))
    assert len(kept) > 4
    assert not {name for name in kept if callable(vars(kind).get(name))}


@pytest.mark.parametrize(
    ("facts", "blocks", "reached"),
    [
        (TimerFacts(Method.CUDA_GRAPH, "", calls_per_block=18, set_count=9), 5, 9),  # calls of 5 ms, 33 sets
        (TimerFacts(Method.QUEUE, "", calls_per_block=10, set_count=256), 3, 30),
        (TimerFacts(Method.QUEUE, "", calls_per_block=10, set_count=256), 0, 10),  # a block settles it
        (TimerFacts(Method.CUDA_GRAPH, "", calls_per_block=0, set_count=0), 0, 1),
    ],
)
def test_only_sets_that_the_timed_calls_took_are_verified_again(
    link: Link, facts: TimerFacts, blocks: int, reached: int
) -> None:
    timer = RemoteTimer(link, 0, facts)
    timer.seen.extend([BlockSeen(0.01, 0.0, 0.01)] * blocks)
    assert timer.reached == reached


def test_what_a_kernel_writes_to_its_input_is_seen_here(link: Link, tmp_path: Path) -> None:
    build(link, tmp_path, "def run(x):\n    x.numpy()[:] = 0\n    return x + 1\n")
    sets = link.make("test", X)
    sets.sets[0][0].fill_(3.0)
    sets.send()
    link.ask(Call(0, "test"), Done)
    sets.look()
    assert sets.sets[0][0].count_nonzero() == 0


def test_nothing_replaced_there_is_replaced_here(link: Link, tmp_path: Path) -> None:
    source = "import torch\ntorch.cuda.Event.elapsed_time = lambda s, e: 0.0\ndef run(x):\n    return x * 2\n"
    with pytest.raises(Tampered, match=r"torch.cuda.Event.elapsed_time \(by eager.py:2\)"):
        build(link, tmp_path, source)
    assert "elapsed_time" in torch.cuda.Event.elapsed_time.__qualname__


def test_what_one_implementation_sets_in_torch_another_does_not_find(link: Link, tmp_path: Path) -> None:
    """The one that set it keeps it."""
    sets_it = "import torch\ntorch.set_default_dtype(torch.float64)\n"
    returns_it = "def run(x):\n    return x + torch.ones(1).element_size()\n"
    build(link, tmp_path / "one", f"{sets_it}{returns_it}", number=0)
    build(link, tmp_path / "other", f"import torch\n{returns_it}", number=1)
    for number, size in ((0, 8), (1, 4), (0, 8)):
        x, y = called(link, number)
        assert torch.equal((y - x).round(), torch.full_like(x, size))


def test_a_failure_comes_back_as_an_outcome(link: Link, tmp_path: Path) -> None:
    build(link, tmp_path, "def run(x):\n    raise ValueError('not today')\n")
    link.stage = Stage.VERIFY
    with pytest.raises(CandidateFailed, match="not today") as raised:
        called(link)
    assert isinstance(raised.value.outcome, Failed)
    assert raised.value.is_sound


def test_a_look_that_comes_too_late_delays_no_answer(link: Link, tmp_path: Path) -> None:
    """Else a block after one that other work held up would seem to take half as long as that one did."""
    build(link, tmp_path, "def run(x):\n    return x * 2\n")
    looks: list[float] = []
    link.ask(ReadActivity(), Counts, Look(lambda: looks.append(time.perf_counter()), after_s=1e3))
    assert link.answered_at <= looks[0]


def test_a_look_that_takes_long_delays_no_answer(link: Link) -> None:
    """NVML took 5 ms on an H200 while sixteen processes opened the other one: honest blocks seemed to lie."""
    ends: list[float] = []

    def slow_look() -> None:
        time.sleep(0.3)
        ends.append(time.perf_counter())

    link.ask(ReadActivity(), Counts, Look(slow_look, after_s=0.0))
    assert link.answered_at < ends[0]


@pytest.mark.parametrize(
    ("death", "code"),
    [("os._exit(7)", 7), ("os.kill(os.getpid(), signal.SIGSEGV)", -signal.SIGSEGV)],
)
def test_its_death_is_known_with_its_cause(link: Link, tmp_path: Path, death: str, code: int) -> None:
    build(link, tmp_path, f"import os, signal\ndef run(x):\n    {death}\n")
    with pytest.raises(CandidateLost) as raised:
        called(link)
    assert raised.value.code == code


def test_it_holds_none_of_the_referees_descriptors(link: Link, tmp_path: Path) -> None:
    build(link, tmp_path, "import os, torch\ndef run(x):\n    return x + len(os.listdir('/proc/self/fd'))\n")
    x, y = called(link)
    assert int((y - x)[0].round()) <= 6  # standard streams, its connection, the one for listdir


def test_a_process_that_hangs_is_ended(server: ForkServer) -> None:
    connection, pid = server.new()
    os.kill(pid, signal.SIGSTOP)
    connection.close()
    assert server.end_of(pid) == -signal.SIGKILL


def test_a_server_that_foreign_code_has_stopped_is_waited_for_only_so_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(fork_server, "_REAP_S", 0.2)
    stopped = ForkServer.spawned()
    held, pid = stopped.new()
    assert stopped._process
    os.kill(stopped._process.pid, signal.SIGSTOP)
    held.close()
    with pytest.raises(TimeoutError):
        stopped.end_of(pid)
    with pytest.raises(OSError, match="descriptor"):  # a late answer is not taken for another one
        stopped.new()
    stopped._process.kill()
    stopped.close()


def test_a_server_that_foreign_code_has_stopped_is_woken() -> None:
    server = ForkServer.spawned()
    held, pid = server.new()
    assert server._process
    os.kill(server._process.pid, signal.SIGSTOP)
    held.close()
    server.end_of(pid)
    os.kill(server._process.pid, signal.SIGSTOP)
    again, pid = server.new()
    again.close()
    server.end_of(pid)
    server.close()


def test_nothing_outlives_the_referee() -> None:
    code = (
        "import os, signal\n"
        "from roofscope.profiling.worker.candidate.fork_server import ForkServer\n"
        "server = ForkServer.forked(); held, pid = server.new(); print(pid, flush=True)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = subprocess.run(python(code), capture_output=True, text=True, check=False)
    pid = int(done.stdout)
    until = time.monotonic() + 30
    while Path(f"/proc/{pid}").exists() and _state(pid) != "Z":
        assert time.monotonic() < until
        time.sleep(0.02)


def _state(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return "Z"


class Closed(OwnProcess):
    """A process that a device does not let in."""

    def ask(self, asked: Asked, look: Look | None, contents_bytes: int = 0) -> Heard:
        refused = Skipped(SkipKind.UNSUPPORTED, "This GPU lets one process in.")
        return Heard(Said(Trouble(refused, True, False)), 0.0)


def test_a_device_that_lets_no_second_process_in_is_one_sentence(tmp_path: Path) -> None:
    add_toy(tmp_path, "toy", "def run(x):\n    return x * 2\n")
    catalog = scan([tmp_path])
    [kernel] = catalog.kernels
    [job] = plan_jobs(
        [kernel],
        device="cpu",
        dtypes=[Dtype.FLOAT32],
        size_choices=[SizeChoice("small")],
        providers=[Provider.EAGER],
    )
    said: list[Any] = []
    instruments = Instruments(cpu_device())
    JobExecutor(job, catalog, instruments, lambda _: Closed(), said.append, lambda: None).run()
    *_, ready = said
    assert ready.outcome == Skipped(SkipKind.UNSUPPORTED, "This GPU lets one process in.")


def test_sets_lie_in_one_allocation_and_do_not_overlap() -> None:
    block = make_block(Layout((3, 5), "bfloat16"), 4, CPU)
    for index, (inputs,) in enumerate(sets_of([block])):
        inputs.fill_(index)
        assert inputs.is_contiguous()
    assert [int(inputs.sum()) for (inputs,) in sets_of([block])] == [0, 15, 30, 45]
    addresses = {inputs.data_ptr() % 512 for (inputs,) in sets_of([block])}
    assert len(addresses) == 1


@pytest.mark.parametrize("shape", [(3, 5), (7,), (), (0, 4)])
def test_each_set_is_all_of_its_storage(shape: tuple[int, ...]) -> None:
    """Dynamo compiles for an offset of 0 and for others apart: each set must run the same code."""
    block = make_block(Layout(shape, "bfloat16"), 3, CPU)
    addresses = [part.data_ptr() for part in block]
    sets = [inputs for (inputs,) in sets_of([block])]
    del block
    for inputs, address in zip(sets, addresses, strict=True):
        assert (inputs.shape, inputs.dtype, inputs.storage_offset()) == (shape, torch.bfloat16, 0)
        assert inputs.untyped_storage().nbytes() == inputs.numel() * 2
        assert inputs.data_ptr() == address
        assert inputs._base is None  # pyright: ignore[reportPrivateUsage]
        inputs.fill_(1)


def test_memory_that_is_not_lent_is_not_mapped(monkeypatch: pytest.MonkeyPatch) -> None:
    """A candidate's process may say anything of its tensors."""
    mapping = Mapping(CPU)
    monkeypatch.setattr(mapping, "_allocation", lambda handle: (4096, 1024))
    beyond, before, backwards, behind = ((300,), 1, 0), ((10,), 1, -4), ((10,), -1, 0), ((1,), 1, 1024)
    for shape, step, offset in (beyond, before, backwards, behind):
        with pytest.raises(RuntimeError, match="outside of its memory"):
            mapping.tensor(Lent(0, shape, (step,), "float32", b"h", offset), torch.float32)
