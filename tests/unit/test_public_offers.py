"""What public files of many habits offer and say of their inputs: read, and never run."""

from pathlib import Path

import pytest

from roofscope.profiling.planning.one_file.cpp_offers import cpp_offers
from roofscope.profiling.planning.one_file.draft import (
    Asked,
    Missing,
    all_offers,
    chosen_offers,
    draft,
    proposal,
)
from roofscope.profiling.planning.one_file.form import FormFault
from roofscope.profiling.planning.one_file.given_inputs import given_inputs
from roofscope.profiling.planning.one_file.offers import Kind, Offer
from roofscope.profiling.planning.one_file.python_offers import python_offers
from roofscope.profiling.planning.one_file.shapes import input_names, stated
from roofscope.tests.public_files import DATA

PUBLIC = DATA / "public"
IMPORT = "import torch.nn as nn\n"
MODEL = "class Model(nn.Module):\n    def forward(self, x, y):\n        return x + y\n"


@pytest.mark.parametrize(
    ("file", "kind", "name", "call"),
    [
        ("gated/ops/swiglu.py", Kind.TRITON, "SwiGLUFunction.apply", "SwiGLUFunction.apply(a, b)"),
        ("gated/ops/rms_norm.py", Kind.TRITON, "RMSNormFunction.apply", "RMSNormFunction.apply(X, W, 1e-5)"),
        ("l2norm.py", Kind.TRITON, "l2norm", "l2norm(x)"),
        ("square.py", Kind.TRITON, "square", "square(x)"),
        ("model_new_layer_norm.py", Kind.TRITON, "ModelNew", "ModelNew(x)"),
        ("solve.py", Kind.TRITON, "solve", "solve(input, output, N)"),
        (
            "inline_square.py",
            Kind.INLINE,
            "square_matrix_extension.square_matrix",
            "square_matrix_extension.square_matrix(matrix)",
        ),
        ("solve.cu", Kind.LAUNCHER, "solve", "solve(input, output, N)"),
        ("mean_filter.cu", Kind.EXTENSION, "mean_filter", "mean_filter(image, radius)"),
        ("sgemm_naive.cuh", Kind.BARE, "sgemm_naive", "sgemm_naive(M, N, K, 1.0, A, B, 0.0, C.zero_())"),
    ],
)
def test_what_stands_out_is_offered_and_its_call_guessed(file: str, kind: Kind, name: str, call: str) -> None:
    (offer,) = chosen_offers(PUBLIC / file, ())
    assert (offer.kind, offer.name) == (kind, name)
    assert proposal(PUBLIC / file, offer).call == call


def test_launchers_stand_before_the_kernels_that_they_launch_and_each_can_be_named() -> None:
    offers = all_offers(PUBLIC / "layernorm_forward.cu")
    assert [(one.kind, one.name) for one in offers if one.is_plain] == [
        (Kind.LAUNCHER, "layernorm_forward1"),
        (Kind.LAUNCHER, "layernorm_forward3"),
    ]
    (kernel,) = chosen_offers(PUBLIC / "layernorm_forward.cu", ("layernorm_forward_kernel3",))
    assert kernel.kind is Kind.BARE
    assert input_names(kernel) == (("inp", "weight", "bias"), ("out", "mean", "rstd"))


def test_a_host_function_that_copies_takes_a_hosts_pointers_and_is_none() -> None:
    body = "cudaMalloc(&d, n); k<<<1, 1>>>(d);"
    offers = cpp_offers(f"__global__ void k(float* x) {{ }}\nvoid add(float* a, int n) {{ {body} }}\n")
    assert [one.name for one in offers] == ["k"]


def test_a_namespace_is_a_part_of_a_functions_name() -> None:
    source = "namespace a { namespace b {\ntorch::Tensor f(torch::Tensor x) { return x; }\n} }\n"
    (offer,) = cpp_offers(source)
    assert offer.namespace == "a::b::"
    (after,) = cpp_offers(
        "namespace a { int x; }\nnamespace {\ntorch::Tensor g(torch::Tensor x) { return x; }\n}"
    )
    assert after.namespace == ""


@pytest.mark.parametrize(
    ("body", "call"),
    [
        ("out[i] = in[i];", "k(in, out, n)"),
        ("atomicAdd(out, in[i]);", "k(in, out.zero_(), n)"),
        ("atomicAdd(&out[i / 8], in[i]);", "k(in, out.zero_(), n)"),
        ("out[i] += in[i];", "k(in, out.zero_(), n)"),
        ("out[f(i)] = in[i] + b * out[f(i)];", "k(in, out.zero_(), n)"),
    ],
)
def test_an_output_that_is_read_before_it_is_written_begins_at_zero(
    tmp_path: Path, body: str, call: str
) -> None:
    source = tmp_path / "k.cu"
    source.write_text(f"__global__ void k(const float* in, float* out, int n) {{ {body} }}\n")
    (offer,) = all_offers(source)
    assert proposal(source, offer).call == call


def test_a_backward_pass_is_measured_where_it_is_named() -> None:
    source = "import triton\n@triton.jit\ndef k(x): ...\n"
    both = "def f_forward(x):\n    return k[1](x)\ndef f_backward(dy):\n    return k[1](dy)\n"
    assert [(one.name, one.is_plain) for one in python_offers(source + both)] == [
        ("f_forward", True),
        ("f_backward", False),
    ]
    only = "def f_backward(dy):\n    return k[1](dy)\n"
    assert [one.is_plain for one in python_offers(source + only)] == [True]


def test_parts_of_a_network_are_offered_and_not_chosen() -> None:
    head = "class Head(nn.Module):\n    def forward(self, x):\n        return f(x)\n"
    source = f"{IMPORT}def f(x):\n    return x\n{head}"
    assert [(one.name, one.is_plain) for one in python_offers(source)] == [("f", True), ("Head", False)]


def test_a_size_is_no_tensor_but_k_of_attention_is() -> None:
    (offer,) = python_offers("def attend(q, k, v):\n    return f(q, k.shape, v)\n")
    assert [one.name for one in offer.tensors] == ["q", "k", "v"]
    (other,) = python_offers("def top(x, k):\n    return x[:k]\n")
    assert [one.name for one in other.tensors] == ["x"]


def test_a_function_that_returns_nothing_writes_to_its_arguments() -> None:
    (offer,) = python_offers("def add(a, b, c):\n    k[1](a, b, c)\n")
    assert input_names(offer) == (("a", "b"), ("c",))
    (returning,) = python_offers("def add(a, b, c):\n    return k[1](a, b, c)\n")
    assert input_names(returning) == (("a", "b", "c"), ())


def model(text: str) -> Offer:
    return next(one for one in python_offers(text) if one.name == "Model")


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("    return [torch.rand(M, 4), torch.randn(M * 2)]", ("x=16x4", "y=32")),
        ("    return [torch.rand(SHAPE), torch.zeros((M,))]", ("x=8x4", "y=16")),
        ("    x = torch.rand(M, *SHAPE[1:]).cuda()\n    return [x, x * 2]", ("x=16x4", "y=16x4")),
        (
            "    return [torch.rand(M, 9, dtype=torch.bfloat16), torch.randint(0, 9, (M,))]",
            ("x=16x9:bfloat16", "y=16:int64<9"),
        ),
        (
            "    return [torch.rand(M).half(), torch.rand(M).to(torch.float16)]",
            ("x=16:float16", "y=16:float16"),
        ),
        ("    return [torch.rand(M), 3]", ()),  # a number
        ("    return [load('x.pt'), torch.rand(M)]", ()),
        ("    return [torch.rand(M, f()), torch.rand(M)]", ()),
        ("    x = y\n    y = x\n    return [x, y]", ()),
        ("    return [torch.rand(10 ** 10 ** 10)]", ()),
    ],
)
def test_inputs_that_a_file_makes_are_read_and_not_made(body: str, words: tuple[str, ...]) -> None:
    text = f"{IMPORT}M = 16\nSHAPE = (8, 4)\n{MODEL}def get_inputs():\n{body}\n"
    assert given_inputs(text, model(text)) == words


def test_a_new_model_needs_no_word_where_its_model_and_inputs_are_in_its_file() -> None:
    made = draft(Asked(PUBLIC / "model_new_layer_norm.py"))
    assert made.form.reference == "model_new_layer_norm.py:Model"
    assert made.form.inputs == {"x": "rows, cols"}
    assert made.was_guessed == ""


def test_a_new_model_takes_its_inputs_of_the_file_of_its_reference(tmp_path: Path) -> None:
    (tmp_path / "problem.py").write_text(
        f"{IMPORT}{MODEL}def get_inputs():\n    return [torch.rand(3, 5), torch.rand(3, 5)]\n"
    )
    source = tmp_path / "answer.py"
    source.write_text(f"{IMPORT}{MODEL.replace('Model', 'ModelNew')}")
    with pytest.raises(Missing, match=r"nothing says what answer\.py:ModelNew must compute"):
        draft(Asked(source))
    made = draft(Asked(source, reference="problem.py:Model"))
    assert made.form.sizes == {"rows": 3, "cols": 5}


def test_a_call_says_itself_which_tensors_there_are() -> None:
    made = draft(
        Asked(
            PUBLIC / "cross_entropy.py",
            (),
            "x",
            ("_input=8x9", "target=8:int64<9"),
            "CrossEntropyFunction.apply(_input, target, None)",
        )
    )
    assert made.form.inputs == {"_input": "rows, cols", "target": "rows: int64 < cols"}
    with pytest.raises(FormFault, match="takes weight too"):
        draft(Asked(PUBLIC / "cross_entropy.py", (), "x", ("_input=8x9", "target=8:int64<9")))


def test_pointers_to_whole_numbers_are_such_tensors() -> None:
    (offer,) = cpp_offers("__global__ void k(const float* x, const int* at, unsigned char* y, int n) { }\n")
    assert stated(("x=9x7", "at=9"), offer).elements == {"at": ": int32"}


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("@cuda.jit\ndef k(x): ...\n", "Numba"),
        ("k = cp.RawKernel('', 'k')\n", "CuPy"),
        ("@cute.kernel\ndef k(x): ...\n", "the CuTe DSL"),
        ("@triton.jit\ndef k(x): ...\n", "Triton"),
    ],
)
def test_kernels_without_a_function_that_launches_them_are_said(
    tmp_path: Path, text: str, language: str
) -> None:
    source = tmp_path / "k.py"
    source.write_text(text)
    with pytest.raises(FormFault, match=f"kernels of {language}, and no function that takes torch tensors"):
        all_offers(source)


CUTE = """
import functools
import cutlass
import torch
from cutlass import cute
from cutlass.cute.runtime import from_dlpack

@cute.kernel
def add_kernel(x: cute.Tensor, y: cute.Tensor, z: cute.Tensor):
    block, thread = cute.arch.block_idx()[0], cute.arch.thread_idx()[0]
    at = block * 256 + thread
    if at < cute.size(x):
        z[at] = x[at] + y[at]

@cute.jit
def launch(x: cute.Tensor, y: cute.Tensor, z: cute.Tensor):
    add_kernel(x, y, z).launch(grid=(cute.ceil_div(cute.size(x), 256), 1, 1), block=(256, 1, 1))

def add(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    z = torch.empty_like(x)
    launch(from_dlpack(x), from_dlpack(y), from_dlpack(z))
    return z

def plain_add(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return x + y
"""


def test_a_file_in_the_cute_dsl_is_taken_as_it_stands(tmp_path: Path) -> None:
    source = tmp_path / "add.py"
    source.write_text(CUTE)
    (offer,) = chosen_offers(source, ())
    assert (offer.name, offer.kind) == ("add", Kind.CUTE)
    drafted = draft(Asked(source, (), "x + y", ("x=1000", "y=1000")))
    assert drafted.form.inputs == {"x": "n", "y": "n"}
