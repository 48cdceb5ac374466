"""Without a GPU: Triton interpreted and verified, Triton and CUDA compiled for one, by the command line."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from roofscope.profiling.results.generated import CodeKind
from roofscope.profiling.results.outcome import Examined, Failed, FailureKind, Measured, Skipped, Stage
from roofscope.profiling.results.session_reader import load, load_code
from roofscope.profiling.worker.build.without_gpu.stand_in import DEVICE, StandIn
from roofscope.profiling.worker.candidate.memory import raw_bytes
from roofscope.profiling.worker.failures import Refusal
from roofscope.tests.worker.command_line import keep_ceilings, main
from roofscope.tests.worker.toys import REFERENCE, add_toy

TUTORIALS = Path(__file__).parents[1] / "data" / "tutorials"
TRITON = """
import torch
import triton
import triton.language as tl

@triton.jit
def double(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    {load}
    tl.store(y + at, {result}, mask=at < n)

def run(x):
    y = torch.empty_like(x)
    n = x.numel()
    double[(triton.cdiv(n, 256),)](x, y, n, BLOCK=256)
    return y
"""
LOAD = "found = tl.load(x + at, mask=at < n)"
CUDA = """extern "C" __global__ void doubled(const SCALAR* x, SCALAR* y, long long n) {{
    extern __shared__ float room[];
    __shared__ float more[64];
    long long at = blockIdx.x * 256ll + threadIdx.x;
    more[threadIdx.x % 64] = 2.0f * (float)x[at % n];
    room[threadIdx.x % 64] = more[threadIdx.x % 64];
    __syncthreads();
    {statement}
}}
"""
LAUNCHER = """
import torch

def run(program, x):
    y = torch.empty_like(x)
    n = x.numel()
    program.launch("doubled", -(-n // 256), 256, x, y, n, shared_bytes=1024)
    return y
"""


def test_each_version_ends_in_what_can_be_known_of_it_without_a_gpu(tmp_path: Path) -> None:
    pytest.importorskip("triton")
    pytest.importorskip("cuda.core")
    keep_ceilings(tmp_path / "cache")
    folder = add_toy(tmp_path / "mine", "doubled", REFERENCE)
    (folder / "triton_right.py").write_text(TRITON.format(load=LOAD, result="2 * found"))
    (folder / "triton_wrong.py").write_text(
        TRITON.format(load=LOAD, result="tl.where(at == 1000, 0.0, 2 * found)")
    )
    (folder / "triton_broken.py").write_text(TRITON.format(load=LOAD, result="2 * fuond"))
    for stem, statement in (("right", "if (at < n) y[at] = room[threadIdx.x % 64];"), ("broken", "y = z;")):
        (folder / f"cuda_{stem}.cu").write_text(CUDA.format(statement=statement))
        (folder / f"cuda_{stem}.py").write_text(LAUNCHER)
    out = tmp_path / "a.roofscope"
    words = ("--kernels", tmp_path / "mine", "--provider", "triton", "--provider", "cuda", "--provider")
    done = main(
        tmp_path, "run", "doubled", *words, "eager", "--interpret", "--arch", "RTX 4090", "--out", out
    )
    assert done.returncode == 1, done.stdout + done.stderr
    session = load(out)
    outcomes = {point.implementation.stem: point.outcome for point in session.points}
    assert isinstance(outcomes["eager"], Measured)

    right = outcomes["triton_right"]
    assert isinstance(right, Examined)
    assert right.verification is not None
    assert right.verification.shape_count == 2
    assert right.verified_sizes == {"n": 65536}
    assert right.build is not None
    [kernel] = right.build.kernels
    assert (kernel.name, right.architecture) == ("double", "sm_89")
    assert kernel.registers
    assert kernel.launch is not None
    assert (kernel.launch.grid, kernel.launch.threads) == ((256, 1, 1), 128)

    cuda = outcomes["cuda_right"]
    assert isinstance(cuda, Examined)
    assert cuda.verification is None
    assert cuda.build is not None
    [kernel] = cuda.build.kernels
    assert kernel.shared_bytes == 256
    assert kernel.launch is not None
    assert (kernel.launch.blocks, kernel.launch.threads, kernel.launch.shared_bytes) == (256, 256, 1280)

    wrong = outcomes["triton_wrong"]
    assert isinstance(wrong, Failed)
    assert (wrong.kind, wrong.stage) == (FailureKind.WRONG_VALUES, Stage.VERIFY)
    assert "element 1000 of output y" in wrong.message
    for stem, mark in (("triton_broken", "fuond"), ("cuda_broken", "cuda_broken.cu(8)")):
        broken = outcomes[stem]
        assert isinstance(broken, Failed)
        assert broken.kind is FailureKind.BUILD_ERROR
        assert mark in broken.message + broken.log
    kept = {code.implementation.stem: load_code(out, code.number) for code in session.codes}
    assert {CodeKind.TTIR, CodeKind.PTX} <= {code.kind for code in kept["triton_right"]}
    [ptx] = [code.text for code in kept["cuda_right"] if code.kind is CodeKind.PTX]
    assert "sm_89" in ptx


def test_a_tutorials_file_is_verified_as_it_stands_on_a_machine_without_a_gpu(tmp_path: Path) -> None:
    pytest.importorskip("triton")
    keep_ceilings(tmp_path / "cache")
    shutil.copy(TUTORIALS / "fused_softmax.py", tmp_path)
    out = tmp_path / "a.roofscope"
    words = ("--reference", "torch.softmax(x, -1)", "--input", "x=64x48", "--provider", "triton")
    done = main(tmp_path, "run", tmp_path / "fused_softmax.py:softmax", *words, "--interpret", "--out", out)
    assert done.returncode == 0, done.stdout + done.stderr
    [point] = load(out).points
    assert isinstance(point.outcome, Examined)
    assert point.outcome.verification is not None
    assert point.outcome.architecture == "sm_90"
    assert "verified in the interpreter, not timed" in done.stdout


def test_words_that_do_not_fit_are_refused_before_anything_runs(tmp_path: Path) -> None:
    alone = main(tmp_path, "run", "copy", "--arch", "sm_90")
    assert alone.returncode == 2
    assert "give --interpret as well" in alone.stderr
    unknown = main(tmp_path, "run", "copy", "--interpret", "--arch", "sm_12345")
    assert unknown.returncode == 2
    assert "sm_75" in unknown.stderr


def test_a_result_whose_only_element_has_a_stride_is_read() -> None:
    """Triton's launchers return views such as ``c[:, :1]``, contiguous by torch's word."""
    column = torch.arange(128.0).view(1, 128)[:, 7:8]
    assert column.is_contiguous()
    assert raw_bytes(column) == torch.tensor([7.0]).numpy().tobytes()


def test_a_skip_stays_a_skip(tmp_path: Path) -> None:
    """A launcher that refuses the element type is not examined, and not failed."""
    pytest.importorskip("cuda.core")
    keep_ceilings(tmp_path / "cache")
    out = tmp_path / "a.roofscope"
    done = main(tmp_path, "run", "matmul/cuda_wgmma", "--size", "m=64,n=64,k=64", "--interpret", "--out", out)
    [point] = load(out).points
    assert isinstance(point.outcome, Skipped), done.stdout


def _in_place(x: torch.Tensor) -> object:
    return x.detach().requires_grad_()


def _by_assignment(x: torch.Tensor) -> object:
    x.requires_grad = True
    return x


def _when_made(x: torch.Tensor) -> object:
    return torch.empty(x.shape, device=x.device, requires_grad=True)


@pytest.mark.parametrize("differentiate", [_in_place, _by_assignment, _when_made])
def test_what_differentiates_is_refused_where_torch_would_end_the_process(
    differentiate: Callable[[torch.Tensor], object],
) -> None:
    with StandIn("sm_90").here():
        x = torch.empty(4, 8, device=DEVICE)
        with pytest.raises(Refusal, match="it differentiates"):
            differentiate(x)


def test_a_copy_into_one_piece_asks_for_no_device() -> None:
    with StandIn("sm_90").here():
        part = torch.empty(64, 72, device=DEVICE)[:, :70]
        assert not part.is_contiguous()
        copy = part.contiguous()
        assert (copy.shape, copy.is_contiguous(), copy.device) == ((64, 70), True, DEVICE)


def test_an_access_far_outside_is_told_with_what_names_its_line(tmp_path: Path) -> None:
    pytest.importorskip("triton")
    keep_ceilings(tmp_path / "cache")
    load_far = "found = tl.load(x + at.to(tl.int64) * 1_000_000_000)"
    (tmp_path / "far.py").write_text(TRITON.format(load=load_far, result="found"))
    words = ("--reference", "2 * x", "--input", "x=4096", "--provider", "triton", "--interpret")
    done = main(tmp_path, "run", tmp_path / "far.py:run", *words, "--out", tmp_path / "a.roofscope")
    assert "killed by SIGSEGV" in done.stdout, done.stdout + done.stderr
    assert "a debug run (--debug) names its line" in done.stdout
