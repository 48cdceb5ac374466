"""One training step of a small regression: forward, loss, and the gradient of everything that went in.

A layer norm, a GELU and a weighted sum of each row give a prediction; the loss is the mean square of its
distance from a target. Compulsory work of rows x cols: 52 rows cols FLOP (those of layer norm, GELU, weighted
sum and of their gradients: 8 + 9 + 2 + 3 + 18 + 12). x is read once and its gradient written once, as a row
that stays on chip for both directions allows.
"""

from roofscope import Axis, Element, KernelSpec, Preset, TensorSpec, Tolerance, WorkFormula


def _rows(rows: int, cols: int) -> dict[str, int]:
    return {"rows": rows, "cols": cols}


SPEC = KernelSpec(
    name="training_step",
    title="Training step",
    formula="loss = mean_r (gelu(layer_norm(x, w, b)) v - t)^2, and its gradients by x, w, b and v",
    axes=(
        Axis("rows", "examples of a batch", minimum=1),
        Axis("cols", "features of an example, normalised together", minimum=2),
    ),
    inputs=(
        TensorSpec("x", ("rows", "cols")),
        TensorSpec("w", ("cols",)),
        TensorSpec("b", ("cols",)),
        TensorSpec("v", ("cols",)),
        TensorSpec("t", ("rows",)),
    ),
    outputs=(
        TensorSpec("loss", ("1",), element=Element.FLOAT32),  # as mixed precision has it
        TensorSpec("dx", ("rows", "cols")),
        TensorSpec("dw", ("cols",)),
        TensorSpec("db", ("cols",)),
        TensorSpec("dv", ("cols",)),
    ),
    work=WorkFormula(
        flop_count="52*rows*cols",
        read_bytes="(rows*cols + 3*cols + rows)*s",
        write_bytes="(rows*cols + 3*cols)*s + 4",
    ),
    # float32: sums over columns, then over rows, of terms of either sign. The 16-bit types: what lies between
    # two operators is rounded to 16 bits, half a dozen times one after the other; Triton's interpreter cuts
    # bfloat16 off. Of one example all gradients have the relative error of its distance from the target,
    # which is small beside the prediction that was rounded.
    tolerance=Tolerance(float32=2e-5, float16=8e-3, bfloat16=2.4e-2),
    presets=(
        Preset("small", _rows(512, 1024)),
        Preset("medium", _rows(4096, 2048)),
        Preset("large", _rows(16384, 4096)),
    ),
    odd_sizes=(
        _rows(37, 1031),
        _rows(1, 4097),
        _rows(257, 12),
        _rows(5, 7),
        _rows(19, 4104),
        _rows(133, 264),
        _rows(1031, 520),
    ),
    sweep=(
        *(_rows(rows, 1024) for rows in (64, 512, 4096)),
        *(_rows(rows, 4096) for rows in (1024, 4096, 8192, 16384, 32768)),
    ),
    large_magnitude=4.0,  # its fourth power over the rows is in the gradients, which float16 must hold
)
