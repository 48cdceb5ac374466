"""The files of tests/data/public and tests/data/tutorials, and what a user gives for each.

Tests try them here, `benchmarks/public_files.py` on a GPU.
"""

from pathlib import Path
from typing import NamedTuple

DATA = Path(__file__).parent / "data"


class Tried(NamedTuple):
    """A file, and what is said of it. ``small`` are inputs that an interpreter ends with in a second."""

    file: str
    function: str = ""
    reference: str = ""
    inputs: tuple[str, ...] = ()
    small: tuple[str, ...] = ()
    call: str = ""
    grid: str = ""
    block: str = ""
    dtype: str = ""

    @property
    def path(self) -> Path:
        return DATA / self.file

    @property
    def name(self) -> str:
        return f"{self.path.name}:{self.function}" if self.function else self.path.name

    def options(self, *, is_small: bool = False) -> list[str]:
        """As ``run`` takes them, after the file."""
        inputs = self.small if is_small else self.inputs
        words = [word for given in inputs for word in ("--input", given)]
        for name in ("reference", "call", "grid", "block"):
            if value := getattr(self, name):
                words += [f"--{name}", value]
        return words


_LAYER_NORM = "F.layer_norm(x, x.shape[-1:], weight, bias)"
_ATTENTION = "F.scaled_dot_product_attention(q, k, v)"
PUBLIC = (
    Tried(
        "public/gated/ops/swiglu.py",
        "",
        "F.silu(a) * b",
        ("a=4096x8192", "b=4096x8192"),
        ("a=33x200", "b=33x200"),
    ),
    Tried(
        "public/gated/ops/rms_norm.py",
        reference="F.rms_norm(X, X.shape[-1:], W, 1e-5)",
        inputs=("X=4096x8192", "W=8192"),
        small=("X=33x200", "W=200"),
    ),
    Tried(
        "public/l2norm.py", reference="F.normalize(x, dim=-1)", inputs=("x=65536x128",), small=("x=33x60",)
    ),
    Tried("public/square.py", reference="x * x", inputs=("x=4096x4096",), small=("x=33x200",)),
    Tried(
        "public/cross_entropy.py",
        reference="F.cross_entropy(_input, target)",
        inputs=("_input=4096x32000", "target=4096:int64<32000"),
        small=("_input=33x200", "target=33:int64<200"),
        call="CrossEntropyFunction.apply(_input, target, None)",
    ),
    Tried("public/model_new_layer_norm.py"),
    Tried(
        "public/solve.py", reference="F.leaky_relu(input)", inputs=("input=16777216",), small=("input=1031",)
    ),
    Tried("public/inline_square.py", reference="matrix * matrix", inputs=("matrix=4096x4096:float32",)),
    Tried("public/solve.cu", reference="F.leaky_relu(input)", inputs=("input=16777216",)),
    Tried(
        "public/layernorm_forward.cu",
        "layernorm_forward_kernel3",
        "layer_norm_reference.py:layer_norm",
        ("inp=8192x768", "weight=768", "bias=768"),
        call="layernorm_forward_kernel3(out, mean, rstd, inp, weight, bias, rows, cols)",
        grid="cdiv(rows * 32, 256)",
        block="256",
    ),
    Tried(
        "public/mean_filter.cu",
        reference="mean_filter_reference.py:mean_filter",
        inputs=("image=3x1080x1920:uint8<256",),
        call="mean_filter(image, 8)",
    ),
    Tried(
        "public/muladd.cu",
        "mymuladd_cuda",
        "a * b + 2.5",
        ("a=16777216", "b=16777216"),
        call="mymuladd_cuda(a, b, 2.5)",
    ),
    Tried(
        "public/sgemm_naive.cuh",
        reference="A @ B",
        inputs=("A=1024x2048", "B=2048x512"),
        call="sgemm_naive(m, n, k, 1.0, A, B, 0.0, C.zero_())",
        grid="(cdiv(m, 32), cdiv(n, 32))",
        block="(32, 32)",
    ),
)
REFUSED = Tried("public/numba_square.py", reference="matrix * matrix", inputs=("matrix=4096x4096",))
TUTORIALS = (
    Tried(
        "tutorials/vector_add.py",
        reference="x + y",
        inputs=("x=16777216", "y=16777216"),
        small=("x=1031", "y=1031"),
    ),
    Tried("tutorials/fused_softmax.py", reference="fused_softmax.py:naive_softmax", inputs=("x=4096x4096",)),
    Tried(
        "tutorials/matmul.py",
        reference="a @ b",
        inputs=("a=2048x2048", "b=2048x2048"),
        small=("a=64x128", "b=128x64"),
    ),
    Tried(
        "tutorials/dropout.py",
        "dropout",
        "torch.where(x_keep > 0, x / 0.5, 0.0)",
        ("x=16777216", "x_keep=16777216:int32<2"),
        ("x=1031", "x_keep=1031:int32<2"),
        "dropout(x, x_keep, 0.5)",
    ),
    Tried("tutorials/dropout.py", "seeded_dropout", "x.clone()", ("x=16777216",), ("x=1031",)),
    Tried(
        "tutorials/layer_norm.py",
        reference=_LAYER_NORM,
        inputs=("x=4096x4096", "weight=4096", "bias=4096"),
        small=("x=33x200", "weight=200", "bias=200"),
    ),
    Tried(
        "tutorials/attention.py",
        reference=_ATTENTION,
        inputs=("q=4x16x2048x64:fp16", "k=4x16x2048x64", "v=4x16x2048x64"),
        small=("q=1x2x128x32", "k=1x2x128x32", "v=1x2x128x32"),
    ),
    Tried(
        "tutorials/vector_add.cu",
        reference="A + B",
        inputs=("A=16777216", "B=16777216"),
        grid="cdiv(n, 256)",
        block="256",
    ),
    Tried("tutorials/gelu.cu", reference="F.gelu(x, approximate='tanh')", inputs=("x=16777216",)),
    Tried("tutorials/add_extension.cu", reference="a + b", inputs=("a=16777216", "b=16777216")),
    Tried("tutorials/add_extension.cpp", reference="a + b", inputs=("a=16777216", "b=16777216")),
    Tried("tutorials/eager_softmax.py", "softmax", "torch.softmax(x, -1)", ("x=4096x4096",), ("x=33x200",)),
)
