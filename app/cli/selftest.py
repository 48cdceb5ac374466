"""``selftest``: a line a proof as it is done, then all figures."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from roofscope.app.cli.choice import (
    choose_device,
    choose_devices,
    choose_session,
    file_of_each,
    hyphenated,
    one_of,
)
from roofscope.app.cli.documents import SelftestDocument, print_document
from roofscope.app.cli.errors import (
    BUSY,
    DONE,
    INCONCLUSIVE,
    SOME_FAILED,
    STOPPED,
    codes_of_each,
    complain,
    refuse,
    refuse_unusable,
)
from roofscope.app.cli.options import AsJson, DeviceNames, NewSession, SharedGpu
from roofscope.app.cli.progress import make_console, progress_shown
from roofscope.app.cli.proofs import print_proof, proof_line
from roofscope.profiling.devices.device import Device
from roofscope.profiling.devices.discovery import default_device, local_devices
from roofscope.profiling.planning.catalog import scan
from roofscope.profiling.results.proof import Judgement, Proof, ProofName, all_passed
from roofscope.profiling.results.session_reader import SessionError
from roofscope.profiling.roofline.cache import CeilingCache
from roofscope.profiling.supervision.protocol import SelfTest
from roofscope.profiling.supervision.recorder import Gain
from roofscope.profiling.supervision.recording import record


def command(
    device: DeviceNames = None,
    proof: Annotated[
        list[ProofName] | None,
        typer.Option(
            help=f"Only this one; may be repeated: {', '.join(map(hyphenated, ProofName))}.",
            parser=one_of(ProofName, "proof"),
            metavar="NAME",
        ),
    ] = None,
    adversaries: Annotated[
        bool,
        typer.Option(
            "--adversaries",
            help="Instead: try the corpus of cheats of a checkout, none of which may be measured.",
        ),
    ] = False,
    adversary: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Only this cheat; may be repeated.")
    ] = None,
    out: NewSession = None,
    shared_gpu: SharedGpu = False,
    as_json: AsJson = False,
) -> None:
    """Prove on this device that the measured number is the true one. Takes about three minutes.

    Exit codes: 0 all passed, 1 one failed or was not carried out, 3 none failed but the host's noise leaves
    one inconclusive, 75 the device is busy. Several devices are proved one after the other, each into a
    session of its own: the host's part of the proofs would suffer beside another one.
    """
    devices = local_devices()
    if adversaries or adversary:
        if proof or out:
            refuse("--adversaries carries out no proof and writes no session; leave out --proof and --out.")
        from roofscope.app.cli.adversaries import run_adversaries

        one = choose_device(devices, device, default_device(devices))
        raise typer.Exit(run_adversaries(one, adversary or [], as_json=as_json, may_share=shared_gpu))
    path = choose_session(out)
    chosen = choose_devices(devices, device)
    if as_json and len(chosen) > 1:
        refuse("--json prints one document; name one device, and call this for each.")
    paths = file_of_each(chosen, path)

    def prove(one: Device) -> int:
        return run_selftest(one, paths[one], proof or [], as_json=as_json, may_share=shared_gpu)

    try:
        codes = codes_of_each(chosen, prove)
    except SessionError as error:
        refuse(str(error))
    raise typer.Exit(worst_of(codes))


def worst_of(codes: Sequence[int]) -> int:
    """A failure before what was not tried, before what is not known."""
    return next((code for code in (SOME_FAILED, BUSY, INCONCLUSIVE) if code in codes), DONE)


def run_selftest(
    device: Device,
    path: Path,
    names: Sequence[ProofName] = (),
    *,
    as_json: bool = False,
    may_share: bool = False,
) -> int:
    """Prove on a device, into a new session file; the exit code, or STOPPED. Raises SessionError."""
    console = make_console(stderr=as_json)

    def line_of(gained: Gain) -> str | None:
        return proof_line(gained) if isinstance(gained, Proof) else None

    with progress_shown(console, line_of) as watch:
        task = SelfTest("selftest", device.id, tuple(names))
        cache = CeilingCache(console.print)
        ending = record(path, scan(), device, [task], watch, cache, may_share=may_share)
    proofs = tuple(gained for gained in ending.gains if isinstance(gained, Proof))
    missing = (len(set(names)) or len(ProofName)) - len(proofs)
    session = ending.path
    passed = not missing and all_passed(proofs)
    inconclusive = sum(proof.judgement is Judgement.INCONCLUSIVE for proof in proofs)
    refuse_unusable(ending)
    if ending.busy:
        complain(ending.busy)
    if as_json:
        print_document(
            SelftestDocument(
                session=str(session) if session else None,
                device=device,
                passed=passed,
                proofs=proofs,
                missing_count=missing,
                inconclusive_count=inconclusive,
                problem=ending.busy,
            )
        )
    elif session:
        for proof in proofs:
            print_proof(console, proof)
        _print_conclusion(console, device, proofs, missing)
        console.print(f"Session: {session}", markup=False, highlight=False, soft_wrap=True)
    if ending.was_stopped:
        return STOPPED
    if ending.busy or passed:
        return BUSY if ending.busy else DONE
    failed = missing or any(proof.judgement is Judgement.FAILED for proof in proofs)
    return INCONCLUSIVE if inconclusive and not failed else SOME_FAILED


def _print_conclusion(console: Console, device: Device, proofs: Sequence[Proof], missing: int) -> None:
    counts = {str(word): sum(proof.judgement is word for proof in proofs) for word in Judgement}
    counts["not carried out"] = missing
    text = ", ".join(f"{count} {word}" for word, count in counts.items() if count)
    console.print(f"\n{device.name} ({device.id}): {text}.", markup=False, highlight=False)
