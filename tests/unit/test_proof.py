"""Proofs as values: what counts as passed, and that a session keeps them."""

import json
import shutil
import sqlite3
from pathlib import Path

import pytest

from roofscope.app.cli import selftest
from roofscope.app.cli.errors import DONE, INCONCLUSIVE, SOME_FAILED
from roofscope.app.presentation.proof_text import finding_text
from roofscope.profiling.analysis.selftest_limits import LIMITS
from roofscope.profiling.results.proof import Column, Proof, ProofName, Row, Unit, all_passed
from roofscope.profiling.results.session_reader import load
from roofscope.profiling.results.session_writer import SessionStore
from roofscope.profiling.supervision.effects import Send
from roofscope.profiling.supervision.protocol import (
    LineDecoder,
    ProofReady,
    Sealed,
    SelfTest,
    encode,
    event_decoder,
)
from roofscope.profiling.supervision.recording import Ending
from roofscope.profiling.supervision.run_events import BecameIdle, ProofArrived
from roofscope.profiling.supervision.supervisor import Supervisor
from roofscope.tests.recorded import GELU
from roofscope.tests.sessions import DEVICE
from roofscope.tests.unit.test_supervisor import hello

NAME = ProofName.KNOWN_DURATION
PASSED = Proof(
    NAME,
    True,
    "Slope 1.0001.",
    LIMITS[NAME],
    (Column("headline", Unit.SECONDS), Column("CUPTI", Unit.SECONDS)),
    (Row("2 us", (2e-6, None), True, "a note"),),
    duration_s=1.5,
    recorded_at="2026-01-01T00:00:00.000+00:00",
)
FAILED = Proof(ProofName.TRAPS, False, "7 of 8.", LIMITS[ProofName.TRAPS])
NOISY = Proof(ProofName.KNOWN_WORK, None, "0.69.", "", reason_inconclusive="Other work had the cores.")
SKIPPED = Proof(ProofName.PROFILER, None, "Skipped.", "", reason_skipped="This is a CPU.")


@pytest.mark.parametrize(
    ("proofs", "expected"),
    [
        ((PASSED, SKIPPED), True),
        ((PASSED, FAILED), False),
        ((SKIPPED,), False),
        ((PASSED, NOISY), False),
        ((), False),
    ],
)
def test_all_pass_when_none_fails_and_one_was_carried_out(proofs: tuple[Proof, ...], expected: bool) -> None:
    assert all_passed(proofs) is expected


def test_inconclusive_is_neither_failed_nor_skipped() -> None:
    found = [proof.judgement for proof in (PASSED, FAILED, NOISY, SKIPPED)]
    assert found == ["passed", "failed", "inconclusive", "skipped"]
    assert finding_text(NOISY) == "Other work had the cores."


@pytest.mark.parametrize(
    ("proofs", "code"),
    [
        ((PASSED, SKIPPED), DONE),
        ((PASSED, NOISY), INCONCLUSIVE),
        ((NOISY,), INCONCLUSIVE),
        ((FAILED, NOISY), SOME_FAILED),
    ],
)
def test_the_command_tells_inconclusive_from_failed(
    proofs: tuple[Proof, ...],
    code: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(selftest, "record", lambda *_, **__: Ending(proofs))
    names = [proof.name for proof in proofs]
    assert selftest.run_selftest(DEVICE, tmp_path / "none", names, as_json=True) == code
    document = json.loads(capsys.readouterr().out)
    assert document["passed"] is (code == DONE)
    assert document["inconclusive_count"] == proofs.count(NOISY)


def test_a_session_keeps_proofs(tmp_path: Path) -> None:
    path = tmp_path / "a.roofscope"
    with SessionStore.create(path) as store:
        for proof in (PASSED, FAILED, SKIPPED):
            store.add_proof(proof)
    assert load(path).proofs == (PASSED, FAILED, SKIPPED)
    connection = sqlite3.connect(path)
    rows = connection.execute("SELECT name, passed FROM proof ORDER BY id").fetchall()
    connection.close()
    assert rows == [("known duration", 1), ("traps", 0), ("profiler", None)]


def test_a_session_from_before_the_self_test_loads_and_takes_proofs(tmp_path: Path) -> None:
    path = tmp_path / "a.roofscope"
    shutil.copyfile(GELU, path)  # of format 1
    connection = sqlite3.connect(path)
    connection.execute("DROP TABLE proof")
    connection.commit()
    connection.close()
    assert load(path).proofs == ()
    with SessionStore.append(path) as store:
        store.add_proof(PASSED)
    assert load(path).proofs == (PASSED,)


def test_a_proof_survives_the_wire() -> None:
    events = event_decoder("secret").feed(encode(Sealed("secret", ProofReady("selftest", PASSED))))
    assert events == [ProofReady("selftest", PASSED)]
    commands: LineDecoder[SelfTest] = LineDecoder(SelfTest)
    task = SelfTest("selftest", "cuda:0", (ProofName.TRAPS,))
    assert commands.feed(encode(task)) == [task]


def test_the_supervisor_passes_proofs_on_and_survives_a_worker_lost_meanwhile() -> None:
    supervisor = Supervisor([], "catalog")
    task = SelfTest("selftest", "cpu")
    supervisor.submit([task], now=0.0)
    assert Send(task) in supervisor.feed(hello(), now=1.0)
    assert supervisor.feed(ProofReady("selftest", PASSED), now=2.0) == [ProofArrived(PASSED)]
    effects = supervisor.exited("killed by SIGSEGV", "", now=3.0)
    assert BecameIdle() in effects  # not tried again: what broke the worker would break the next one
    assert supervisor.is_idle
