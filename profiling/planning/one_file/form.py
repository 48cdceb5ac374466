"""The form of a user's file: what is measured, against what and on what. It lies beside the file.

It is a Python file of plain assignments, read and never run: a form from elsewhere does nothing by itself.
"""

import ast
import hashlib
import json
import re
from pathlib import Path
from typing import cast

import msgspec
from msgspec import Struct

from roofscope.profiling.planning.kernel_files import FileFault, printable, read_file
from roofscope.profiling.planning.spec import Dtype, Element, Fill, Multiply, Pipe, TensorSpec

ENDING = ".roofscope.py"
SOURCES = (".py", ".cu", ".cuh", ".cpp", ".cc")
_ELSEWHERE = re.compile(r"([^\s:()/]+\.(?:py|cu|cuh|cpp|cc)):(.+)", re.DOTALL)
_TENSOR = re.compile(r"([^:]*?)\s*(?::\s*([a-z0-9_]+)\s*(?:<\s*(.+?))?)?\s*")


class FormFault(ValueError):
    """A form cannot be used; the text is a clause."""


class Form(Struct, frozen=True, forbid_unknown_fields=True):
    """What a form says. Names in the file are these in capitals."""

    file: str  # beside the form
    call: str | tuple[str, ...]
    reference: str  # a torch expression of the inputs, or FILE:NAME
    sizes: dict[str, int]
    inputs: dict[str, str]
    outputs: dict[str, str]
    dtypes: tuple[Dtype, ...] = (Dtype.FLOAT32,)
    grid: str = ""
    block: str = ""
    shared_bytes: str = ""
    flops: str = "0"
    reads: str = "0"
    writes: str = "0"
    derived: str = ""
    derived_of: str = ""  # ``origin`` when it was
    pipe: Pipe = Pipe.VECTOR
    multiplies: Multiply | None = None
    tolerance: dict[Dtype, float] = {}
    magnitude: float = 1.0
    odd_sizes: tuple[dict[str, int], ...] = ()
    domain: str = ""

    @property
    def calls(self) -> tuple[str, ...]:
        return (self.call,) if isinstance(self.call, str) else self.call

    @property
    def others(self) -> tuple[str, ...]:
        """The files of calls such as ``gelu_2.py:gelu(x)``, beside the form as its own file is."""
        files = (split_call(call)[0] for call in self.calls)
        return tuple(dict.fromkeys(file for file in files if file))

    @property
    def is_fixed(self) -> bool:
        """Whether its work was derived as numbers, which hold at its own sizes only."""
        named = set(
            re.findall(r"\w+", " ".join((*self.outputs.values(), self.flops, self.reads, self.writes)))
        )
        return bool(self.derived) and not named & set(self.sizes)

    @property
    def origin(self) -> str:
        """A short hash of what work is derived from; of sizes their names, where formulas hold at all."""
        sizes = self.sizes if self.is_fixed else [*self.sizes]
        content = (self.reference, self.inputs, self.outputs, sizes)
        return hashlib.sha256(msgspec.json.encode(content)).hexdigest()[:12]

    @property
    def is_old(self) -> bool:
        """Whether its work was derived before forms said what of."""
        return bool(self.derived) and not self.derived_of

    @property
    def is_stale(self) -> bool:
        """Whether its work was derived of something else than what it says now."""
        return bool(self.derived) and self.derived_of != self.origin


def split_call(call: str) -> tuple[str, str]:
    """``gelu_2.py:gelu(x)`` as file and call; no file where the call is of the form's own."""
    match = _ELSEWHERE.fullmatch(call.strip())
    return (match[1], match[2].strip()) if match else ("", call)


def form_path(source: Path, name: str = "") -> Path:
    """Where a file's form lies: ``add.roofscope.py`` of ``add.py``, ``gelu.cu.roofscope.py`` of ``gelu.cu``.

    With a name, that of a second kernel of the file.
    """
    stem = source.stem if source.suffix == ".py" else source.name
    return source.with_name(f"{stem}.{name}{ENDING}" if name else f"{stem}{ENDING}")


def is_form(path: Path) -> bool:
    return path.name.endswith(ENDING)


def read_form(path: Path) -> Form:
    """Raises FormFault."""
    try:
        return form_of(read_file(path).decode())
    except FileFault as error:
        raise FormFault(str(error)) from error
    except UnicodeDecodeError as error:
        raise FormFault("it is no UTF-8 text") from error


def form_of(text: str) -> Form:
    """Raises FormFault."""
    try:
        body = ast.parse(text).body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        where = (
            f"line {error.lineno}: {error.msg}" if isinstance(error, SyntaxError) else "Python cannot read it"
        )
        raise FormFault(where) from error
    found: dict[str, object] = {}
    for node in body:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if name.isupper():
                try:
                    found[name.lower()] = ast.literal_eval(value)
                except (ValueError, TypeError, RecursionError, MemoryError) as error:
                    raise FormFault(f"line {node.lineno}: {name} must be a plain value") from error
            case ast.Expr(value=ast.Constant()):
                pass
            case _:
                raise FormFault(f"line {node.lineno}: it is read and never run, so it may only assign values")
    try:
        return msgspec.convert(found, Form)
    except msgspec.MsgspecError as error:
        raise FormFault(printable(re.sub(r"[`$]\.?", "", str(error)))) from error


def line_of(text: str, name: str) -> int:
    """The line on which a form assigns a name, so that faults of an expression name it."""
    match = re.search(rf"^{name}\b", text, re.MULTILINE)
    return text.count("\n", 0, match.start()) + 1 if match else 1


def tensor_of(name: str, text: str) -> TensorSpec:
    """From ``rows, cols``, or with its own element type ``rows: int64 < cols``. Raises FormFault."""
    match = _TENSOR.fullmatch(text)
    if match is None:
        raise FormFault(f"the tensor {name} is {text!r}; write it like 'rows, cols' or 'rows: int64 < cols'")
    dimensions, element, below = match.groups()
    shape = tuple(part.strip() for part in dimensions.split(",") if part.strip())
    if element is None:
        return TensorSpec(name, shape)
    known = {str(one): one for one in Element} | {str(one): one for one in Dtype}
    if element not in known:
        raise FormFault(
            f"the tensor {name} has no known element type {element!r}; known are {', '.join(known)}"
        )
    fill = Fill.INTEGER if "int" in element else Fill.UNIFORM
    if fill is Fill.INTEGER and not below:
        below = "127" if element == Element.INT8 else "2"
    try:
        return TensorSpec(name, shape, Element(element), fill, below or "")
    except ValueError:
        raise FormFault(f"the tensor {name} cannot be of {element} beside the workload's type") from None


def tensor_text(tensor: TensorSpec) -> str:
    """As ``tensor_of`` reads it."""
    text = ", ".join(tensor.shape)
    if tensor.element is not None:
        text += f": {tensor.element}"
    if tensor.below:
        text += f" < {tensor.below}"
    return text


def form_text(form: Form) -> str:
    """The file's text, with what each line means."""
    data: dict[str, object] = msgspec.to_builtins(form)
    lines = [f'"""How Roofscope measures {form.file}. Edit it as you like: it is read, and never run."""', ""]
    for comment, names in _SECTIONS:
        shown = [name for name in names if data[name] or name in _ALWAYS]
        if not shown:
            continue
        lines += [f"# {line}" for line in comment.splitlines()]
        lines += [f"{name.upper()} = {_literal(data[name])}" for name in shown]
        lines.append("")
    return "\n".join(lines).rstrip() + "\n"


_ALWAYS = ("file", "call", "reference", "sizes", "inputs", "outputs", "dtypes", "flops", "odd_sizes")
_FILE = """\
The file, and what is called: an expression of the inputs, the sizes and the file's names.
An output that it names is allocated before. A list of several is measured in turn; one of another file
beside it is written "other.py:f(x)"."""
_LAUNCH = "Blocks and threads of the launch, as expressions of the sizes, and bytes of dynamic shared memory."
_REFERENCE = """\
What is right, in float64: a torch expression of the inputs, or a function as "file.py:name".
Its eager and compiled versions are measured beside the file's."""
_TENSORS = """\
Sizes by name, and each tensor's dimensions by them. After a colon: an element type that is not
the workload's, such as "rows: int64 < cols"."""
_DTYPES = "Element types that may be chosen; the first is the default."
_WORK = """\
Work of one call, as formulas of the sizes and s, the bytes of an element. An FMA is 2 FLOP.
DERIVED says how it was derived, and DERIVED_OF of what: where you state the work, delete both."""
_PIPE = "The units that do the arithmetic: vector, packed, special or tensor."
_TOLERANCE = "Largest norm(y - reference) / norm(reference) that is right, by element type."
_MAGNITUDE = "Inputs up to this absolute value are verified, too."
_ODD = """\
Also verified at the first of these sizes; [] for none. Where the file takes only some sizes, say which,
as in DOMAIN = "cols % 8 == 0"."""
_SECTIONS = (
    (_FILE, ("file", "call")),
    (_LAUNCH, ("grid", "block", "shared_bytes")),
    (_REFERENCE, ("reference",)),
    (_TENSORS, ("sizes", "inputs", "outputs")),
    (_DTYPES, ("dtypes",)),
    (_WORK, ("flops", "reads", "writes", "derived", "derived_of")),
    (_PIPE, ("pipe", "multiplies")),
    (_TOLERANCE, ("tolerance",)),
    (_MAGNITUDE, ("magnitude",)),
    (_ODD, ("odd_sizes", "domain")),
)


def _literal(value: object) -> str:
    """As ruff would write it, so that an editor that formats it changes nothing."""
    match value:
        case str():
            return json.dumps(value, ensure_ascii=False)
        case dict():
            pairs = cast(dict[object, object], value).items()
            return "{" + ", ".join(f"{_literal(key)}: {_literal(one)}" for key, one in pairs) + "}"
        case list() | tuple():
            return "[" + ", ".join(map(_literal, cast(list[object], value))) + "]"
        case _:
            return repr(value)
