"""The text of a function of the inputs that carries out what a form calls."""

import ast

from roofscope.profiling.planning.one_file.parts import Entry

NEW = "_roofscope_new"  # makes an output of a shape, an element type and a device: a name that no call has


def call_text(entry: Entry, statement: str = "", first: tuple[str, ...] = ()) -> str:
    """A function ``run``. With ``statement`` that one is carried out in the place of the entry's call.

    Sizes that it names are read of the inputs' shapes; outputs that it names are allocated and returned.
    """
    used = set[str]().union(
        *map(names_in, (statement or entry.call, entry.grid, entry.block, entry.shared_bytes))
    )
    outputs = [tensor for tensor in entry.outputs if tensor.name in used and entry.offer]
    used |= {name for tensor in outputs for dimension in tensor.shape for name in names_in(dimension)}
    lines = [f"{name} = {tensor}.shape[{place}]" for name, tensor, place in _sizes(entry) if name in used]
    like = next((tensor.name for tensor in entry.inputs), "")
    for tensor in outputs:
        shape = "".join(f"({dimension}), " for dimension in tensor.shape)
        lines.append(f"{tensor.name} = {NEW}(({shape}), {str(tensor.element or '')!r}, {like}.device)")
    call = statement or entry.call
    if outputs:
        lines += [call, f"return {', '.join(tensor.name for tensor in outputs)}"]
    else:
        lines.append(f"return {call}")
    parameters = ", ".join([*first, *(tensor.name for tensor in entry.inputs)])
    return "\n    ".join([f"def run({parameters}):", *lines]) + "\n"


def names_in(expression: str) -> set[str]:
    """Of one that cannot be read there are none: its evaluation says what is wrong."""
    try:
        tree = ast.parse(expression.strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError):
        return set()
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}


def is_direct(entry: Entry, function: str) -> bool:
    """Whether the call hands the inputs on as they are."""
    return entry.call == f"{function}({', '.join(tensor.name for tensor in entry.inputs)})"


def _sizes(entry: Entry) -> list[tuple[str, str, int]]:
    """Each size that is a dimension of an input: its name, the input and the dimension's place."""
    found: dict[str, tuple[str, str, int]] = {}
    for tensor in entry.inputs:
        for place, dimension in enumerate(tensor.shape):
            if dimension.isidentifier():
                found.setdefault(dimension, (dimension, tensor.name, place))
    return [*found.values()]
