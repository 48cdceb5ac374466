"""4-bit codes, two in a byte, back to numbers of the scales' dtype, a scale for each group.

Packed as by quantize_int4: byte j of a group holds element j in its low nibble and element group/2 + j in its
high nibble, each as its code + 8.

Compulsory work of rows x cols, cols = groups group: 2 rows cols FLOP (less 8, product); half a byte an
element and a scale a group are read, one element is written.
"""

from roofscope import Element, Fill, KernelSpec, TensorSpec, Tolerance, WorkFormula
from roofscope.kernels.quantize_int4.spec import SPEC as QUANTIZE

SPEC = KernelSpec(
    name="dequantize_int4",
    title="Dequantise groups of int4",
    formula="x = (q - 8) scale, a scale for each group",
    axes=QUANTIZE.axes,
    inputs=(
        TensorSpec(
            "packed", ("rows", "groups", "group//2"), element=Element.UINT8, fill=Fill.INTEGER, below="256"
        ),
        TensorSpec("scale", ("rows", "groups"), fill=Fill.POSITIVE),
    ),
    outputs=(TensorSpec("x", ("rows", "groups", "group")),),
    work=WorkFormula(
        flop_count="2*rows*groups*group",
        read_bytes="rows*groups*(group//2) + rows*groups*s",
        write_bytes="rows*groups*group*s",
    ),
    # One rounding of a product; of the 16-bit types the product itself is exact in float32.
    tolerance=Tolerance(float32=1e-7, float16=1e-3, bfloat16=8e-3),
    presets=QUANTIZE.presets,
    odd_sizes=QUANTIZE.odd_sizes,
    large_magnitude=1.0,  # codes and scales are of one size always
    sweep=QUANTIZE.sweep,
)
