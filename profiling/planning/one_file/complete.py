"""Completes a draft by what only its reference can say, and keeps it beside the user's file."""

import tempfile
from pathlib import Path

from msgspec.structs import replace

from roofscope.profiling.planning.derivation import Derivation, DeriveError, Question, derive
from roofscope.profiling.planning.one_file.call_text import call_text, is_direct
from roofscope.profiling.planning.one_file.draft import Draft
from roofscope.profiling.planning.one_file.form import (
    Form,
    FormFault,
    form_path,
    form_text,
    read_form,
    tensor_of,
    tensor_text,
)
from roofscope.profiling.planning.one_file.parts import called, reference_entry

_IMPORTS = "import math\nimport torch\nimport torch.nn.functional as F\nfrom torch import nn\n\n"
_BY_FILE = """\
from pathlib import Path
from roofscope.profiling.worker.build.own_file import function_of
run = function_of(Path({path!r}), {name!r}, is_class={is_class}, made_by={made_by!r})
"""


def complete(draft: Draft, folder: Path) -> Form:
    """Runs the reference of a draft whose file lies in this folder: the files must be ones that may run.

    Raises FormFault.
    """
    form = draft.form
    inputs = tuple(tensor_of(*one) for one in form.inputs.items())
    entry = reference_entry(folder / "form", form, inputs, (), 1)
    if entry.offer is None:
        text = _IMPORTS + call_text(entry)
    else:
        assert is_direct(entry, called(entry.call))
        offer = entry.offer
        text = _BY_FILE.format(
            path=entry.file, name=offer.name, is_class=offer.is_class, made_by=entry.made_by
        )
    with tempfile.TemporaryDirectory() as aside:
        path = Path(aside) / "reference.py"
        path.write_text(text, encoding="utf-8")
        question = Question(str(path), inputs, form.dtypes[0], form.sizes)
        try:
            found = derive(question)
        except DeriveError as error:
            raise FormFault(_reason(error, form)) from error
    return _with(form, found, draft.written)


def keep(form: Form, path: Path) -> None:
    """Write a form, but never over one that its user has edited. Raises FormFault."""
    if path.exists():
        try:
            is_ours = form_text(read_form(path)) == path.read_text(encoding="utf-8")
        except (FormFault, OSError, UnicodeDecodeError):
            is_ours = False
        if not is_ours:
            raise FormFault(
                f"{path.name} says already how {form.file} is measured, and was edited; "
                "change it there, or delete it"
            )
    try:
        path.write_text(form_text(form), encoding="utf-8")
    except OSError as error:
        raise FormFault(
            f"{path.name} cannot be written beside it ({error.strerror}); copy it to a folder of yours"
        ) from error


def derive_again(path: Path, form: Form) -> Form:
    """A form of before with its work derived once more, which says what of; its outputs keep their names.

    The files must be ones that may run. Raises FormFault, also where its user has edited the form.
    """
    made = complete(Draft(form, tuple(form.outputs), ""), path.parent)
    if not made.is_fixed:  # else its work holds at its own sizes only
        made = replace(made, odd_sizes=form.odd_sizes, domain=form.domain)
    keep(made, path)
    return made


def path_for(source: Path, names: tuple[str, ...]) -> Path:
    """The form of a file, or of another of its functions: the first has the plain name."""
    plain = form_path(source)
    if not names:
        return plain
    try:
        own = {called(call) for call in read_form(plain).calls}
    except FormFault:
        return plain
    return plain if own & set(names) else form_path(source, names[0])


def _with(form: Form, found: Derivation, written: tuple[str, ...]) -> Form:
    outputs = list(found.outputs)
    if written and len(written) != len(outputs):
        raise FormFault(
            f"the call writes to {', '.join(written)}, and the reference returns {len(outputs)} tensors; "
            "give --call with as many outputs"
        )
    taken = set(form.inputs) | set(form.sizes)
    names = list(written)
    for tensor in outputs[len(names) :]:
        free = (
            name for name in (tensor.name, *(f"out{number}" for number in range(100))) if name not in taken
        )
        names.append(next(free))
        taken.add(names[-1])
    whole = replace(
        form,
        outputs={name: tensor_text(tensor) for name, tensor in zip(names, outputs, strict=True)},
        flops=found.work.flop_count,
        reads=found.work.read_bytes,
        writes=found.work.write_bytes,
        derived=found.work.derived,
        pipe=found.pipe,
        multiplies=found.multiplies,
    )
    whole = replace(whole, derived_of=whole.origin)
    if not whole.is_fixed or not form.sizes:
        return whole
    own = " and ".join(f"{name} == {size}" for name, size in form.sizes.items())
    return replace(whole, odd_sizes=(), domain=own)


def _reason(error: DeriveError, form: Form) -> str:
    """Of the reference that the user gave, and not of the file that it was run from."""
    text = (
        str(error).rstrip(".").replace("The reference in reference.py", f"the reference {form.reference!r}")
    )
    sizes = ", ".join(f"{name} ({shape})" for name, shape in form.inputs.items())
    return f"{text}; the inputs are {sizes} at {', '.join(f'{k}={v}' for k, v in form.sizes.items())}"
