"""The inputs of a user's function: as the user writes them, or as its file lets one guess."""

import re
from collections.abc import Mapping, Sequence

from msgspec import Struct

from roofscope.profiling.planning.one_file.form import FormFault
from roofscope.profiling.planning.one_file.offers import NUMBERS_OF_LAUNCHES, Kind, Offer, Parameter
from roofscope.profiling.planning.spec import Dtype, Element

_WORD = re.compile(r"([A-Za-z_]\w*)=([\dx_*, ]+)(?::([\w]+)(?:<(\w+))?)?")
_TYPES = {
    **{dtype.label: dtype for dtype in Dtype},
    **{str(dtype): dtype for dtype in Dtype},
    "half": Dtype.FLOAT16,
    "i64": Element.INT64,
    "i8": Element.INT8,
    "u8": Element.UINT8,
    **{str(element): element for element in Element if str(element) not in tuple(Dtype)},
}
_POINTED = (
    ("__nv_bfloat16", Dtype.BFLOAT16), ("nv_bfloat16", Dtype.BFLOAT16), ("half", Dtype.FLOAT16),
    ("float16", Dtype.FLOAT16), ("bfloat16", Dtype.BFLOAT16), ("float", Dtype.FLOAT32),
)  # fmt: skip
_WHOLE = {
    "int64_t": Element.INT64, "long": Element.INT64, "uint8_t": Element.UINT8, "int8_t": Element.INT8,
    "char": Element.INT8, "int32_t": Element.INT32, "int": Element.INT32,
}  # fmt: skip
_OUTPUTS = re.compile(r"(out|output|result|res|dst|y|c)(_ptr|_tensor)?|.*_out(put)?")
_VECTORS = re.compile(r"(w|b|weight|bias|gamma|beta|scale|shift|g|rms_weight|ln_weight|ln_bias)")
_OF_ROWS = re.compile(r"softmax|norm|dim\s*=|\(\s*-?1\s*\)|, *-1\b|argmax|logsumexp")
_OF_PRODUCTS = re.compile(r"@|matmul|\bmm\(|addmm|linear")
_LENGTH, _SIDE, _PRODUCT = 2**24, 4096, 2048


class Tensors(Struct, frozen=True):
    """Inputs as a form has them."""

    sizes: dict[str, int]
    inputs: dict[str, tuple[str, ...]]
    elements: dict[str, str]  # of those whose type is not the workload's, with what integers are below
    dtypes: tuple[Dtype, ...]

    def texts(self) -> dict[str, str]:
        return {name: ", ".join(shape) + self.elements.get(name, "") for name, shape in self.inputs.items()}

    def label(self) -> str:
        """As the options have them: ``x=4096x1024 y=1024``."""
        return " ".join(
            f"{name}={'x'.join(str(self.sizes.get(one, one)) for one in shape) or 1}"
            for name, shape in self.inputs.items()
        )


class _Word(Struct, frozen=True):
    name: str
    shape: tuple[int, ...]
    kind: Dtype | Element | None
    below: str


def input_names(offer: Offer) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The tensors that a function reads, and those that it writes to."""
    tensors = offer.tensors
    if offer.returns:
        return tuple(one.name for one in tensors), ()
    read = [one for one in tensors if "const" in one.type]
    if offer.kind.is_python:
        read = [one for one in tensors if not _OUTPUTS.fullmatch(one.name.lower())]
    if not read or len(read) == len(tensors):
        read = [*tensors[:-1]]
    return tuple(one.name for one in read), tuple(one.name for one in tensors if one not in read)


def stated(words: Sequence[str], offer: Offer, call: str = "") -> Tensors:
    """From words such as ``x=4096x1024:bf16``; a call says itself what it takes. Raises FormFault."""
    found = [_read(word) for word in words]
    names = [one.name for one in found]
    if len(set(names)) < len(names):
        raise FormFault(f"--input names {next(n for n in names if names.count(n) > 1)} twice")
    wanted, _ = input_names(offer)
    if wanted and not call and len(names) < len(wanted):
        rest = [name for name in wanted if name not in names]
        raise FormFault(
            f"{offer.signature} takes {' and '.join(rest)} too; add --input {rest[0]}=SIZE[xSIZE]"
        )
    if set(names) == set(wanted):
        found.sort(key=lambda one: wanted.index(one.name))
    floating = next((one.kind for one in found if isinstance(one.kind, Dtype)), None)
    axes = _axes(found, offer)
    elements: dict[str, str] = {}
    pointed = _pointed_elements(offer)
    for one in found:
        kind = one.kind or pointed.get(one.name)
        if isinstance(kind, Element):
            # An index below a size stays below it where the size is another.
            below = axes.get(int(one.below), one.below) if one.below.isdigit() else one.below
            elements[one.name] = f": {kind}" + (f" < {below}" if below else "")
        elif one.kind and one.kind != floating:
            elements[one.name] = f": {one.kind}"
    dtypes = (floating,) if isinstance(floating, Dtype) else guessed_dtypes(offer)
    sizes = {name: size for size, name in axes.items()}
    return Tensors(
        sizes,
        {one.name: tuple(axes.get(size, str(size)) for size in one.shape) for one in found},
        elements,
        dtypes,
    )


def guessed(offer: Offer, reference: str) -> Tensors:
    """From the signature, the shapes that the file unpacks, and the reference."""
    names, _ = input_names(offer)
    if not names:
        raise FormFault(
            f"{offer.signature} takes no tensor that its file names; add --input NAME=SIZE[xSIZE]"
        )
    shapes = _guessed_shapes(offer, names, reference)
    axes = list(dict.fromkeys(axis for shape in shapes.values() for axis in shape))
    is_product = len(axes) == 3 and len(names) >= 2
    if len(axes) == 1:
        sizes = dict.fromkeys(axes, _LENGTH)
    elif is_product:
        sizes = dict.fromkeys(axes, _PRODUCT)
    elif len(axes) == 2:
        sizes = dict.fromkeys(axes, _SIDE)
    else:
        sizes = {axis: (8, 16, 1024, 64, 64, 64)[min(place, 5)] for place, axis in enumerate(axes)}
    elements = {name: f": {kind}" for name, kind in _pointed_elements(offer).items() if name in shapes}
    return Tensors(sizes, shapes, elements, guessed_dtypes(offer))


def _pointed_elements(offer: Offer) -> dict[str, Element]:
    """Of the pointers of a C++ function, those to whole numbers."""
    found: dict[str, Element] = {}
    for parameter in offer.parameters:
        words = set(re.findall(r"\w+", parameter.type))
        if parameter.is_pointer and (words & _WHOLE.keys()):
            kinds = [kind for word, kind in _WHOLE.items() if word in words]
            found[parameter.name] = Element.UINT8 if {"unsigned", "char"} <= words else kinds[0]
    return found


def guessed_dtypes(offer: Offer) -> tuple[Dtype, ...]:
    """All that a file may take, or the one that it is written for."""
    if offer.kind in (Kind.BARE, Kind.LAUNCHER) and not offer.template:
        kinds = [parameter.type for parameter in offer.tensors]
        found = next((dtype for word, dtype in _POINTED if any(word in kind for kind in kinds)), None)
        return (found,) if found else (Dtype.FLOAT32,)
    if match := re.search(r"torch\.(b?float16|half)\b", offer.body):
        return (Dtype.BFLOAT16,) if match[1] == "bfloat16" else (Dtype.FLOAT16,)
    if offer.kind is Kind.EXTENSION:
        return (Dtype.FLOAT32,)
    return tuple(Dtype)


def integers(offer: Offer) -> tuple[Parameter, ...]:
    """The whole numbers that a C++ function takes, and that may be sizes."""
    words = ("int", "long", "size_t", "unsigned", "short")
    return tuple(
        one
        for one in offer.parameters
        if not one.is_pointer
        and not one.is_tensor
        and any(word in one.type for word in words)
        and one.name.lower() not in NUMBERS_OF_LAUNCHES
    )


def _read(word: str) -> _Word:
    match = _WORD.fullmatch(word.replace(" ", ""))
    if match is None:
        raise FormFault(f"--input {word!r} is no tensor; write it like x=4096x1024 or x=4096x1024:bf16")
    name, shape, kind, below = match.groups()
    if kind and kind.lower() not in _TYPES:
        raise FormFault(f"--input {word!r} has no known element type {kind!r}; known are {', '.join(_TYPES)}")
    try:
        sizes = tuple(int(size) for size in re.split(r"[x*,]", shape) if size)
    except ValueError:
        sizes = ()
    if not sizes or any(not 0 < size < 2**40 for size in sizes):
        raise FormFault(f"--input {word!r} has no sizes; write it like x=4096x1024")
    return _Word(name, sizes, _TYPES[kind.lower()] if kind else None, below or "")


def _axes(words: Sequence[_Word], offer: Offer) -> dict[int, str]:
    """A name for each size: tensors of one size change together. Names that the file has come first.

    A size of 1 has none where others have: it is repeated along a dimension, and stays 1.
    """
    axes: dict[int, str] = {}
    is_one_repeated = any(size != 1 for one in words for size in one.shape)

    def name(size: int, *wishes: str) -> None:
        if size not in axes and not (size == 1 and is_one_repeated):
            fallback = (f"n{number}" for number in range(1, 100))
            axes[size] = next(wish for wish in (*wishes, *fallback) if wish not in axes.values())

    for one in words:
        hints = offer.shapes.get(one.name, ())
        if len(hints) == len(one.shape):
            for size, hint in zip(one.shape, hints, strict=True):
                name(size, hint)
    shapes = [one.shape for one in words]
    if _are_product(shapes):
        for size, axis in zip((*shapes[0], shapes[1][1]), ("m", "k", "n"), strict=True):
            name(size, axis)
    for shape in sorted(shapes, key=len, reverse=True):
        usual = {1: ("n",), 2: ("rows", "cols"), 3: ("batch", "rows", "cols")}.get(
            len(shape), tuple(f"n{place + 1}" for place in range(len(shape)))
        )
        if len(set(shape)) == 1:
            usual = ("n",) * len(shape)
        for size, axis in zip(shape, usual, strict=True):
            name(size, axis)
    return axes


def _are_product(shapes: Sequence[tuple[int, ...]]) -> bool:
    """Whether the first two are matrices that can be multiplied, and not all of one size."""
    if len(shapes) < 2 or len(shapes[0]) != 2 or len(shapes[1]) != 2:
        return False
    return shapes[0] != shapes[1] and shapes[0][1] == shapes[1][0]


def _guessed_shapes(offer: Offer, names: Sequence[str], reference: str) -> dict[str, tuple[str, ...]]:
    numbers = [parameter.name for parameter in integers(offer)]
    shapes: dict[str, tuple[str, ...]] = {n: offer.shapes[n] for n in names if n in offer.shapes}
    product = bool(_OF_PRODUCTS.search(reference)) and len(names) >= 2
    if not shapes and product:
        m, n, k = numbers if len(numbers) == 3 else ("m", "n", "k")
        shapes = {names[0]: (m, k), names[1]: (k, n)}
        return {name: shapes.get(name, (n,)) for name in names}
    if not shapes:
        two = numbers[:2] if len(numbers) == 2 else ("rows", "cols")
        is_rows = len(numbers) == 2 or (len(numbers) != 1 and _OF_ROWS.search(f"{reference} {offer.name}"))
        one = numbers[0] if len(numbers) == 1 else "n"
        shapes[names[0]] = tuple(two) if is_rows else (one,)
    first = next(iter(shapes.values()))
    return {name: shapes.get(name) or _like(name, first) for name in names}


def _like(name: str, first: tuple[str, ...]) -> tuple[str, ...]:
    return first[-1:] if len(first) > 1 and _VECTORS.fullmatch(name.lower()) else first


def numel(shape: Sequence[str]) -> str:
    return " * ".join(shape)


def scaled(sizes: Mapping[str, int]) -> dict[str, int]:
    """An odd size: no multiple of anything, and small."""
    if len(sizes) == 1:
        return dict.fromkeys(sizes, 1031)
    odd = (37, 1031, 65, 129, 7)
    return {name: odd[min(place, 4)] for place, name in enumerate(sizes)}
