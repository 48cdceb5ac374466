"""Public files and tutorials as they stand: interpreted, or compiled for a GPU that is not here."""

import shutil
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest

from roofscope.profiling.planning.derivation import Derivation, Question
from roofscope.profiling.planning.one_file import complete as completing
from roofscope.profiling.planning.one_file.complete import complete, keep, path_for
from roofscope.profiling.planning.one_file.cpp_offers import cpp_offers
from roofscope.profiling.planning.one_file.draft import Asked, draft
from roofscope.profiling.planning.one_file.form import FormFault
from roofscope.profiling.planning.one_file.parts import Parts, read_parts
from roofscope.profiling.worker.build.device_text import device_text, with_headers
from roofscope.profiling.worker.build.extension_unit import unit_text
from roofscope.profiling.worker.derive.deriving import derivation
from roofscope.tests.kernels import interpreter, own_file_interpreted
from roofscope.tests.public_files import DATA, PUBLIC, REFUSED, TUTORIALS, Tried

INTERPRETED = [one for one in (*PUBLIC, *TUTORIALS) if one.path.suffix == ".py" and one.small]
# Of products in float16 and of their output's rounding; the others are exact but for their sums.
LIMITS = {"matmul.py": 1e-3}
triton = pytest.importorskip("triton", reason="Triton is not installed here")


@pytest.fixture(scope="module")
def interpreting() -> Iterator[ProcessPoolExecutor]:
    """A process of its own: it says that it has a device."""
    with interpreter.start() as pool:
        yield pool


@pytest.fixture(autouse=True)
def in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """The child that derives work takes seconds to start, and is tested by itself."""

    def derive(question: Question) -> Derivation:
        return derivation(question, time.monotonic() + 60)

    monkeypatch.setattr(completing, "derive", derive)


def form_of(one: Tried, folder: Path, *, is_small: bool = False) -> Path:
    shutil.copytree(one.path.parents[len(Path(one.file).parts) - 2], folder / "data")
    source = folder / "data" / Path(*Path(one.file).parts[1:])
    names = (one.function,) if one.function else ()
    inputs = one.small if is_small else one.inputs
    asked = Asked(source, names, one.reference, inputs, one.call, one.grid, one.block)
    form = path_for(source, names)
    keep(complete(draft(asked), source.parent), form)
    return form


def parts_of(one: Tried, folder: Path) -> Parts:
    return read_parts(form_of(one, folder))


@pytest.mark.parametrize("one", INTERPRETED, ids=lambda one: one.name)
def test_a_file_as_it_stands_computes_what_its_reference_does(
    one: Tried, tmp_path: Path, interpreting: ProcessPoolExecutor
) -> None:
    form = form_of(one, tmp_path, is_small=True)
    found = interpreting.submit(own_file_interpreted.errors, form, "float32", {}).result()
    assert len(found) == 1
    assert max(found.values()) < LIMITS.get(one.path.name, 1e-6)


def test_a_module_and_what_judges_it_have_the_same_weights(
    tmp_path: Path, interpreting: ProcessPoolExecutor
) -> None:
    one = next(one for one in PUBLIC if one.path.name == "model_new_layer_norm.py")
    form = form_of(one, tmp_path)  # nothing is said: the file has its inputs, and what is right
    parts = read_parts(form)
    assert parts.spec.presets[0].sizes == {"rows": 128, "cols": 512}
    assert parts.spec.formula == "model_new_layer_norm.py:Model"
    found = interpreting.submit(own_file_interpreted.errors, form, "float32", {}).result()
    assert max(found.values()) < 1e-6


@pytest.mark.parametrize("one", [*PUBLIC, *TUTORIALS], ids=lambda one: one.name)
def test_every_file_becomes_a_kernel_with_its_reference_beside_it(one: Tried, tmp_path: Path) -> None:
    parts = parts_of(one, tmp_path)
    own = [found for found in parts.implementations if found.variant and found.provider != "compile"]
    assert len(own) == 1
    assert parts.spec.work.read_bytes != "0"


def test_what_cannot_run_says_why() -> None:
    with pytest.raises(FormFault, match="kernels of Numba, and no function that takes torch tensors"):
        draft(Asked(REFUSED.path, reference=REFUSED.reference))


@pytest.mark.parametrize(
    ("file", "kernel"),
    [
        ("public/layernorm_forward.cu", "layernorm_forward_kernel3"),  # with a header and host code in it
        ("public/sgemm_naive.cuh", "sgemm_naive"),  # with cuBLAS' header, and uint
        ("public/solve.cu", "leaky_relu_kernel"),  # beside extern "C"
        ("public/muladd.cu", "extension_cpp::muladd_kernel"),  # in a namespace, beside functions of tensors
    ],
)
def test_a_bare_kernel_compiles_beside_what_only_a_host_has(file: str, kernel: str) -> None:
    cuda = pytest.importorskip("roofscope.profiling.worker.build.providers.cuda")
    module, ptx = cuda.compiled(DATA / file, None, "sm_90a", [kernel])
    assert kernel in module.symbol_mapping
    assert ".entry" in ptx


def test_a_line_of_a_kernel_is_that_of_its_file_behind_headers_of_its_own(tmp_path: Path) -> None:
    cuda = pytest.importorskip("roofscope.profiling.worker.build.providers.cuda")
    (tmp_path / "mine.h").write_text("#pragma once\n#include <stdio.h>\nstatic int host;\nvoid f() { }\n")
    text = '#include "mine.h"\n#include "mine.h"\n__global__ void k(float* x) {\n    x[0] = y;\n}\n'
    (tmp_path / "broken.cu").write_text(text)
    assert with_headers(text, tmp_path / "broken.cu").count("static int host") == 1
    with pytest.raises(cuda.BuildError) as caught:
        cuda.compiled(tmp_path / "broken.cu", None, "sm_90a", ["k"])
    assert "broken.cu(4)" in caught.value.log


def test_includes_in_front_of_a_host_function_stay() -> None:
    text = "#include <here.h>\n#define TILE 32\nvoid host() { }\nint count = 3;\nconst int WIDTH = 4;\n"
    assert device_text(f'#include "own.h"\n{text}', []).split() == [
        *("#include", '"own.h"', "#define", "TILE", "32", "const", "int", "WIDTH", "=", "4;"),
    ]


def test_an_operator_launches_by_pointers_and_calls_into_a_namespace() -> None:
    launcher = cpp_offers((DATA / "public" / "solve.cu").read_text())[0]
    text = unit_text("solve.cu", "name", launcher)
    assert "[](at::Tensor a0, at::Tensor a1, int64_t a2)" in text
    assert "static_cast<float*>(a0.data_ptr())" in text
    extension = cpp_offers((DATA / "public" / "muladd.cu").read_text())[0]
    assert "::extension_cpp::mymuladd_cuda(a0, a1, static_cast<double>(a2))" in unit_text("m", "n", extension)
