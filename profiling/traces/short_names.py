"""Readable names of GPU kernels, at most 60 characters, from what compilers and libraries call them.

Only what a name says for certain is said: letters and numbers of unknown meaning are left out or left as they
are. Several full names may have one short name; `short_names` tells them apart.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Sequence

from roofscope.profiling.plain_text import one_line
from roofscope.profiling.traces.inductor_names import inductor_name
from roofscope.profiling.traces.library_names import library_name

LONGEST = 60
_MOST_READ = 4000  # characters of a full name; what decides stands at its beginning
_NAMELESS = "(no name)"
_PIECE = 18

_ELEMENTS = {
    "c10::BFloat16": "bf16",
    "__nv_bfloat16": "bf16",
    "cutlass::bfloat16_t": "bf16",
    "c10::Half": "fp16",
    "__half": "fp16",
    "cutlass::half_t": "fp16",
    "c10::Float8_e4m3fn": "fp8 e4m3",
    "c10::Float8_e5m2": "fp8 e5m2",
    "c10::complex<float>": "complex64",
    "c10::complex<double>": "complex128",
    "unsigned char": "uint8",
    "signed char": "int8",
    "float": "fp32",
    "double": "fp64",
    "short": "int16",
    "long": "int64",
    "int": "int32",
    "bool": "bool",
}
_ELEMENT = re.compile(
    r"(?<![\w:])(?<!unsigned )(?:" + "|".join(map(re.escape, _ELEMENTS)) + r")(?!\w)(?! long\b)"
)
_ELEMENTWISE = re.compile(r"(?:vectorized_|unrolled_|legacy_|templated_)*elementwise_kernel(?:_\w+)?\Z")
_OPERATION = re.compile(
    r"CUDAFunctor(?:OnSelf|OnOther)?_(?P<plain>\w+)"
    r"|\b(?!Binary|AUnary|BUnary)(?P<functor>[A-Z]\w*?)Functor\b"
    r"|\b(?P<camel>[A-Z]\w*?)(?:CUDA)?KernelImpl\b"
    r"|\b(?P<copied>\w*?)_?copy_kernel_cuda\b"
    r"|\blaunch_(?P<launched>\w+)"
    r"|\b(?!gpu_kernel|\w*elementwise_kernel)(?P<kernel>[a-z]\w*?)_kernel(?:_cuda|_impl)*\b"
    r"|\b(?P<out>[a-z]\w*?)_cuda_out\b"
    r"|\btemplates::cuda::(?P<random>[a-z]+)"
)
_OPERANDS = re.compile(r"\b(?:Binary|(?P<unary>[AB]Unary))Functor<")
_REDUCTION = re.compile(
    r"\b(?P<functor>\w+?)_functor\b|\b(?P<ops>[A-Z]\w*?)Ops\b|\b(?P<camel>[A-Z]\w*)Functor"
)
_COPY = re.compile(r"Memcpy \w+ \((?P<source>\w+) -> (?P<target>\w+)\)")
_FILL = re.compile(r"Memset \((?P<target>\w+)\)")
_IDENTIFIER = re.compile(r"[A-Za-z_~$]\w*")
_MANGLED = re.compile(r"_ZN?K?(?=\d)")


def short_name(full: str) -> str:
    """Never empty, and free of control characters. The full name stays with the caller."""
    text = one_line(full[:_MOST_READ]).strip()
    for rule in _RULES:
        if found := " ".join(rule(text).split()):
            return _cut(found, LONGEST)
    return _cut(" ".join(text.split()), LONGEST) or _NAMELESS


def short_names(names: Sequence[str]) -> list[str]:
    """One for each; different full names get different ones, equal names the same."""
    alike: defaultdict[str, list[str]] = defaultdict(list)
    for full in dict.fromkeys(names):
        alike[short_name(full)].append(full)
    found: dict[str, str] = {fulls[0]: short for short, fulls in alike.items() if len(fulls) == 1}
    used = set(found.values())
    for short, fulls in sorted(alike.items()):
        if len(fulls) > 1:
            found.update(_apart(short, sorted(fulls), used))
    return [found[full] for full in names]


def _apart(short: str, fulls: Sequence[str], used: set[str]) -> dict[str, str]:
    """With the first word that not all of these names have, or else by number."""
    pieces = _distinguishing(fulls)
    if len(set(pieces)) < len(fulls):
        pieces = [str(number) for number in range(1, len(fulls) + 1)]
    found: dict[str, str] = {}
    for full, piece in zip(fulls, pieces, strict=True):
        label, number = _with_piece(short, piece), 1
        while label in used:
            number += 1
            label = _with_piece(short, f"{piece[: _PIECE - 6]} {number}".strip())
        used.add(label)
        found[full] = label
    return found


def _with_piece(short: str, piece: str) -> str:
    return f"{_cut(short, LONGEST - len(piece) - 3)} [{piece}]" if piece else short


def _distinguishing(fulls: Sequence[str]) -> list[str]:
    words = [list(dict.fromkeys(re.findall(r"[A-Za-z0-9]+", full[:_MOST_READ]))) for full in fulls]
    common = set[str](words[0]).intersection(*words[1:])
    return [next((_cut(word, _PIECE) for word in each if word not in common), "") for each in words]


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[: longest - 1].rstrip()}…"


def _moved(text: str) -> str:
    """``copy, device to device``; ``fill, device``."""
    if found := _COPY.match(text):
        return f"copy, {found['source'].lower()} to {found['target'].lower()}"
    found = _FILL.match(text)
    return f"fill, {found['target'].lower()}" if found else ""


def _aten(text: str) -> str:
    """Templates of ATen: what they do to each element, how they reduce, and in which type."""
    base, inner = _parted(text)
    if _ELEMENTWISE.match(base) or base.startswith("distribution_elementwise"):
        return _elementwise(inner)
    if base == "reduce_kernel":
        found = _REDUCTION.search(inner)
        what = found["functor"] or found["ops"] or found["camel"] if found else ""
        return f"reduce {_words(what)} {_element(inner)}"
    if base == "multi_tensor_apply_kernel":
        found = re.search(r"(\w+?)(?:Math)?Functor\b", inner)
        operator = re.search(r"std::(plus|minus|multiplies|divides)\b", inner)
        rest = inner[found.start() :] if found else inner
        parts = (_words(found[1]) if found else "", operator[1] if operator else "", _element(rest))
        return f"multi-tensor {' '.join(parts)}"
    return ""


def _elementwise(inner: str) -> str:
    found = _OPERATION.search(inner)
    if not found:
        return f"elementwise {_element(inner)}"
    rest = inner[found.start() :]
    if found["copied"] is not None:
        target = {"bfloat16": "to bf16", "float16": "to fp16", "float8": "to fp8"}.get(found["copied"], "")
        return f"elementwise copy {_element(rest)} {target}"
    said = next(filter(None, found.groups()), "")
    of = _OPERANDS.search(inner[: found.start()])  # which says the type of what is read, not that of the sum
    scalar = "scalar" if of and of["unary"] else ""
    return f"elementwise {_words(said)} {scalar} {_element(inner[of.end() :] if of else rest)}"


def _scans(text: str) -> str:
    base, inner = _parted(text)
    head = text.partition("<")[0]
    if "cub::" in head:
        return f"cub {base.removesuffix('Kernel')}"
    if "thrust::" in head:
        agent = re.search(r"(\w+)Agent\b", inner)
        return f"thrust {agent[1] if agent else base}"
    return ""


def _plain(text: str) -> str:
    """Any other function: its name without namespaces and arguments, and its template's type."""
    base, inner = _parted(text)
    base = base.removesuffix("_kernel") or base
    found = _ELEMENT.match(inner)  # further behind, it may be the type of an index
    return f"{base} {_ELEMENTS[found[0]] if found else ''}"


def _parted(text: str) -> tuple[str, str]:
    """The function's own name, and the text of its template arguments."""
    text = text.replace("(anonymous namespace)::", "").removeprefix("void ")
    head, opening, rest = text.partition("<")
    if "(" in head:
        head, opening, rest = head.partition("(")[0], "", ""
    base = head.rsplit("::", 1)[-1].strip()
    if mangled := _MANGLED.match(base):
        base = _demangled(base[mangled.end() :]) or base
    return (base if _IDENTIFIER.match(base) else ""), rest if opening else ""


def _demangled(text: str) -> str:
    """The last of the names that begin a mangled one; each has its length before it."""
    name = ""
    while found := re.match(r"\d{1,3}", text):
        end = found.end() + int(found[0])
        name, text = text[found.end() : end], text[end:]
    return name


def _element(text: str) -> str:
    """The first type of an element that stands there."""
    found = _ELEMENT.search(text)
    return _ELEMENTS[found[0]] if found else ""


def _words(name: str) -> str:
    """``GeluBackward`` as ``gelu backward``."""
    parted = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name).lower()
    return parted.replace("_", " ").strip()


_RULES: tuple[Callable[[str], str], ...] = (_moved, inductor_name, library_name, _aten, _scans, _plain)
