"""Runs public files and the tutorials as they stand, on one GPU, into one session, and says what came.

    python3 main.py -m roofscope.benchmarks.public_files FOLDER [--device cuda:0] [--seconds 470] [--compiled]
        [--only NAME ...]

FOLDER gets copies of the files with their forms, and `h200-tutorials.roofscope`. `tests/public_files.py` says
what is given for each. The forms are made before the device is held. Ceilings are measured once, by the one
run of them all. With --compiled the reference is compiled by torch, too, which takes some seconds a file.
"""

import argparse
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

from roofscope.app.presentation.formatting import time_text
from roofscope.app.presentation.point_row import reason_text
from roofscope.profiling.paths import PACKAGE, SUFFIX, cache_folder, module_command
from roofscope.profiling.planning.kernel_files import FileFault
from roofscope.profiling.planning.one_file.complete import complete, keep, path_for
from roofscope.profiling.planning.one_file.draft import Asked, draft
from roofscope.profiling.planning.one_file.form import FormFault
from roofscope.profiling.planning.one_file.offers import Kind
from roofscope.profiling.planning.one_file.parts import kernel_name, read_parts
from roofscope.profiling.results.outcome import Measured
from roofscope.profiling.results.session import Session
from roofscope.profiling.results.session_reader import load
from roofscope.tests.public_files import DATA, PUBLIC, REFUSED, TUTORIALS, Tried

_NAME = f"h200-tutorials{SUFFIX}"
_AT_ONCE = 8
_PROVIDERS = ("eager", "triton", "cuda", "cuda_ext")


def main(arguments: Sequence[str]) -> int:
    """Exit code 1 where a file that should run did not."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--seconds", type=float, default=470.0, help="the run is stopped after so many")
    parser.add_argument("--compiled", action="store_true")
    parser.add_argument("--only", action="append", help="such as solve.cu; all if none")
    parser.add_argument("--build", type=Path, help=argparse.SUPPRESS)
    chosen = parser.parse_args(arguments)
    if chosen.build:
        _build(chosen.build)
        return 0
    tried = [one for one in (*TUTORIALS, *PUBLIC, REFUSED) if not chosen.only or one.name in chosen.only]
    began = time.monotonic()
    forms = _forms(tried, chosen.folder.resolve())
    print(f"{time.monotonic() - began:.0f} s for {len(forms)} forms", flush=True)
    found = [form for form in forms.values() if isinstance(form, Path)]
    if chosen.device != "cpu":
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            list(pool.map(_build_apart, found))
        print(f"{time.monotonic() - began:.0f} s with the extensions", flush=True)
    session = chosen.folder / _NAME
    providers = (*_PROVIDERS, "compile") if chosen.compiled else _PROVIDERS
    words = [word for name in providers for word in ("--provider", name)]
    words += ["--device", chosen.device, "--trust", "--out", str(session.resolve())]
    command = [sys.executable, "-P", str(PACKAGE / "main.py"), "run", *map(str, found), *words]
    with subprocess.Popen(command) as run:
        try:
            run.wait(max(chosen.seconds - (time.monotonic() - began), 1))
        except subprocess.TimeoutExpired:
            print(f"Stopped after {chosen.seconds:g} s; what was measured is kept.")
            run.send_signal(signal.SIGINT)
    print(f"\n{time.monotonic() - began:.0f} s in all")
    return _say(forms, load(session) if session.exists() else None)


def _forms(tried: Sequence[Tried], folder: Path) -> dict[Tried, Path | str]:
    """Several at once: a child derives the work of each. Those of one file one after the other."""
    for kind in {Path(one.file).parts[0] for one in tried}:
        if not (folder / kind).exists():
            shutil.copytree(DATA / kind, folder / kind)
    files = list(dict.fromkeys(one.file for one in tried))

    def of_file(file: str) -> list[tuple[Tried, Path | str]]:
        return [(one, _form(one, folder)) for one in tried if one.file == file]

    with ThreadPoolExecutor(_AT_ONCE) as pool:
        found = {one: form for pairs in pool.map(of_file, files) for one, form in pairs}
    return {one: found[one] for one in tried}


def _build_apart(form: Path) -> None:
    """In a process of its own, several at once: nvcc takes a minute for all and not for each."""
    command = [*module_command("roofscope.benchmarks.public_files"), str(form.parent), "--build", str(form)]
    subprocess.run(command, check=False)


def _build(form: Path) -> None:
    """The extensions of a form; the run itself says of faults."""
    import torch

    from roofscope.profiling.worker.build.extension_unit import as_called
    from roofscope.profiling.worker.build.providers import cuda_ext
    from roofscope.profiling.worker.failures import BuildError, Unavailable

    for entry in read_parts(form).entries.values():
        if entry.offer is None or entry.offer.kind not in (Kind.EXTENSION, Kind.LAUNCHER):
            continue
        with suppress(BuildError, Unavailable):
            offer = as_called(entry.offer, entry.call)
            capability = torch.cuda.get_device_capability()
            cuda_ext.build_extension(Path(entry.file), capability, cache_folder("extensions"), offer)


def _form(one: Tried, folder: Path) -> Path | str:
    """The form of a copy of the file; or why there is none, in a clause."""
    source = folder / one.file
    names = (one.function,) if one.function else ()
    try:
        form = path_for(source, names)
        if not form.exists():
            asked = Asked(source, names, one.reference, one.inputs, one.call, one.grid, one.block)
            keep(complete(draft(asked), source.parent), form)
    except (FormFault, FileFault) as error:
        return str(error)
    return form


def _say(forms: dict[Tried, Path | str], session: Session | None) -> int:
    """A row a file, as Markdown; 1 where one that should run did not."""
    missing = 0
    print("\n| file | outcome | time, or why not |\n| --- | --- | --- |")
    for one, form in forms.items():
        outcome, words = ("refused", form) if isinstance(form, str) else _of(form, session)
        missing += outcome != "measured" and one is not REFUSED
        print(f"| {one.name} | {outcome} | {words} |")
    print(f"\n{len(forms) - missing} of {len(forms)} as they should be")
    return int(missing > 0)


def _of(form: Path, session: Session | None) -> tuple[str, str]:
    """What came of a file's own function, and its time beside the reference's."""
    kernel = kernel_name(form)
    points = [one for one in session.points if one.implementation.kernel == kernel] if session else []
    own = [one for one in points if one.implementation.variant and one.implementation.provider != "compile"]
    if not own:
        return "absent", "the run ended before it"
    outcome = own[0].outcome
    if not isinstance(outcome, Measured):
        return type(outcome).__name__.lower(), reason_text(own[0])
    seconds = [one.outcome.time.median_s for one in (own[0], *points) if isinstance(one.outcome, Measured)]
    others = [time_text(one) for one in seconds[1:] if one != seconds[0]] or ["nothing"]
    return "measured", f"{time_text(seconds[0])}; beside it {', '.join(others)}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
