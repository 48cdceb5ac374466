"""The providers, and all that the program knows of each before anything of it is built. No torch, no Qt.

A new provider is one member here, with its facts, and one module in ``worker/build/providers`` of the
member's name, which has ``build(request)``. Everything else asks these facts: the names of its files, its
label and mark, what it needs and where it compiles.
"""

import re
from collections.abc import Iterable, Iterator
from enum import StrEnum, auto

from msgspec import Struct


class Family(StrEnum):
    """Whose code an implementation is."""

    PYTORCH = auto()  # PyTorch's operators, or what its compiler makes of them: runs on any device
    OWN_CODE = auto()  # code for a GPU that is made of the implementation's own files
    PEERS = auto()  # other people's kernels, compiled already


class Hue(StrEnum):
    """A provider's colour; each theme has a shade of it (``app/presentation/tokens.py``)."""

    GREEN = auto()
    OLIVE = auto()
    VIOLET = auto()
    PURPLE = auto()
    ORANGE = auto()
    BLUE = auto()
    TEAL = auto()
    BROWN = auto()  # free


class Marker(StrEnum):
    """A provider's shape on charts, which tells it from others without colour."""

    CIRCLE = auto()
    SQUARE = auto()
    TRIANGLE = auto()
    DIAMOND = auto()
    PLUS = auto()
    STAR = auto()
    POINTER = auto()  # a triangle upside down
    CROSS = auto()  # free


class Package(Struct, frozen=True):
    """What must be installed. ``name`` is for people, ``licence`` as SPDX writes it."""

    name: str
    distribution: str
    licence: str
    extra: str = "gpu"  # of pyproject.toml, that installs it

    @property
    def is_optional(self) -> bool:
        """Whether an installation for measuring is whole without it."""
        return self.extra != "gpu"


class Facts(Struct, frozen=True, kw_only=True):
    """Of a provider."""

    name: str  # for people, in legends and columns
    meaning: str  # ends the sentence "softmax/triton_online: ..."
    language: str  # begins the sentence "... kernels need an NVIDIA GPU"
    hue: Hue
    marker: Marker
    family: Family
    suffixes: tuple[str, ...] = ()  # of its files, a launcher's last; none: it is derived from eager.py
    prefix: str | None = None  # of a label, before the variant; None: the name
    labels: dict[str, str] = {}  # of variants that have a name of their own
    packages: tuple[Package, ...] = ()
    is_examined: bool = False  # by without_gpu/<its name>_compiled.py it is compiled without its GPU
    is_interpreted: bool = False  # and run without one
    gives_code: bool = True  # a compiler makes code of it that can be shown
    # Which deadlines hold: compilers have minutes, and look like kernels that never end.
    compiles_when_built: bool = False
    compiles_at_call: bool = False
    imports_long: bool = False  # its file imports what may be as large as torch
    # Whether the server that forks candidates' processes imports its module. The import must not start CUDA,
    # which does not survive a fork.
    is_imported_ahead: bool = False

    @property
    def is_by_default(self) -> bool:
        """Whether a plan takes the library's versions where nobody names them.

        It leaves out other people's, and what needs a package that few have.
        """
        return self.family is not Family.PEERS and not any(one.is_optional for one in self.packages)

    @property
    def needs_gpu(self) -> bool:
        return self.family is not Family.PYTORCH


class Provider(StrEnum):
    """What makes the machine code of an implementation. The value begins the names of its files."""

    CUDA = "cuda"
    CUDA_EXT = "cuda_ext"
    TRITON = "triton"
    CUTE = "cute"
    EAGER = "eager"
    COMPILE = "compile"
    LIBRARY = "library"  # other people's kernels: Liger-Kernel, cuDNN, FlashAttention through PyTorch

    @property
    def facts(self) -> Facts:
        return _FACTS[self]

    def label(self, variant: str) -> str:
        """For people: ``Triton online``, ``torch.compile`` for its default mode, ``Liger-Kernel``."""
        facts = self.facts
        if own := facts.labels.get(variant):
            return own
        prefix = facts.name if facts.prefix is None else facts.prefix
        return f"{prefix} {variant.replace('_', ' ')}".strip()

    def file_names(self, stem: str) -> tuple[str, ...]:
        """What an implementation of this stem is built from, in its folder; a launcher is the last."""
        return tuple(f"{stem}{suffix}" for suffix in self.facts.suffixes) or ("eager.py",)


_TRITON = Package("Triton", "triton", "MIT")
_CUDA_CORE = Package("cuda-core", "cuda-core", "Apache-2.0")
_CUTE_DSL = Package("CuTe DSL", "nvidia-cutlass-dsl", "LicenseRef-NvidiaProprietary", extra="cute")
_FACTS = {
    Provider.CUDA: Facts(
        name="CUDA",
        meaning="CUDA C++, compiled by NVRTC",
        language="CUDA C++",
        hue=Hue.GREEN,
        marker=Marker.CIRCLE,
        family=Family.OWN_CODE,
        suffixes=(".cu", ".py"),
        packages=(_CUDA_CORE,),
        is_examined=True,
        compiles_when_built=True,
        is_imported_ahead=True,
    ),
    Provider.CUDA_EXT: Facts(
        name="CUDA extension",
        meaning="a CUDA C++ extension of PyTorch, built by nvcc",
        language="CUDA C++",
        hue=Hue.OLIVE,
        marker=Marker.PLUS,
        family=Family.OWN_CODE,
        suffixes=(".cu",),
        is_examined=True,
        compiles_when_built=True,
    ),
    Provider.TRITON: Facts(
        name="Triton",
        meaning="a Triton kernel",
        language="Triton",
        hue=Hue.VIOLET,
        marker=Marker.SQUARE,
        family=Family.OWN_CODE,
        suffixes=(".py",),
        packages=(_TRITON,),
        is_examined=True,
        is_interpreted=True,
        compiles_at_call=True,
        is_imported_ahead=True,
    ),
    Provider.CUTE: Facts(
        name="CuTe",
        meaning="a kernel in NVIDIA's CuTe DSL",
        language="CuTe DSL",
        hue=Hue.TEAL,
        marker=Marker.POINTER,
        family=Family.OWN_CODE,
        suffixes=(".py",),
        packages=(_CUTE_DSL,),
        is_examined=True,
        compiles_at_call=True,
        imports_long=True,
        # Its import looks for the driver's library: not in the server, for half a second.
        is_imported_ahead=False,
    ),
    Provider.EAGER: Facts(
        name="Eager",
        meaning="plain PyTorch, one operator after the other",
        language="PyTorch",
        hue=Hue.PURPLE,
        marker=Marker.TRIANGLE,
        family=Family.PYTORCH,
        suffixes=(".py",),
        prefix="eager",
        labels={"": "eager PyTorch"},
        gives_code=False,
        is_imported_ahead=True,
    ),
    Provider.COMPILE: Facts(
        name="torch.compile",
        meaning="the eager version under torch.compile",
        language="PyTorch",
        hue=Hue.ORANGE,
        marker=Marker.DIAMOND,
        family=Family.PYTORCH,
        prefix="compile",
        labels={"default": "torch.compile"},
        compiles_when_built=True,
        compiles_at_call=True,
    ),
    Provider.LIBRARY: Facts(
        name="Library",
        meaning="somebody else's kernel, to compare ours with",
        language="Library",
        hue=Hue.BLUE,
        marker=Marker.STAR,
        family=Family.PEERS,
        suffixes=(".py",),
        prefix="",
        labels={
            "cub": "CUB",
            "cublaslt": "cuBLASLt",
            "cudnn": "cuDNN",
            "efficient": "memory-efficient attention",
            "fa4": "FlashAttention-4",
            "flash": "FlashAttention-2",
            "flashinfer": "FlashInfer",
            "liger": "Liger-Kernel",
            "quack": "QuACK",
            "xqa": "XQA",
        },
        gives_code=False,
        compiles_at_call=True,
        imports_long=True,
        is_imported_ahead=True,
    ),
}


def provider_of(stem: str) -> Provider | None:
    """The provider that a file's stem names: of ``cuda_ext_mine`` CUDA_EXT, not CUDA."""
    return next((one for one in _LONGEST_FIRST if f"{stem}_".startswith(f"{one}_")), None)


def with_files(providers: Iterable[Provider]) -> Iterator[Provider]:
    """Those that have files of their own."""
    return (one for one in providers if one.facts.suffixes)


def packages() -> tuple[Package, ...]:
    """All that any provider needs, each once."""
    return tuple(dict.fromkeys(package for one in Provider for package in one.facts.packages))


_LONGEST_FIRST = tuple(sorted(Provider, key=len, reverse=True))
# The stem of a file that is an implementation: its provider and its variant.
VARIANT = re.compile(rf"({'|'.join(with_files(_LONGEST_FIRST))})_([a-z0-9_]+)")
