"""A user's bare kernels and extensions, as far as they can be tried without a GPU."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from roofscope.profiling.paths import LIBRARY
from roofscope.profiling.planning.one_file.cpp_offers import cpp_offers
from roofscope.profiling.planning.one_file.parts import Entry
from roofscope.profiling.planning.spec import Dtype, TensorSpec
from roofscope.profiling.worker.build.bare_launch import bare_launch, number_of
from roofscope.profiling.worker.build.device_text import device_text
from roofscope.profiling.worker.build.extension_unit import as_called, unit_text
from roofscope.profiling.worker.failures import BuildError

TUTORIALS = Path(__file__).parents[1] / "data" / "tutorials"


def entry(file: Path, call: str, grid: str = "cdiv(n, 256)", block: str = "256") -> Entry:
    (offer,) = cpp_offers(file.read_text())
    inputs = (TensorSpec("A", ("n",)), TensorSpec("B", ("n",)))
    form = str(file.with_suffix(".roofscope.py"))
    return Entry(str(file), call, offer, form, 5, inputs, (TensorSpec("C", ("n",)),), grid, block)


def test_a_bare_kernel_gets_its_arguments_in_its_types() -> None:
    file = TUTORIALS / "vector_add.cu"
    one = entry(file, "vectorAdd(A, B, C, n)")
    assert one.offer is not None
    launch = bare_launch(one, one.offer, Dtype.FLOAT32)
    launched: list[tuple[Any, ...]] = []
    program = SimpleNamespace(launch=lambda *arguments: launched.append(arguments))
    a, b = torch.ones(1000), torch.ones(1000)
    c = launch.run(program, a, b)
    assert isinstance(c, torch.Tensor)
    assert c.shape == (1000,)
    ((name, grid, block, *arguments),) = launched
    assert (name, grid, block) == ("vectorAdd", 4, 256)
    assert [found is wanted for found, wanted in zip(arguments, (a, b, c), strict=False)] == [True] * 3
    assert (arguments[3].dtype, int(arguments[3])) == ("int32", 1000)


def test_a_call_that_has_not_the_kernels_parameters_is_said() -> None:
    one = entry(TUTORIALS / "vector_add.cu", "vectorAdd(A, B, C)")
    assert one.offer is not None
    with pytest.raises(BuildError, match=r"roofscope.py:5: vectorAdd\(A, B, C, numElements\) takes 4"):
        bare_launch(one, one.offer, Dtype.FLOAT32)


@pytest.mark.parametrize(
    ("kind", "dtype"),
    [
        ("int", "int32"),
        ("const unsigned int", "uint32"),
        ("long long", "int64"),
        ("unsigned long long", "uint64"),
        ("size_t", "uint64"),
        ("const float", "float32"),
        ("double", "float64"),
        ("bool", "bool"),
        ("unsigned char", "uint8"),
        ("unsigned short int", "uint16"),
        ("long int", "int64"),
        ("const std::int32_t", "int32"),
    ],
)
def test_numbers_have_the_types_of_c(kind: str, dtype: str) -> None:
    make = number_of(kind)
    assert make is not None
    assert make(1).dtype == dtype


@pytest.mark.parametrize(
    ("dtype", "bits"),
    [(Dtype.FLOAT32, b"\0\0\0\x3f"), (Dtype.FLOAT16, b"\0\x38"), (Dtype.BFLOAT16, b"\0\x3f")],
)
def test_a_number_of_the_templates_type_is_of_the_workloads(
    tmp_path: Path, dtype: Dtype, bits: bytes
) -> None:
    file = tmp_path / "scale.cu"
    file.write_text(
        "template <typename T>\n__global__ void scale(const T* A, const T* B, T* C, const T by) { }\n"
    )
    one = entry(file, "scale(A, B, C, 0.5)", grid="1")
    assert one.offer is not None
    launched: list[tuple[Any, ...]] = []
    program = SimpleNamespace(launch=lambda *arguments: launched.append(arguments))
    bare_launch(one, one.offer, dtype).run(program, torch.ones(8), torch.ones(8))
    number = launched[0][-1]
    assert number.tobytes() == bits
    np.ctypeslib.as_ctypes_type(number.dtype)  # or it cannot be launched


@pytest.mark.parametrize("kind", ["scalar_t", "real", "Params"])
def test_a_number_of_an_unknown_type_is_not_launched_as_a_whole_one(tmp_path: Path, kind: str) -> None:
    file = tmp_path / "scale.cu"
    file.write_text(f"__global__ void scale(const float* A, const float* B, float* C, {kind} by) {{ }}\n")
    one = entry(file, "scale(A, B, C, 0.5)")
    assert one.offer is not None
    with pytest.raises(BuildError, match=f"takes by as '{kind}'"):
        bare_launch(one, one.offer, Dtype.FLOAT32)


def test_device_code_stays_on_its_line_without_what_only_a_host_runs() -> None:
    source = (TUTORIALS / "vector_add.cu").read_text()
    text = device_text(source, [])
    assert text.count("\n") == source.count("\n")
    assert text.splitlines()[7:14] == source.splitlines()[7:14]
    assert "main" not in text.split("main that tries it.")[1]
    assert "stdio" not in text


def test_structs_namespaces_and_device_functions_are_kept() -> None:
    source = (
        "#include <here.h>\n#define CHECK(x) do { if (x) exit(1); } while (0)\n"
        "struct Pair { float a; __device__ float sum() { return a; } };\n"
        "template <typename T> __device__ T twice(T x) { return 2 * x; }\n"
        "static void host(int n) { if (n) { CHECK(n); } }\nusing namespace std;\n"
        "__global__ void k(float* x) { x[0] = twice(x[0]); }\n"
    )
    text = device_text(source, [])
    kept = [bool(line.strip()) for line in text.splitlines()]
    assert kept == [False, True, True, True, False, False, True]


def test_a_kernel_for_nvcc_compiles_by_its_own_name(tmp_path: Path) -> None:
    cuda = pytest.importorskip("roofscope.profiling.worker.build.providers.cuda")
    module, ptx = cuda.compiled(TUTORIALS / "vector_add.cu", None, "sm_90a", ["vectorAdd"])
    assert "vectorAdd" in ptx
    assert "vectorAdd" in module.symbol_mapping
    broken = tmp_path / "broken.cu"
    broken.write_text(
        "#include <stdio.h>\nint main() { return 0; }\n__global__ void k(int* x) { x[0] = y; }\n"
    )
    with pytest.raises(BuildError) as caught:
        cuda.compiled(broken, None, "sm_90a", ["k"])
    assert "broken.cu(3)" in caught.value.log


def test_a_template_is_compiled_for_the_workloads_type(tmp_path: Path) -> None:
    cuda = pytest.importorskip("roofscope.profiling.worker.build.providers.cuda")
    file = tmp_path / "copy.cu"
    file.write_text(
        "template <typename T>\n__global__ void copy(const T* A, const T* B, T* C, int n) { *C = *A; }\n"
    )
    one = entry(file, "copy(A, B, C, n)")
    assert one.offer is not None
    launch = bare_launch(one, one.offer, Dtype.FLOAT32)
    assert launch.kernel == "copy<float>"
    module, _ = cuda.compiled(file, None, "sm_90a", [launch.kernel])
    assert launch.kernel in module.symbol_mapping


def test_an_operator_calls_a_function_in_its_own_types() -> None:
    (offer,) = cpp_offers("torch::Tensor scale(const torch::Tensor& x, float by, int times) { return x; }")
    text = unit_text("scale.cu", "name", offer)
    assert "[](at::Tensor a0, double a1, int64_t a2)" in text
    assert "::scale(a0, static_cast<float>(a1), static_cast<int>(a2))" in text
    assert "&run" in unit_text("gelu.cu", "name")


def test_an_operator_leaves_out_what_the_call_leaves_to_its_default() -> None:
    (offer,) = cpp_offers(
        "torch::Tensor f(torch::Tensor x, double eps = 1e-5f, bool fast = true) { return x; }"
    )
    for call, taken in (("f(x)", 1), ("f(x, 1e-3)", 2), ("f(x, 1e-3, False)", 3)):
        found = as_called(offer, call)
        assert found.parameters == offer.parameters[:taken]
        text = unit_text("f.cu", "name", found)
        assert f" a{taken - 1})" in text
        assert f"a{taken}" not in text
    assert as_called(offer, "f()").parameters == offer.parameters  # x has no default


def test_the_programs_own_sources_are_compiled_as_they_were() -> None:
    cuda = pytest.importorskip("roofscope.profiling.worker.build.providers.cuda")
    cuda.compile_source(LIBRARY / "gelu" / "cuda_naive.cu", Dtype.FLOAT32, "sm_90a")
