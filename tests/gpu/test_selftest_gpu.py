"""On a real GPU: every proof passes, and what a failed capture leaves behind is nothing."""

import gc
from collections.abc import Iterator

import pytest

torch = pytest.importorskip("torch")

from roofscope.profiling.results.outcome import Method  # noqa: E402
from roofscope.profiling.results.proof import Proof, ProofName  # noqa: E402
from roofscope.profiling.worker.candidate.fork_server import ForkServer  # noqa: E402
from roofscope.profiling.worker.environment import read_environment  # noqa: E402
from roofscope.profiling.worker.job.candidate_process import Connect  # noqa: E402
from roofscope.profiling.worker.job.processes import Processes  # noqa: E402
from roofscope.profiling.worker.selftest import comparisons  # noqa: E402
from roofscope.profiling.worker.selftest.runner import carry_out  # noqa: E402
from roofscope.profiling.worker.timing.instruments import Instruments  # noqa: E402


@pytest.fixture(scope="module")
def instruments() -> Instruments:
    return Instruments(read_environment().devices[0])


@pytest.fixture(scope="module")
def connect() -> Iterator[Connect]:
    """Processes of their own, as in a run: CUDA does not map what this very process has lent."""
    server = ForkServer.spawned()
    yield Processes(server).connect(None, "")
    server.close()


@pytest.mark.parametrize("name", list(ProofName))
def test_the_proof_passes(
    instruments: Instruments, connect: Connect, name: ProofName, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(comparisons, "_WITH_OWN_OUTPUTS", 1)  # which are for information
    proofs: list[Proof] = []
    carry_out((name,), instruments, connect, proofs.append, lambda *_: None, lambda: None)
    [proof] = proofs
    if proof.passed is None:
        pytest.skip(proof.reason_skipped or proof.reason_inconclusive)
    failed = [f"{row.label}: {row.values} {row.note}" for row in proof.rows if row.passed is False]
    assert proof.passed, "\n".join([proof.finding, *failed])


def test_a_capture_that_fails_harms_no_later_one(instruments: Instruments) -> None:
    def synchronises(x: torch.Tensor) -> torch.Tensor:
        x.sum().item()
        return x * 2

    x = torch.rand(2**20, device=instruments.torch_device)
    before = torch.cuda.current_stream()
    pool = instruments.output_pool()
    timer = instruments.timer(synchronises, [(x,)], pool)
    assert timer.method is not Method.CUDA_GRAPH
    assert "not permitted when stream is capturing" in timer.reason
    assert torch.cuda.current_stream() == before
    torch.cuda.empty_cache()  # torch up to 2.11 refuses this while it believes that a capture goes on
    assert instruments.timer(torch.neg, [(x,)], pool).method is Method.CUDA_GRAPH


class Knot:
    """Holds a CUDA graph until a collection comes by."""

    def __init__(self) -> None:
        self.itself = self
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            torch.zeros(1, device="cuda")


def test_no_graph_is_destroyed_within_the_capture_of_another(instruments: Instruments) -> None:
    """The driver forbids it, and the capture would fail."""
    knots: list[Knot] = []

    def forgets(x: torch.Tensor) -> torch.Tensor:
        knots.clear()
        assert len([[] for _ in range(100_000)]) == 100_000  # collections are due
        return x * 2

    x = torch.rand(2**20, device=instruments.torch_device)
    gc.collect()
    knots.append(Knot())
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        forgets(x)
    assert gc.isenabled()
