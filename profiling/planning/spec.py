"""What a kernel computes, stated without torch: axes, tensors, work, tolerance.

A spec is data only (no callables), so a session file can hold it and redraw every point on a
machine where neither torch nor the kernel exists.
"""

from collections.abc import Mapping
from enum import StrEnum

from msgspec import Struct
from msgspec.structs import replace

from roofscope.profiling.planning.formula import evaluate
from roofscope.profiling.planning.parameters import Parameter, carried, variation
from roofscope.profiling.providers import Provider
from roofscope.profiling.quantities import Amount, Count


class Dtype(StrEnum):
    """Element type of every tensor of a workload."""

    FLOAT32 = "float32"
    FLOAT16 = "float16"
    BFLOAT16 = "bfloat16"

    @property
    def itemsize(self) -> int:
        """Bytes per element."""
        return 4 if self is Dtype.FLOAT32 else 2

    @property
    def label(self) -> str:
        """For people: ``fp32``, ``bf16``. Data and options have ``float32``."""
        return f"{'bf' if self is Dtype.BFLOAT16 else 'fp'}{8 * self.itemsize}"


# The modes of torch.compile that replay CUDA graphs of their own.
REPLAYING_MODES = ("reduce_overhead", "max_autotune")


class Pipe(StrEnum):
    """Which units do a kernel's arithmetic, and so which compute ceiling bounds it."""

    VECTOR = "vector"  # FP32 units, whatever the storage dtype
    PACKED = "packed"  # vector units on pairs of the workload's 16-bit dtype (half2); float32 has no pairs
    SPECIAL = "special"  # exp2, tanh and their like: the FLOPs counted are results of the special functions
    TENSOR = "tensor"  # matrix units of the workload's dtype; float32 means IEEE FP32, not TF32


class Element(StrEnum):
    """Element type of a tensor whose type is not the workload's, as torch names it."""

    FLOAT32 = "float32"
    FLOAT16 = "float16"
    BFLOAT16 = "bfloat16"
    FLOAT8_E4M3 = "float8_e4m3fn"
    BOOL = "bool"
    INT8 = "int8"
    UINT8 = "uint8"
    INT32 = "int32"
    INT64 = "int64"

    @property
    def itemsize(self) -> int:
        """Bytes per element."""
        match self:
            case Element.INT64:
                return 8
            case Element.FLOAT32 | Element.INT32:
                return 4
            case Element.FLOAT16 | Element.BFLOAT16:
                return 2
            case Element.FLOAT8_E4M3 | Element.BOOL | Element.INT8 | Element.UINT8:
                return 1


class Fill(StrEnum):
    """What an input tensor holds."""

    UNIFORM = "uniform"  # in [-magnitude, magnitude], or as the workload has it
    POSITIVE = "positive"  # in [0.5, 1.5] at any magnitude: scales, reciprocals of deviations
    INTEGER = "integer"  # below ``TensorSpec.below``; signed bytes are centred on zero
    DERIVED = "derived"  # from the other inputs, by ``derive`` of the kernel's reference.py


class Distribution(StrEnum):
    """Of inputs whose spec leaves it open: those of ``Fill.UNIFORM``."""

    UNIFORM = "uniform"  # in [-magnitude, magnitude]
    NORMAL = "normal"  # of mean 0 and standard deviation magnitude


class Multiply(StrEnum):
    """What the matrix units multiply where it is not the workload's dtype."""

    TF32 = "tf32"
    FP8 = "fp8"
    INT8 = "int8"
    FP16_SUMS = "fp16 in fp16"  # with sums in FP16, which GeForce does twice as fast
    FP64 = "fp64 tensor"


class Axis(Struct, frozen=True):
    """One size a user may choose."""

    name: str
    meaning: str
    minimum: int = 0


class TensorSpec(Struct, frozen=True):
    """A tensor of the call; each dimension is a formula over the axes (usually one axis)."""

    name: str
    shape: tuple[str, ...]
    element: Element | None = None  # None: the workload's dtype
    fill: Fill = Fill.UNIFORM  # of an input
    below: str = ""  # a formula: integers are drawn from 0 to this, exclusive

    def element_at(self, dtype: Dtype) -> str:
        """The element type's name in torch at a workload's dtype."""
        return str(self.element or dtype)


class Work(Struct, frozen=True):
    """Compulsory work of one call: every input read once, every output written once."""

    flop_count: Amount
    read_bytes: Amount
    write_bytes: Amount
    is_derived: bool = False  # from a reference and tensors, and not stated by a person

    @property
    def byte_count(self) -> int:
        return self.read_bytes + self.write_bytes

    @property
    def arithmetic_intensity(self) -> float | None:
        """FLOP per byte; None where nothing is computed or nothing is moved."""
        if not self.flop_count or not self.byte_count:
            return None
        return self.flop_count / self.byte_count


class WorkFormula(Struct, frozen=True):
    """Formulas over the axes and ``s``, the bytes per element.

    Conventions: FMA = 2 FLOP; add, mul, max, compare, exp, tanh, rsqrt, division = 1 each.
    """

    flop_count: str
    read_bytes: str
    write_bytes: str
    derived: str = ""  # sentences: how it was derived from a reference; "": a person stated it


class Tolerance(Struct, frozen=True):
    """Largest accepted norm(y - reference) / norm(reference), per dtype."""

    float32: float
    float16: float
    bfloat16: float

    def of(self, dtype: Dtype) -> float:
        match dtype:
            case Dtype.FLOAT32:
                return self.float32
            case Dtype.FLOAT16:
                return self.float16
            case Dtype.BFLOAT16:
                return self.bfloat16


class Preset(Struct, frozen=True):
    """A named choice of sizes: ``small``, ``medium`` (fits a laptop's CPU) or ``large``."""

    name: str
    sizes: dict[str, Count]


class KernelSpec(Struct, frozen=True):
    """A kernel as the engine and the window know it. ``name`` equals its folder's name."""

    name: str
    title: str
    formula: str
    axes: tuple[Axis, ...]
    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]
    work: WorkFormula
    tolerance: Tolerance
    presets: tuple[Preset, ...]
    odd_sizes: tuple[dict[str, int], ...]  # the first is verified beside the measured size; tests verify all
    large_magnitude: float  # inputs up to this absolute value must stay finite and right
    pipe: Pipe = Pipe.VECTOR
    dtypes: tuple[Dtype, ...] = tuple(Dtype)
    multiplies: Multiply | None = None  # by the matrix units; None: the workload's dtype
    multiplies_otherwise: dict[str, Multiply] = {}  # what they multiply in implementations of these stems
    sweep: tuple[dict[str, int], ...] = ()  # sizes from launch-bound to large, to see how a kernel scales
    on_request: tuple[str, ...] = ()  # stems that a plan leaves out unless the user names them
    compares_modes: bool = False  # the kernel compares torch.compile's modes: a plan takes all of them

    def preset(self, name: str) -> Preset | None:
        return next((preset for preset in self.presets if preset.name == name), None)

    def shape(self, tensor: TensorSpec, sizes: Mapping[str, int]) -> tuple[int, ...]:
        """Dimensions of a tensor at these sizes, in elements."""
        return tuple(evaluate(dimension, sizes) for dimension in tensor.shape)

    def work_at(self, sizes: Mapping[str, int], dtype: Dtype) -> Work:
        """Compulsory FLOPs and bytes of one call."""
        values = {**sizes, "s": dtype.itemsize}
        return Work(
            flop_count=evaluate(self.work.flop_count, values),
            read_bytes=evaluate(self.work.read_bytes, values),
            write_bytes=evaluate(self.work.write_bytes, values),
            is_derived=bool(self.work.derived),
        )

    def problem_with(self, sizes: Mapping[str, int]) -> str | None:
        """One sentence when the sizes do not fit the axes, else None."""
        known = {axis.name for axis in self.axes}
        for name in sizes:
            if name not in known:
                axes = ", ".join(axis.name for axis in self.axes)
                return f"{self.name} has no axis {name!r}; its axes are {axes}."
        for axis in self.axes:
            if axis.name not in sizes:
                return f"{self.name} needs a size for its axis {axis.name!r}."
            if sizes[axis.name] < axis.minimum:
                return f"{self.name} needs {axis.name} >= {axis.minimum}, got {sizes[axis.name]}."
        return None


def size_text(sizes: Mapping[str, int]) -> str:
    """Such as ``rows=4096, cols=1024``."""
    return ", ".join(f"{name}={size}" for name, size in sizes.items())


class Workload(Struct, frozen=True):
    """One kernel at one dtype and one choice of sizes: what implementations are compared on."""

    kernel: str
    dtype: Dtype
    sizes: dict[str, Count]
    # How much power a product draws depends on its numbers, and so does the clock that a power cap leaves.
    fill: Distribution = Distribution.UNIFORM

    @property
    def key(self) -> tuple[object, ...]:
        """The same for equal workloads, and hashable; in whatever order a file has the sizes."""
        return self.kernel, self.dtype, tuple(sorted(self.sizes.items())), self.fill

    @property
    def size_label(self) -> str:
        """Such as ``rows=4096, cols=1024``, and the fill where it is not the usual one."""
        return f"{size_text(self.sizes)}{self.fill_label}"

    @property
    def fill_label(self) -> str:
        """What stands after the sizes: ``""``, or ``, N(0,1)``."""
        return ", N(0,1)" if self.fill is Distribution.NORMAL else ""

    @property
    def label(self) -> str:
        return f"{self.kernel} {self.dtype.label} {self.size_label}"


# The names that the libraries use for themselves; any other is named after its file.
class Implementation(Struct, frozen=True):
    """One way to compute a kernel, such as ``softmax/triton_online``."""

    kernel: str
    provider: Provider
    variant: str  # "" for eager.py; the mode for compile; else the idea's name
    source_hash: str  # SHA-256 over the files it is built from
    domain: str = ""  # a condition over the axes, as its file states it; "": it takes all sizes
    parameters: tuple[Parameter, ...] = ()  # its declared constants, with the values that it is built with

    @property
    def stem(self) -> str:
        """File-name stem and unique name within the kernel's folder: ``eager``, ``cuda_warp``."""
        return f"{self.provider}_{self.variant}" if self.variant else str(self.provider)

    @property
    def values(self) -> str:
        """``BLOCK=128 num_warps=8``: of the parameters that have not their default."""
        return variation(self.parameters)

    @property
    def name(self) -> str:
        """The stem, and the values that are not the default: ``triton_online BLOCK=128``."""
        return f"{self.stem} {self.values}" if self.values else self.stem

    @property
    def label(self) -> str:
        """For people: ``Triton online``, ``torch.compile`` for its default mode, ``Liger-Kernel``."""
        label = self.provider.label(self.variant)
        return f"{label} {self.values}" if self.values else label

    @property
    def title(self) -> str:
        """With its kernel: ``softmax / Triton online``."""
        return f"{self.kernel} / {self.label}"

    @property
    def key(self) -> str:
        return f"{self.kernel}/{self.name}"

    @property
    def declared(self) -> "Implementation":
        """As its file declares it: with its default values."""
        return self.with_parameters(tuple(one.chosen(one.default) for one in self.parameters))

    def with_parameters(self, parameters: tuple[Parameter, ...]) -> "Implementation":
        return replace(self, parameters=parameters) if parameters != self.parameters else self

    def like(self, other: "Implementation") -> "Implementation":
        """With the values of another, as far as this one still declares them."""
        return self.with_parameters(carried(self.parameters, other.parameters))
