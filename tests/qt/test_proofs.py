"""The self-test in the doctor: carried out by the worker, shown, and kept in the session."""

from PySide6.QtWidgets import QLabel, QPushButton
from pytestqt.qtbot import QtBot

from roofscope.app.presentation.roofline.caption import empty_text
from roofscope.app.presentation.roofline.scene import build_scene
from roofscope.app.window.application import Application
from roofscope.app.window.commands import CommandId
from roofscope.app.window.panes.proof import ProofPane
from roofscope.app.window.shell.doctor_dialog import DoctorDialog
from roofscope.profiling.paths import ASSETS
from roofscope.profiling.results.proof import ProofName
from roofscope.profiling.results.session_reader import load
from roofscope.tests.qt.conftest import OpenWindow


def proof_pane(application: Application) -> ProofPane:
    application.window.actions_of[CommandId.DOCTOR].trigger()
    dialog = application.window.findChild(DoctorDialog)
    dialog.tabs.setCurrentIndex(1)
    return dialog.findChild(ProofPane)


def button(pane: ProofPane, text: str) -> QPushButton:
    return next(b for b in pane.findChildren(QPushButton) if b.text() == text)


def texts(pane: ProofPane) -> str:
    return "\n".join(label.text() for label in pane.findChildren(QLabel) if not label.isHidden())


def test_proofs_are_shown_with_their_limits_and_kept(open_window: OpenWindow, qtbot: QtBot):
    application = open_window()
    pane = proof_pane(application)
    assert "Nothing is proved" in texts(pane)
    button(pane, "Prove it on this device").click()
    qtbot.waitUntil(lambda: not application.controller.is_running)
    shown = texts(pane)
    for wanted in (
        "known duration: passed, 2 s",
        "Invented: the slope is off by 0.02 %.",
        "Limit: The slope is right within 0.2 %.",
        "cold is cold: failed",
        "profiler: skipped",
        "Invented: no profiler here.",
        "10.01 µs",
        "1 passed, 1 failed, 1 skipped",
    ):
        assert wanted in shown
    kept = load(application.model.session.path).proofs
    assert [proof.name for proof in kept] == [
        ProofName.KNOWN_DURATION,
        ProofName.COLD_CACHE,
        ProofName.PROFILER,
    ]
    pane.window().close()


def test_a_session_with_proofs_shows_them_again(open_window: OpenWindow, qtbot: QtBot):
    application = open_window()
    pane = proof_pane(application)
    button(pane, "Prove it on this device").click()
    qtbot.waitUntil(lambda: not application.controller.is_running)
    path = application.model.session.path
    pane.window().close()
    application.window.close()
    again = proof_pane(open_window(path))
    assert "cold is cold: failed" in texts(again)
    again.window().close()


def test_the_self_test_can_be_stopped_and_keeps_what_is_proved(open_window: OpenWindow, qtbot: QtBot):
    application = open_window(mode="held")
    pane = proof_pane(application)
    button(pane, "Prove it on this device").click()
    with qtbot.waitSignal(application.model.proof_added):
        pass
    button(pane, "Stop").click()
    qtbot.waitUntil(lambda: not application.controller.is_running)
    assert 1 <= len(application.model.session.proofs) < 3
    assert button(pane, "Prove it on this device").isVisible()
    pane.window().close()


def test_a_session_of_proofs_alone_says_where_they_are(open_window: OpenWindow):
    """It opened as an empty one: no pane of the window shows a proof."""
    application = open_window(ASSETS / "sessions" / "h200-proofs.roofscope")
    said = "No points, but 10 proofs: Help > Doctor (F8), Proofs."
    shown = [label.text() for label in application.panes.results.findChildren(QLabel)]
    assert said in shown
    assert empty_text(build_scene(application.model.session, ())) == said
