"""A small network for images: convolution, relu, convolution, gelu, linear layer, softmax.

Compulsory work: the products of the two convolutions (3 x 3, the second with stride 2) and of the linear
layer, as torch counts them; images and weights are read once, probabilities written once. What lies between
is 30 times as much, and is what a compiler can save: relu and gelu need no pass of their own.
"""

from roofscope import Axis, KernelSpec, Pipe, Preset, TensorSpec, Tolerance, WorkFormula

_HALF = "((side + 1)//2)**2"  # places after the second convolution


def _images(batch: int, channels: int = 64, side: int = 32) -> dict[str, int]:
    return {"batch": batch, "channels": channels, "side": side}


SPEC = KernelSpec(
    name="conv_net",
    title="Convolutional network",
    formula="y = softmax(w3 gelu(w2 * relu(w1 * x)))",
    axes=(
        Axis("batch", "images"),
        Axis("channels", "after the first convolution; twice as many after the second", minimum=1),
        Axis("side", "rows and columns of an image", minimum=1),
    ),
    inputs=(
        TensorSpec("x", ("batch", "3", "side", "side")),
        TensorSpec("w1", ("channels", "3", "3", "3")),
        TensorSpec("w2", ("2*channels", "channels", "3", "3")),
        TensorSpec("w3", ("100", f"2*channels*{_HALF}")),
    ),
    outputs=(TensorSpec("y", ("batch", "100")),),
    work=WorkFormula(
        flop_count=(f"2*batch*(27*channels*side**2 + 18*channels**2*{_HALF} + 200*channels*{_HALF})"),
        read_bytes=f"(3*batch*side**2 + 27*channels + 18*channels**2 + 200*channels*{_HALF})*s",
        write_bytes="100*batch*s",
    ),
    # A few roundings of activations and of logits of size 1; softmax turns absolute errors of logits into
    # relative ones.
    tolerance=Tolerance(float32=5e-6, float16=2e-3, bfloat16=1.6e-2),
    presets=(
        Preset("small", _images(16)),
        Preset("medium", _images(64)),
        Preset("large", _images(4096)),
    ),
    odd_sizes=(_images(3, 5, 7), _images(1, 1, 1), _images(17, 3, 31), _images(0, 2, 8)),
    # Logits grow with the fourth power, and so do their errors.
    large_magnitude=1.2,
    pipe=Pipe.TENSOR,
    sweep=tuple(_images(batch) for batch in (1, 4, 16, 64, 256, 1024, 2048, 4096)),
    compares_modes=True,
)
