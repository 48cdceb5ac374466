"""Convolutions and batch norms of several libraries, and what traces of older torch say; computed by hand."""

import pytest

from roofscope.profiling.traces.work.call import UnknownWork
from roofscope.profiling.traces.work.formulas import work_of
from roofscope.tests.recorded_calls import BF16, FP16, FP32, recorded, work


def test_convolutions() -> None:
    x, weight = ([8, 64, 56, 56], FP16), ([128, 64, 3, 3], FP16)
    flops = 2 * 8 * 128 * 28 * 28 * 64 * 9
    read, written = 2 * (8 * 64 * 56 * 56 + 128 * 64 * 9), 2 * 8 * 128 * 28 * 28
    assert work("cudnn_convolution", x, weight, "[1, 1]", "[2, 2]", "[1, 1]", "1") == (flops, read, written)
    same = ("[2, 2]", "[1, 1]", "[1, 1]", "False", "[0, 0]", "1")
    assert work("convolution", x, weight, ([128], FP16), *same) == (flops, read + 256, written)
    grouped = work("cudnn_convolution", x, ([128, 16, 3, 3], FP16), "[0, 0]", "[1, 1]", "[1, 1]", "4")
    assert grouped[0] == 2 * 8 * 128 * 54 * 54 * 16 * 9
    grad = ([8, 128, 28, 28], FP16)
    backward = work("convolution_backward", grad, x, weight, "[128]", *same, "[True, True, True]")
    assert backward == (2 * flops, written + read, read)
    weights = work("convolution_backward", grad, x, weight, "[128]", *same, "[False, True, False]")
    assert weights == (flops, written + 2 * 8 * 64 * 56 * 56, 2 * 128 * 64 * 9)


def test_convolutions_of_other_libraries_have_their_arguments_elsewhere() -> None:
    x, weight, bias = ([8, 64, 56, 56], FP16), ([128, 64, 3, 3], FP16), ([128], FP16)
    flops = 2 * 8 * 128 * 28 * 28 * 64 * 9
    read, written = 2 * (8 * 64 * 56 * 56 + 128 * 64 * 9), 2 * 8 * 128 * 28 * 28
    stride, pad, one = "[2, 2]", "[1, 1]", "[1, 1]"
    expected = (flops, read + 256, written)
    assert work("miopen_convolution", x, weight, bias, pad, stride, one, "1", "False", "False") == expected
    assert work("mkldnn_convolution", x, weight, bias, pad, stride, one, "1") == expected
    assert work("cudnn_convolution_relu", x, weight, bias, stride, pad, one, "1") == expected
    assert work("_slow_conv2d_forward", x, weight, "[3, 3]", bias, stride, pad) == expected
    assert work("cudnn_convolution", x, weight, pad, stride, one, "1") == (flops, read, written)
    z = ([8, 128, 28, 28], FP16)
    added = work("cudnn_convolution_add_relu", x, weight, z, "1.", bias, stride, pad, one, "1")
    assert added == (flops, read + 256 + written, written)
    apart = ([64, 1, 3, 3], FP16)
    depthwise = (2 * 8 * 64 * 28 * 28 * 9, 2 * (8 * 64 * 56 * 56 + 64 * 9), 2 * 8 * 64 * 28 * 28)
    assert work("_conv_depthwise2d", x, apart, "[3, 3]", None, stride, pad, one) == depthwise
    assert work("miopen_depthwise_convolution", x, apart, None, pad, stride, one, "64") == depthwise


@pytest.mark.parametrize(
    ("name", "places"),
    [("cudnn", ("[0, 0]", "[0, 0]", "[2, 2]")), ("miopen", (None, "[0, 0]", "[0, 0]", "[2, 2]"))],
)
def test_a_transposed_convolution_of_a_library(name: str, places: tuple[str | None, ...]) -> None:
    arguments = (([8, 64, 28, 28], FP32), ([64, 32, 2, 2], FP32), *places, "[1, 1]", "1")
    found = work(f"{name}_convolution_transpose", *arguments)
    assert (found[0], found[2]) == (2 * 8 * 64 * 28 * 28 * 32 * 4, 4 * 8 * 32 * 56 * 56)


def test_batch_norms_of_libraries() -> None:
    x, n = ([4, 8, 10, 10], BF16), 3200
    of_channel = ([8], FP32)
    scales = (of_channel, of_channel, of_channel, of_channel)
    for name in ("cudnn_batch_norm", "miopen_batch_norm", "native_batch_norm"):
        trained = work(name, x, *scales, "True", "0.1", "1e-05")
        assert trained == (None, 2 * n + 4 * 32, 2 * n + 2 * 32 + 2 * 32)
        assert work(name, x, *scales, "False", "0.1", "1e-05") == (None, 2 * n + 4 * 32, 2 * n)
    backward = work("cudnn_batch_norm_backward", x, x, of_channel, *scales, "1e-05", ([96], "unsigned char"))
    assert backward == (None, 4 * n + 3 * 32, 2 * n + 2 * 32)


def test_traces_of_older_torch_say_less() -> None:
    """Without strides there are no bytes; without numbers, what they decide is unknown."""
    product = recorded(([32, 16], BF16), ([16, 8], BF16))
    found = work_of("aten::mm", {**product, "Input Strides": None})
    assert (found.flop_count, found.read_bytes, found.write_bytes) == (2 * 32 * 8 * 16, None, 2 * 32 * 8)
    old = {"Input Dims": [[8192, 1024], [], [], []], "Input type": [BF16, "IntList", "Bool", ""]}
    for name in ("aten::sum", "aten::cumsum", "aten::var", "aten::argmax"):
        with pytest.raises(UnknownWork, match="decides is not recorded"):
            work_of(name, old)
    lists, flags = ["GenericList"] * 3, ["Bool"] * 3
    grad = {
        "Input Dims": [[], [8, 128, 28, 28], [128, 64, 3, 3], *[[]] * 7],
        "Input type": ["GenericList", FP16, FP16, *lists, "Int", *flags],
    }
    found = work_of("aten::cudnn_convolution_backward_input", grad)
    assert found.flop_count == 2 * 8 * 128 * 28 * 28 * 64 * 9
    assert (found.read_bytes, found.write_bytes) == (None, None)
    heads = {
        "Input Dims": [[2, 8, 512, 64]] * 3 + [[], [], []],
        "Input type": [BF16] * 3 + ["Double", "Bool", "Bool"],
    }
    with pytest.raises(UnknownWork, match="decides is not recorded"):
        work_of("aten::_scaled_dot_product_flash_attention", heads)


def test_a_transposed_convolution() -> None:
    said = ("[2, 2]", "[0, 0]", "[1, 1]", "True", "[0, 0]", "1")
    found = work("convolution", ([8, 64, 28, 28], FP32), ([64, 32, 2, 2], FP32), None, *said)
    assert found[0] == 2 * 8 * 64 * 28 * 28 * 32 * 4
    assert found[2] == 4 * 8 * 32 * 56 * 56
