"""Products of few rows on a real GPU: every number of rows, slices that meet, a graph that runs again."""

import pytest
import torch

from roofscope.profiling.paths import LIBRARY
from roofscope.profiling.planning.catalog import load_module
from roofscope.profiling.planning.spec import Dtype
from roofscope.tests.kernels.cases import CATALOG, random_inputs, reference, relative_error

KERNELS = [
    ("matmul", "cuda_ffma", "launch_few_rows", Dtype.FLOAT32),
    ("matmul", "cuda_ffma", "launch_few_rows", Dtype.FLOAT16),
    ("matmul", "cuda_ffma", "launch_few_rows", Dtype.BFLOAT16),
    ("matmul_tf32", "cuda_few_rows", "launch", Dtype.FLOAT32),
]
# Part of the columns of a block and many, of a step along k and many pieces; whole 16 bytes and others.
SIZES = [(5, 3), (128, 64), (130, 1), (257, 130), (1000, 1048), (516, 9000), (3, 20000), (2049, 777)]


@pytest.mark.parametrize(("name", "stem", "launcher", "dtype"), KERNELS)
def test_any_number_of_rows_in_any_slices_is_right(name: str, stem: str, launcher: str, dtype: Dtype) -> None:
    from roofscope.profiling.worker.build.providers import cuda

    kernel = CATALOG.kernel(name)
    assert kernel is not None
    architecture = cuda.architecture_of(torch.cuda.get_device_capability())
    program = cuda.CudaProgram(LIBRARY / name / f"{stem}.cu", dtype, architecture, torch.device("cuda", 0))
    launch = getattr(load_module(LIBRARY / name / f"{stem}.py"), launcher)
    for m in (1, 2, 3, 4, 7, 8, *((9, 16) if name == "matmul" else ())):
        for n, k in SIZES:
            inputs = random_inputs(kernel, {"m": m, "n": n, "k": k}, dtype, device="cuda")
            expected = reference(kernel, inputs)
            for slices in (1, 2, 7):
                error = relative_error((launch(program, *inputs, slices),), expected)
                assert error <= kernel.spec.tolerance.of(dtype), f"{m} x {n} x {k} in {slices}"
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result = launch(program, *inputs, 7)
    for _ in range(3):
        result.zero_()
        graph.replay()
        assert relative_error((result,), expected) <= kernel.spec.tolerance.of(dtype)


def test_long_sums_of_few_tiles_are_cut_along_k() -> None:
    """Where rows of B are of whole 16 bytes and where not, in parts that are added in one order."""
    from roofscope.profiling.worker.build.providers import cuda

    kernel = CATALOG.kernel("matmul")
    assert kernel is not None
    architecture = cuda.architecture_of(torch.cuda.get_device_capability())
    source = LIBRARY / "matmul" / "cuda_ffma.cu"
    program = cuda.CudaProgram(source, Dtype.FLOAT32, architecture, torch.device("cuda", 0))
    module = load_module(source.with_suffix(".py"))
    for m, n, k in ((84, 201, 6901), (38, 183, 2629), (34, 34, 1021), (17, 1031, 4097), (64, 128, 4096)):
        inputs = random_inputs(kernel, {"m": m, "n": n, "k": k}, Dtype.FLOAT32, device="cuda")
        first, again = module.run(program, *inputs), module.run(program, *inputs)
        assert relative_error((first,), reference(kernel, inputs)) <= kernel.spec.tolerance.float32, (
            f"{m} x {n}"
        )
        assert torch.equal(first, again)
