"""``run --json-in``: what is to be run as one JSON document, in the place of the options."""

import re
import sys
from pathlib import Path
from typing import Annotated

from msgspec import Meta, Struct

from roofscope.app.cli.errors import refuse
from roofscope.app.cli.own_file import FileOptions
from roofscope.app.cli.run_options import RunOptions
from roofscope.app.presentation.words import parse_dtype
from roofscope.profiling.decoding import UnreadableError, decode
from roofscope.profiling.paths import is_file
from roofscope.profiling.planning.kernel_files import FileFault, printable, read_file
from roofscope.profiling.planning.plan import Quality, Regime
from roofscope.profiling.planning.spec import Distribution, Dtype, Provider, size_text

_MOST_BYTES = 4 << 20


class RunRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Names and meanings are those of the options of ``run``. New fields come last and have a default."""

    kernels: Annotated[
        tuple[str, ...],
        Meta(description="softmax, softmax/triton_online, or files as they stand: add.py, add.py:add"),
    ] = ()
    reference: Annotated[str, Meta(description="Of a file: a torch expression, or FILE:NAME")] = ""
    inputs: Annotated[tuple[str, ...], Meta(description="Of a file: x=4096x1024:bf16")] = ()
    call: str = ""
    grid: str = ""
    block: str = ""
    providers: tuple[Provider, ...] = ()
    implementations: tuple[str, ...] = ()
    all_modes: bool = False
    dtypes: Annotated[tuple[str, ...], Meta(description="float32, float16, bfloat16, or fp32 and so on")] = ()
    sizes: Annotated[tuple[dict[str, int], ...], Meta(description="A workload each, over the preset's")] = ()
    presets: tuple[str, ...] = ()
    device: str | None = None
    quality: Quality = Quality.QUICK
    regime: Regime = Regime.BURST
    fill: Annotated[Distribution, Meta(description="Of floating inputs: in [-1, 1], or N(0, 1)")] = (
        Distribution.UNIFORM
    )
    fresh_ceilings: bool = False
    folders: Annotated[tuple[str, ...], Meta(description="More folders of kernels")] = ()
    labels: dict[str, str] = {}
    out: Annotated[str | None, Meta(description="The .roofscope file to write")] = None
    keep_code: bool = False
    shared_gpu: bool = False
    strict: bool = False
    patience: Annotated[float, Meta(ge=1, le=1000)] = 1.0
    retry_paused: bool = False


def requested(source: Path) -> RunOptions:
    """Of a file, or of stdin for ``-``; refused where it is no such document. It can trust nothing."""
    name = "stdin" if source == Path("-") else printable(source)
    try:
        asked = decode(_read(source, name), RunRequest, most_bytes=_MOST_BYTES)
    except UnreadableError as error:
        words = re.sub(r"\s*-?\s*at `\$\.?([^`]*)`", r" at \1", str(error)).replace("`", "")
        refuse(f"The request in {name} cannot be used: {words[:1].lower()}{words[1:]}.")
    return RunOptions(
        kernels=asked.kernels,
        providers=asked.providers,
        implementations=asked.implementations,
        all_modes=asked.all_modes,
        dtypes=tuple(_dtype(word) for word in asked.dtypes),
        sizes=tuple(size_text(sizes) for sizes in asked.sizes),
        presets=asked.presets,
        device=asked.device,
        quality=asked.quality,
        regime=asked.regime,
        fill=asked.fill,
        fresh_ceilings=asked.fresh_ceilings,
        folders=tuple(map(Path, asked.folders)),
        labels=tuple(f"{key}={value}" for key, value in asked.labels.items()),
        out=Path(asked.out) if asked.out else None,
        strict=asked.strict,
        as_json=True,
        patience=asked.patience,
        retry_paused=asked.retry_paused,
        shared_gpu=asked.shared_gpu,
        keep_code=asked.keep_code,
        file=FileOptions(asked.reference, asked.inputs, asked.call, asked.grid, asked.block),
    )


def _read(source: Path, name: str) -> bytes:
    if source == Path("-"):
        return sys.stdin.buffer.read(_MOST_BYTES + 1)
    if not is_file(source):
        refuse(f"There is no file {name}.")
    try:
        return read_file(source)
    except FileFault as error:
        refuse(f"{name} cannot be read: {error}.")


def _dtype(word: str) -> Dtype:
    found = parse_dtype(word)
    if found is None:
        known = ", ".join(Dtype)
        refuse(f"The request has an unknown element type {printable(word[:40])!r}; choose from {known}.")
    return found
