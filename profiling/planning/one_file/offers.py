"""What a user's file offers to be measured: names and parameters, read and never run."""

import re
from enum import StrEnum

from msgspec import Struct

from roofscope.profiling.providers import Provider


class Kind(StrEnum):
    """How a function is called, and so by which provider."""

    TRITON = "triton"  # a Python function that launches @triton.jit kernels
    CUTE = "cute"  # a Python function that calls @cute.jit functions
    PYTHON = "python"  # any other Python function
    BARE = "bare"  # a __global__ kernel, whose launch must be known
    EXTENSION = "extension"  # a C++ function that takes tensors
    INLINE = "inline"  # a Python function that calls CUDA C++ of its file, as load_inline compiles it
    LAUNCHER = "launcher"  # a C++ function that takes pointers and launches kernels

    @property
    def provider(self) -> Provider:
        """That of its name, where it is called by no other."""
        return _PROVIDERS.get(self) or Provider(self)

    @property
    def is_python(self) -> bool:
        return self not in (Kind.BARE, Kind.EXTENSION, Kind.LAUNCHER)


_PROVIDERS = {
    Kind.PYTHON: Provider.EAGER,
    Kind.BARE: Provider.CUDA,
    Kind.EXTENSION: Provider.CUDA_EXT,
    Kind.LAUNCHER: Provider.CUDA_EXT,
    Kind.INLINE: Provider.CUDA_EXT,
}


class Parameter(Struct, frozen=True):
    name: str
    type: str = ""  # as the file has it
    default: str = ""

    @property
    def is_pointer(self) -> bool:
        return "*" in self.type

    @property
    def is_tensor(self) -> bool:
        """Of a C++ function."""
        return "Tensor" in self.type


class Offer(Struct, frozen=True):
    """A function that can be measured."""

    name: str
    kind: Kind
    parameters: tuple[Parameter, ...]
    line: int
    is_plain: bool = True  # not a test, a benchmark or another's helper, so that it need not be named
    shapes: dict[str, tuple[str, ...]] = {}  # by parameter, the names that the file unpacks its shape into
    template: str = ""  # the one type parameter of a kernel
    returns: bool = True  # it returns tensors, and does not write to its parameters
    body: str = ""
    is_class: bool = False  # a module of PyTorch: made once, and then called
    namespace: str = ""  # of a C++ function, such as a::b::

    @property
    def tensors(self) -> tuple[Parameter, ...]:
        """The parameters that are tensors, as far as the file says so."""
        return tuple(parameter for parameter in self.parameters if _is_tensor(self, parameter))

    @property
    def head(self) -> str:
        """The file's own name: ``Scale`` of ``Scale.apply``."""
        return self.name.partition(".")[0]

    @property
    def signature(self) -> str:
        return f"{self.name}({', '.join(parameter.name for parameter in self.parameters)})"


# What kernels call their numbers; without a type in the file, the name is all there is.
NUMBERS = frozenset(
    (
        *("n", "m", "k", "p", "size", "n_elements", "stride", "block_size", "num_warps", "num_stages"),
        *("eps", "epsilon", "alpha", "momentum", "scale", "sm_scale", "seed", "axis", "dim"),
        *("causal", "training", "activation", "approximate", "dtype", "normalized_shape", "w_shape"),
    )
)
NUMBERS_OF_LAUNCHES = {"block_size": "256", "blocksize": "256", "threads": "256", "num_threads": "256"}
_OF_TENSORS = "shape|stride|size|numel|contiguous|is_contiguous|is_cuda|device|dtype|view|reshape|T|mT"
_NO_TENSORS = ("int", "float", "bool", "str", "tuple", "list", "Sequence", "size", "dtype", "device")


def _is_tensor(offer: Offer, parameter: Parameter) -> bool:
    match offer.kind:
        case Kind.BARE | Kind.LAUNCHER:
            return parameter.is_pointer
        case Kind.EXTENSION:
            return parameter.is_tensor
        case _:  # Python
            if parameter.default:
                return False
            if parameter.type:
                return "Tensor" in parameter.type or not any(word in parameter.type for word in _NO_TENSORS)
            name = parameter.name
            is_number = name.lower() in NUMBERS and not (len(name) == 1 and name.isupper())
            return not is_number or bool(re.search(rf"\b{name}\.(?:{_OF_TENSORS})\b", offer.body))
