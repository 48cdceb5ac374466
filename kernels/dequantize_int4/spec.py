"""4-bit codes, two in a byte, back to numbers of the scales' dtype, a scale for each group.

Packed as by quantize_int4: byte j of a group holds element j in its low nibble and element group/2 + j in its
high nibble, each as its code + 8.

Compulsory work of rows x cols, cols = groups group: 2 rows cols FLOP (less 8, product); half a byte an
element and a scale a group are read, one element is written.
"""

from profiling.spec import Axis, Element, Fill, KernelSpec, Preset, TensorSpec, Tolerance, WorkFormula


def _sizes(rows: int, groups: int, group: int) -> dict[str, int]:
    return {"rows": rows, "groups": groups, "group": group}


SPEC = KernelSpec(
    name="dequantize_int4",
    title="Dequantise groups of int4",
    formula="x = (q - 8) scale, a scale for each group",
    axes=(
        Axis("rows", "rows of x"),
        Axis("groups", "groups in a row"),
        Axis("group", "elements of a group, an even number; 32 and 128 are usual", minimum=2),
    ),
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
    presets=(
        Preset("small", _sizes(4096, 32, 32)),
        Preset("medium", _sizes(4096, 128, 32)),
        Preset("large", _sizes(32768, 32, 128)),
    ),
    odd_sizes=(
        _sizes(37, 11, 32),
        _sizes(19, 7, 128),
        _sizes(5, 3, 64),
        _sizes(3, 5, 256),
        _sizes(7, 9, 48),
        _sizes(5, 3, 200),
        _sizes(2, 3, 4098),
        _sizes(9, 7, 2),
        _sizes(0, 4, 32),
        _sizes(3, 0, 128),
        _sizes(1, 1, 32),
        _sizes(1031, 33, 32),
    ),
    large_magnitude=1.0,  # codes and scales are of one size always
    sweep=tuple(_sizes(rows, 32, 128) for rows in (16, 64, 256, 1024, 2048, 4096, 16384, 65536)),
)
