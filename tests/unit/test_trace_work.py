"""FLOPs and bytes of recorded operators, computed by hand; and what is unknown, with its reason."""

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from roofscope.profiling.traces.work.call import UnknownWork
from roofscope.profiling.traces.work.formulas import work_of
from roofscope.profiling.traces.work.operator_work import OperatorWork
from roofscope.tests.recorded_calls import BF16, FP8, FP32, Argument, recorded, work

A, B = ([8192, 1024], BF16), ([1024, 4096], BF16)
PRODUCT = 2 * 8192 * 4096 * 1024
READ = 2 * (8192 * 1024 + 1024 * 4096)
WRITTEN = 2 * 8192 * 4096


def test_matmuls() -> None:
    bias = ([4096], BF16)
    assert work("mm", A, B) == (PRODUCT, READ, WRITTEN)
    assert work("mm", A, B, ([8192, 4096], BF16)) == (PRODUCT, READ, WRITTEN), "out= is no input"
    assert work("addmm", bias, A, B, "1", "1") == (PRODUCT, READ + 2 * 4096, WRITTEN)
    assert work("addmm", bias, A, B, "0", "1") == (PRODUCT, READ, WRITTEN)
    one, other = ([6, 128, 64], FP32), ([6, 64, 96], FP32)
    batch = (2 * 6 * 128 * 96 * 64, 4 * 6 * (128 * 64 + 64 * 96), 4 * 6 * 128 * 96)
    assert work("bmm", one, other) == batch
    assert work("baddbmm", ([6, 128, 96], FP32), one, other, "1", "1") == (
        batch[0],
        batch[1] + 4 * 6 * 128 * 96,
        batch[2],
    )
    assert work("linear", ([4, 128, 256], BF16), ([512, 256], BF16), ([512], BF16)) == (
        2 * 512 * 512 * 256,
        2 * (512 * 256 + 512 * 256 + 512),
        2 * 512 * 512,
    )


def test_a_scaled_matmul_writes_the_type_that_it_is_asked_for() -> None:
    one, other, scale = ([512, 256], FP8), ([256, 768], FP8), ([], FP32)
    arguments = (one, other, scale, scale, None, None, "15", "False")
    assert work("_scaled_mm", *arguments) == (2 * 512 * 768 * 256, 512 * 256 + 256 * 768, 2 * 512 * 768)
    with pytest.raises(UnknownWork, match="type of its result"):
        work("_scaled_mm", *arguments[:6], "99")


def test_an_expanded_tensor_is_read_as_it_lies_in_memory() -> None:
    """The gradient of a sum is one number, expanded."""
    grad = {0: [0, 0]}
    assert work("mm", A, B, strides=grad) == (PRODUCT, 2 + 2 * 1024 * 4096, WRITTEN)
    assert work("mul", A, A, strides={1: [0, 1]})[1] == 2 * 8192 * 1024 + 2 * 1024
    overlapping = {0: [1, 1]}
    assert work("exp", ([8192, 1024], BF16), strides=overlapping)[1] == 2 * (8191 + 1023 + 1)


Q = ([2, 8, 512, 64], BF16)
LONG = ([2, 512, 8, 64], BF16)
SHORT = ([2, 256, 8, 64], BF16)
ROWS = 2 * 8 * 512
TENSOR = 2 * ROWS * 64


@pytest.mark.parametrize("causal", [False, True])
def test_attention_forward(causal: bool) -> None:
    pairs = 512 * 513 // 2 if causal else 512 * 512
    expected = (4 * 2 * 8 * pairs * 64, 3 * TENSOR, TENSOR + 4 * ROWS)
    cudnn = (Q, Q, Q, None, None, None, "512", "512", "True", "0.", str(causal), "False", None)
    assert work("_cudnn_attention_forward", *cudnn) == expected
    flash = (LONG, LONG, LONG, None, None, "512", "512", "0.", str(causal), "False", "0.125")
    assert work("_flash_attention_forward", *flash) == expected
    masked = (LONG, LONG, LONG, None, None, None, None, None, "0.", str(int(causal)), "True", None)
    assert work("_efficient_attention_forward", *masked) == expected
    assert work("_efficient_attention_forward", *masked[:10], "False", None)[2] == TENSOR


@pytest.mark.parametrize("causal", [False, True])
def test_attention_above_the_operators_that_launch(causal: bool) -> None:
    pairs = 512 * 513 // 2 if causal else 512 * 512
    forward = (4 * 2 * 8 * pairs * 64, 3 * TENSOR, TENSOR + 4 * ROWS)
    assert work("_scaled_dot_product_flash_attention", Q, Q, Q, "0.", str(causal), "False", None) == forward
    kept = (Q, Q, Q, None, "True", "0.", str(causal))
    assert work("_scaled_dot_product_efficient_attention", *kept, None) == forward
    assert work("_scaled_dot_product_cudnn_attention", *kept, "False", None) == forward
    sums, seed = ([2, 8, 512], FP32), ([], "long int")
    backward = (10 * 2 * 8 * pairs * 64, 5 * TENSOR + 4 * ROWS, 3 * TENSOR)
    said = (Q, Q, Q, Q, Q, sums, None, None, "512", "512", "0.", str(causal), seed, seed, None)
    assert work("_scaled_dot_product_flash_attention_backward", *said) == backward
    flags = "[True, True, True, False]"
    said = (Q, Q, Q, Q, None, Q, sums, seed, seed, "0.", flags, str(causal), None)
    assert work("_scaled_dot_product_efficient_attention_backward", *said) == backward
    said = (Q, Q, Q, Q, Q, sums, seed, seed, None, None, None, "512", "512", "0.", str(causal), None)
    assert work("_scaled_dot_product_cudnn_attention_backward", *said) == backward


@pytest.mark.parametrize("causal", [False, True])
def test_attention_backward(causal: bool) -> None:
    pairs = 512 * 513 // 2 if causal else 512 * 512
    sums = ([2, 8, 512, 1], FP32)
    expected = (10 * 2 * 8 * pairs * 64, 5 * TENSOR + 4 * ROWS, 3 * TENSOR)
    seed = ([], "long int")
    rest = (seed, seed, None, None, None, "512", "512", "0.", str(causal), None)
    assert work("_cudnn_attention_backward", Q, Q, Q, Q, Q, sums, *rest) == expected


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ((LONG, LONG, LONG, None, None, "512", "512", "0.", "", "False"), "decides is not recorded"),
        ((LONG, LONG, LONG, ([3], "int"), None, "512", "512", "0.", "False"), "lengths of sequences"),
        (
            (LONG, ([2, 256, 8, 64], BF16), ([2, 256, 8, 64], BF16), None, None, "", "", "", "True"),
            "two lengths",
        ),
        ((LONG, LONG, LONG, None, None, "", "", "", "True", "", "", "128"), "window"),
    ],
)
def test_attention_whose_pairs_are_not_known(arguments: tuple[Argument, ...], why: str) -> None:
    with pytest.raises(UnknownWork, match=why):
        work("_flash_attention_forward", *arguments)


def test_pointwise() -> None:
    x, row, n = ([2000, 1000], FP32), ([1000], FP32), 2_000_000
    assert work("add", x, row, "1") == (n, 4 * (n + 1000), 4 * n)
    assert work("add", x, row, "2")[0] is None, "a factor is one more multiplication"
    assert work("add_", x, x, "1") == (n, 8 * n, 4 * n)
    assert work("mul", x, ([], "double")) == (n, 4 * n, 4 * n), "a lone number may lie on the host"
    assert work("gelu", x, None) == (None, 4 * n, 4 * n)
    assert work("tanh_backward", x, x) == (3 * n, 8 * n, 4 * n)
    assert work("eq", x, row) == (n, 4 * (n + 1000), n)
    assert work("copy_", x, ([2000, 1000], BF16), "False") == (0, 2 * n, 4 * n)
    assert work("fill_", x, "1.") == (0, 0, 4 * n)


def test_reductions_norms_and_softmax() -> None:
    x, n = ([2000, 1000], BF16), 2_000_000
    assert work("sum", x, "[0]", "True", None) == (n - 1000, 2 * n, 2 * 1000)
    assert work("sum", x, "[]", "False", None) == (n - 1, 2 * n, 2)
    assert work("sum", x, None) == (n - 1, 2 * n, 2)
    assert work("sum", x, "[-1]", "False", "6") == (n - 2000, 2 * n, 4 * 2000)
    assert work("mean", x, "[1]", "False", None) == (n, 2 * n, 2 * 2000)
    assert work("_softmax", x, "1", "False") == (5 * n, 2 * n, 2 * n)
    assert work("_softmax", x, "1", "True")[2] == 4 * n
    assert work("_softmax_backward_data", x, x, "1", "15") == (None, 4 * n, 2 * n)
    w, sums = ([1000], BF16), ([2000, 1], FP32)
    assert work("native_layer_norm", x, "[1000]", w, w, "1e-05") == (8 * n, 2 * n + 4000, 2 * n + 16000)
    backward = work("native_layer_norm_backward", x, x, "[1000]", sums, sums, w, w, "[True, True, True]")
    assert backward == (None, 4 * n + 16000 + 2000, 2 * n + 4000)
    assert work("_fused_rms_norm", x, "[1000]", None, None) == (None, 2 * n, 2 * n + 8000)
    assert work("native_dropout", x, "0.1", "True") == (None, 2 * n, 3 * n)


@pytest.mark.parametrize(
    ("name", "arguments", "why"),
    [
        ("aten::embedding", recorded(([5000, 512], BF16), ([4], "long int")), "indices"),
        ("aten::_fused_adamw_", {"Input Dims": [[[1]]], "Input type": ["TensorList"]}, "list of tensors"),
        ("aten::nothing", recorded(A), "no formula"),
        ("triton_poi_fused_add_0", recorded(A), "fused kernel"),
        ("aten::mm", {}, "no shapes"),
        ("aten::gelu", {**recorded(A, None), "Input Strides": None}, "no strides"),
        ("aten::_foreach_mul_", recorded(A), "list of tensors"),
        ("aten::_fused_adam_", recorded(A), "list of tensors"),
        ("aten::nll_loss_forward", recorded(A), "indices"),
        ("aten::tril", recorded(A, "0"), "half"),
        ("aten::max", recorded(A, A), "another operator"),
        ("aten::bernoulli_", recorded(A, A), "probabilities"),
        ("aten::where", recorded(([8], "bool")), "type of its result"),
        ("aten::topk", recorded(A, "5000", "1", "True", "True"), "do not fit"),
        ("aten::max_pool2d_with_indices", recorded(A, "[2, 2]", "[2, 2]", "[0, 0]"), "do not fit"),
        ("aten::mm", recorded(A, A), "do not fit"),
        ("aten::mm", recorded(([8, 8], "Unheard"), ([8, 8], "Unheard")), "element type"),
        ("aten::mul", recorded(A, ([8192, 1024], FP32)), "type of its result"),
    ],
)
def test_what_is_not_known_has_a_reason(name: str, arguments: dict[str, Any], why: str) -> None:
    with pytest.raises(UnknownWork, match=why):
        work_of(name, arguments)


ANY = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 1 << 62)
    | st.text(max_size=8)
    | st.sampled_from([BF16, "Scalar"]),
    lambda inner: st.lists(inner, max_size=5),
    max_leaves=12,
)
NAMES = ("mm", "addmm", "linear", "convolution", "convolution_backward", "_flash_attention_forward")
MORE = ("_efficient_attention_backward", "add", "sum", "native_layer_norm", "_softmax", "copy_", "mean", "eq")
FURTHER = (
    "topk",
    "max",
    "native_batch_norm",
    "native_group_norm",
    "avg_pool2d",
    "upsample_nearest2d",
    "where",
)


@settings(suppress_health_check=[HealthCheck.too_slow])  # on a machine whose cores are busy
@given(
    st.sampled_from([f"aten::{name}" for name in (*NAMES, *MORE, *FURTHER)]),
    st.fixed_dictionaries(
        {},
        optional={
            "Input Dims": ANY | st.lists(st.lists(st.integers(0, 9), max_size=4), max_size=9),
            "Input type": ANY | st.lists(st.sampled_from([BF16, FP32, "Scalar", ""]), max_size=9),
            "Input Strides": ANY | st.lists(st.lists(st.integers(0, 9), max_size=4), max_size=9),
            "Concrete Inputs": ANY
            | st.lists(st.sampled_from(["", "1", "[0]", "True", "-1", "x"]), max_size=9),
        },
    ),
)
def test_any_arguments_give_work_or_a_reason(name: str, arguments: dict[str, Any]) -> None:
    try:
        found = work_of(name, arguments)
    except UnknownWork:
        return
    assert isinstance(found, OperatorWork)
    figures = (found.flop_count, found.read_bytes, found.write_bytes)
    assert all(figure is None or figure >= 0 for figure in figures)
