"""From a user's file and what the user says of it to a form; what is missing is one sentence with a guess."""

import re
import shlex
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from roofscope.profiling.planning.kernel_files import FileFault, printable, read_file
from roofscope.profiling.planning.one_file.form import SOURCES, Form, FormFault
from roofscope.profiling.planning.one_file.given_inputs import given_inputs
from roofscope.profiling.planning.one_file.offers import NUMBERS_OF_LAUNCHES, Kind, Offer
from roofscope.profiling.planning.one_file.parts import BY_FILE, called, offers_of
from roofscope.profiling.planning.one_file.python_offers import MODEL, NEW_MODEL
from roofscope.profiling.planning.one_file.shapes import (
    Tensors,
    guessed,
    input_names,
    integers,
    numel,
    scaled,
    stated,
)

_REFERENCES = (
    ("gelu", "torch.nn.functional.gelu({0}, approximate='tanh')"),
    ("softmax", "torch.softmax({0}, dim=-1)"),
    ("layer_?norm", "torch.nn.functional.layer_norm({0}, {0}.shape[-1:], {1}, {2})"),
    ("rms_?norm", "torch.nn.functional.rms_norm({0}, {0}.shape[-1:], {1})"),
    ("attention|attn|sdpa", "torch.nn.functional.scaled_dot_product_attention({0}, {1}, {2})"),
    ("leaky_?relu", "torch.nn.functional.leaky_relu({0})"),
    ("swiglu|silu_?mul", "torch.nn.functional.silu({0}) * {1}"),
    ("l2_?norm", "torch.nn.functional.normalize({0}, dim=-1)"),
    ("cross_?entropy", "torch.nn.functional.cross_entropy({0}, {1})"),
    ("square", "{0} * {0}"),
    ("add", "{0} + {1}"),
    ("mul(?!ti)|matmul|gemm|mm|dot", "{0} @ {1}"),
    ("relu", "torch.relu({0})"),
    ("silu|swish", "torch.nn.functional.silu({0})"),
    ("sigmoid", "torch.sigmoid({0})"),
    ("transpose", "{0}.T.contiguous()"),
    ("sum", "{0}.sum(-1)"),
    ("copy", "{0}.clone()"),
)
_NUMBERS = {
    "normalized_shape": "{0}.shape[-1:]", "w_shape": "{0}.shape[-1:]", "eps": "1e-5", "epsilon": "1e-5",
    "causal": "False", "p": "0.0", "dim": "-1", "axis": "-1", "alpha": "1.0", "beta": "0.0",
    "seed": "123", "sm_scale": "{0}.shape[-1] ** -0.5",
    **NUMBERS_OF_LAUNCHES,
}  # fmt: skip

_OTHER_LANGUAGES = (
    (r"@(?:numba\.)?cuda\.jit", "Numba"),
    (r"\b(?:cupy|cp)\.(?:RawKernel|RawModule|ElementwiseKernel|ReductionKernel)\b|\bRawKernel\(", "CuPy"),
    (r"@cute\.(?:jit|kernel)", "the CuTe DSL"),
    (r"@T\.prim_func", "TileLang"),
    (r"@triton\.jit", "Triton"),
)


class Asked(Struct, frozen=True):
    """What the user says of a file; the rest is guessed or asked for."""

    source: Path
    names: tuple[str, ...] = ()
    reference: str = ""
    inputs: tuple[str, ...] = ()
    call: str = ""
    grid: str = ""
    block: str = ""


class Draft(Struct, frozen=True):
    """A form that lacks what only its reference can say: outputs and work."""

    form: Form
    written: tuple[str, ...]  # names of the outputs that the call names
    was_guessed: str  # in a clause; "" where the user said all of it


class Missing(FormFault):
    """Something that must be said; the text is a clause, with the options to add and a guess."""


class Proposal(Struct, frozen=True):
    """What a file lets one guess, as the options have it; "" where it says nothing."""

    reference: str
    inputs: str
    call: str
    grid: str
    block: str


def proposal(source: Path, offer: Offer) -> Proposal:
    """To fill a form with."""
    reference = own_reference(source, offer) or guessed_reference(source, offer)
    try:
        words = own_inputs(source, offer, reference)
        tensors = stated(words, offer) if words else guessed(offer, reference)
    except FormFault:
        return Proposal(reference, "", "", "", "")
    try:
        call = _call(offer, tensors)
    except Missing:
        call = offer.signature
    grid, block = guessed_launch(offer, tensors) if offer.kind is Kind.BARE else ("", "")
    return Proposal(reference, tensors.label(), call, grid, block)


def all_offers(source: Path) -> tuple[Offer, ...]:
    """Every function of a file that can be measured. Raises FormFault where there is none."""
    if source.suffix not in SOURCES:
        raise FormFault(f"{printable(source.name)} is no {', '.join(SOURCES)} file")
    try:
        text = read_file(source).decode("utf-8", "replace")
    except FileFault as error:
        raise FormFault(f"{printable(source.name)} cannot be read: {error}") from error
    offers = offers_of(source.name, text)
    if not offers:
        raise FormFault(_why_nothing(source.name, text))
    return offers


def _why_nothing(name: str, text: str) -> str:
    """A clause."""
    for pattern, language in _OTHER_LANGUAGES:
        if re.search(pattern, text):
            return (
                f"{name} has kernels of {language}, and no function that takes torch tensors and launches "
                "them; write one, and name it"
            )
    return f"{name} has no function that takes tensors, and no __global__ kernel"


def chosen_offers(source: Path, names: Sequence[str]) -> tuple[Offer, ...]:
    """Those of these names, or the only one that stands out. Raises FormFault."""
    offers = all_offers(source)
    known = {offer.name: offer for offer in offers}
    for name in names:
        if name not in known:
            raise FormFault(
                f"{source.name} has no function {name!r} that takes tensors; it has {_listed(offers)}"
            )
    if names:
        return tuple(known[name] for name in names)
    plain = [offer for offer in offers if offer.is_plain] or [*offers]
    if len(plain) > 1:
        raise Missing(
            f"{source.name} has {_listed(plain)}; name the one to measure, "
            f"as in {source.name}:{plain[-1].name}"
        )
    return tuple(plain)


def draft(asked: Asked) -> Draft:
    """Raises FormFault, and Missing where the user must say more."""
    offers = chosen_offers(asked.source, asked.names or ((called(asked.call),) if asked.call else ()))
    offer = offers[0]
    reference = asked.reference or own_reference(asked.source, offer)
    if not reference:
        guess = guessed_reference(asked.source, offer)
        raise Missing(
            f"nothing says what {asked.source.name}:{offer.name} must compute; add --reference EXPRESSION, "
            f"in torch, or --reference FILE:NAME, such as --reference {shlex.quote(guess)}"
        )
    said = asked.inputs or own_inputs(asked.source, offer, reference)
    tensors = stated(said, offer, asked.call) if said else guessed(offer, reference)
    calls = [asked.call] if asked.call else [_call(one, tensors) for one in offers]
    grid, block = asked.grid, asked.block
    if offer.kind is Kind.BARE and not (grid and block):
        raise Missing(_launch_missing(asked, offer, tensors, calls[0]))
    form = Form(
        file=asked.source.name,
        call=calls[0] if len(calls) == 1 else tuple(calls),
        reference=reference,
        sizes=tensors.sizes,
        inputs=tensors.texts(),
        outputs={},
        dtypes=tensors.dtypes,
        grid=grid,
        block=block,
        odd_sizes=(scaled(tensors.sizes),),
    )
    guess = "" if said else f"--input {tensors.label().replace(' ', ' --input ')}"
    return Draft(form, input_names(offer)[1], guess)


def own_reference(source: Path, offer: Offer) -> str:
    """What the file itself says is right: the ``Model`` of its ``ModelNew``, as KernelBench has them."""
    if offer.name not in (NEW_MODEL, MODEL):
        return ""
    has_model = offer.name == MODEL or any(one.name == MODEL for one in _others(source, offer))
    return f"{source.name}:{MODEL}" if has_model else ""


def own_inputs(source: Path, offer: Offer, reference: str) -> tuple[str, ...]:
    """What ``get_inputs`` of the file makes, or that of the file that the reference lies in."""
    if not source.name.endswith(".py") or not offer.is_class:
        return ()
    paths = [source]
    if by_file := BY_FILE.fullmatch(reference.strip()):
        paths.append(source.parent / by_file[1])
    for path in paths:
        try:
            words = given_inputs(read_file(path).decode("utf-8", "replace"), offer)
        except FileFault:
            continue
        if words:
            return words
    return ()


def guessed_reference(source: Path, offer: Offer) -> str:
    """From another function of the file that takes as much, or from the name; "..." where neither helps."""
    names, _ = input_names(offer)
    for other in _others(source, offer):
        if len(input_names(other)[0]) == len(names) and re.search("naive|torch|ref|native|eager", other.name):
            return f"{source.name}:{other.name}"
    words = [*names, *(f"x{number}" for number in range(3))]
    for pattern, text in _REFERENCES:
        if re.search(pattern, f"{offer.name} {source.stem}", re.IGNORECASE):
            return text.format(*words)
    return f"torch.relu({words[0]})"


def guessed_launch(offer: Offer, tensors: Tensors) -> tuple[str, str]:
    """Grid and block by what the kernel's index is made of."""
    shape = next(iter(tensors.inputs.values()))
    body = offer.body
    if "blockIdx.y" in body or "threadIdx.y" in body:
        rows, cols = shape[-2:] if len(shape) > 1 else (*shape, "1")
        if len(tensors.sizes) == 3 and len(tensors.inputs) > 1:
            cols = list(tensors.inputs.values())[1][-1]
        return f"(cdiv({cols}, 16), cdiv({rows}, 16))", "(16, 16)"
    if re.search(r"=\s*blockIdx\.x\s*;", body) and len(shape) > 1:  # a row a block
        return shape[0], "256"
    return f"cdiv({numel(shape)}, 256)", "256"


def _launch_missing(asked: Asked, offer: Offer, tensors: Tensors, call: str) -> str:
    grid, block = guessed_launch(offer, tensors)
    words = "" if asked.grid else f"--grid {shlex.quote(grid)} "
    words += "" if asked.block else f"--block {shlex.quote(block)} "
    words += "" if asked.call else f"--call {shlex.quote(call)}"
    return (
        f"{asked.source.name}:{offer.name} is a bare kernel, whose launch must be known; "
        f"add {words.strip()}, which is guessed from its signature"
    )


def _call(offer: Offer, tensors: Tensors) -> str:
    """By the signature: tensors by the inputs' order, numbers by their names. Raises Missing."""
    names, written = input_names(offer)
    given = dict(zip(names, tensors.inputs, strict=False))
    given |= {name: f"{name}.zero_()" if _is_added_to(name, offer.body) else name for name in written}
    first = next(iter(tensors.inputs))
    whole = {parameter.name for parameter in integers(offer)}
    words: list[str] = []
    for parameter in offer.parameters:
        name = parameter.name
        if name in given:
            words.append(given[name])
        elif parameter.default:
            break  # and those after it have one, too
        elif name in tensors.sizes:
            words.append(name)
        elif name in whole:
            words.append(numel(tensors.inputs[first]) if len(whole) == 1 else f"{first}.shape[-1]")
        elif name.lower() in _NUMBERS:
            words.append(_NUMBERS[name.lower()].format(first))
        else:
            guess = (
                f"{offer.name}({', '.join([*words, *(one.name for one in offer.parameters[len(words) :])])})"
            )
            raise Missing(
                f"{offer.signature} takes {name}, of which nothing is known; add --call {shlex.quote(guess)} "
                f"with a value for {name}"
            )
    return f"{offer.name}({', '.join(words)})"


def _is_added_to(name: str, body: str) -> bool:
    """Whether C++ reads an output before it writes it, so that it must be zero: atomicAdd, beta * C[i]."""
    place = rf"\b{name}\s*\[[^;=]*\]"
    return bool(re.search(rf"\batomic\w+\(\s*&?\s*{name}\b|{place}\s*(?:[-+*|&^]=|=[^;=]*{place})", body))


def _others(source: Path, offer: Offer) -> list[Offer]:
    try:
        offers = offers_of(source.name, read_file(source).decode("utf-8", "replace"))
    except (FormFault, FileFault):
        return []
    return [one for one in offers if one.name != offer.name and one.kind is Kind.PYTHON]


def _listed(offers: Sequence[Offer]) -> str:
    names = [f"{offer.signature} on line {offer.line}" for offer in offers]
    return ", ".join(names[:-1]) + " and " + names[-1] if len(names) > 1 else "".join(names) or "none"
