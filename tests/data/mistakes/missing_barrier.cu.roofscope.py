"""How Roofscope measures missing_barrier.cu. Edit it as you like: it is read, and never run."""

# The file, and what is called: an expression of the inputs, the sizes and the file's names.
# An output that it names is allocated before. A list of several is measured in turn.
FILE = "missing_barrier.cu"
CALL = "sum_kernel(x, out, n)"

# Blocks and threads of the launch, as expressions of the sizes, and bytes of dynamic shared memory.
GRID = "n // 256"
BLOCK = "256"

# What is right, in float64: a torch expression of the inputs, or a function as "file.py:name".
# Its eager and compiled versions are measured beside the file's.
REFERENCE = "x.view(-1, 256).sum(1)"

# Sizes by name, and each tensor's dimensions by them. After a colon: an element type that is not
# the workload's, such as "rows: int64 < cols".
SIZES = {"n": 4096}
INPUTS = {"x": "n"}
OUTPUTS = {"out": "(n)//256"}

# Element types that may be chosen; the first is the default.
DTYPES = ["float32"]

# Work of one call, as formulas of the sizes and s, the bytes of an element. An FMA is 2 FLOP.
# DERIVED says how it was derived, and DERIVED_OF of what: where you state the work, delete both.
FLOPS = "n"
READS = "n*s"
WRITES = "((n)//256)*s"
DERIVED = "Derived from the reference: inputs read once, outputs written once, by shapes and types. FLOPs of its operations, each by its formula. The formulas hold at multiples of the sizes that they were derived at."
DERIVED_OF = "237b4879dded"

# The units that do the arithmetic: vector, packed, special or tensor.
PIPE = "vector"

# Inputs up to this absolute value are verified, too.
MAGNITUDE = 1.0

# Also verified at the first of these sizes; [] for none. Where the file takes only some sizes, say which,
# as in DOMAIN = "cols % 8 == 0".
ODD_SIZES = [{"n": 1031}]
