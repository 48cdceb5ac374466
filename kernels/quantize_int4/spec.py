"""Groups of numbers to 4-bit integers, two in a byte, with a scale for each group.

x is a matrix of rows x cols, cols = groups group, seen as (rows, groups, group).

A code c is stored as c + 8. Byte j of a group holds element j in its low nibble and element group/2 + j in
its high nibble: both halves of a group are then read and written as whole runs, and nothing is interleaved.

Compulsory work: 3 rows cols FLOP (largest magnitude, quotient, rounding); x is read once, half a byte an
element and a scale a group are written.
"""

from roofscope import Axis, Element, KernelSpec, Preset, TensorSpec, Tolerance, WorkFormula


def _sizes(rows: int, groups: int, group: int) -> dict[str, int]:
    return {"rows": rows, "groups": groups, "group": group}


SPEC = KernelSpec(
    name="quantize_int4",
    title="Quantise groups to int4",
    formula="q = round(x / scale) + 8, scale = max |x| / 7 over each group, 1 for a group of zeros",
    axes=(
        Axis("rows", "rows of x"),
        Axis("groups", "groups in a row"),
        Axis("group", "elements of a group, an even number; 32 and 128 are usual", minimum=2),
    ),
    inputs=(TensorSpec("x", ("rows", "groups", "group")),),
    outputs=(
        TensorSpec("packed", ("rows", "groups", "group//2"), element=Element.UINT8),
        TensorSpec("scale", ("rows", "groups"), element=Element.FLOAT32),
    ),
    work=WorkFormula(
        flop_count="3*rows*groups*group",
        read_bytes="rows*groups*group*s",
        write_bytes="rows*groups*(group//2) + rows*groups*4",
    ),
    # A neighbouring code is off by 1 or, in the high nibble, by 16, of a byte of about 150: a share p of such
    # codes is an error of sqrt(p) / 9.4. Of uniform bfloat16 elements 0.35 % are exact ties, of float16 ones
    # 0.04 %. Torch, our versions and the reference divide exactly and round them to even, which the tests ask
    # of ours tie by tie. After a division that is off in the last place, as torch.compile's is, they fall to
    # either side: 4.5e-3, and 6.3e-3 if each falls to the wrong one (float16: 1.6e-3, 2.2e-3). That passes; a
    # quotient rounded to 16 bits, 1.0e-2 (3.6e-3), does not. In float32 there are no ties to speak of, and a
    # quotient off by 1.5 2^-23 takes one code in 1e6 to its neighbour, 1e-4; but the smallest size that is
    # verified has 6512 bytes, where a single code is 1.3e-3.
    tolerance=Tolerance(float32=2e-3, float16=3e-3, bfloat16=8e-3),
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
    large_magnitude=1e4,
    sweep=tuple(_sizes(rows, 32, 128) for rows in (16, 64, 256, 1024, 2048, 4096, 16384, 65536)),
)
