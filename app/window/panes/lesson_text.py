"""What a lesson says of one step, with its figures; and its exercise, with the button that checks it."""

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QScrollArea, QVBoxLayout, QWidget

from roofscope.app.presentation.formatting import size_and_fill_text
from roofscope.app.presentation.lesson.check import Check, check, goal_text
from roofscope.app.presentation.lesson.commands import commands
from roofscope.app.presentation.lesson.figures import Figure, StepView, StoryView, heading
from roofscope.app.window.widgets.labels import as_pane, label, tip_text
from roofscope.profiling.planning.story import Story
from roofscope.profiling.results.session import Session


class LessonText(QScrollArea):
    check_asked = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWidgetResizable(True)
        self.setAccessibleName("What the step teaches")
        self.check_button = QPushButton("Check")
        self.check_button.setAccessibleName("Check the exercise")
        self.check_button.setToolTip("Look whether a version of yours in this session does the exercise")
        self.check_button.clicked.connect(self.check_asked)
        self.result = label("", wraps=True)
        self.result.setAccessibleName("Result of the check")
        self._title = label("", "limit", wraps=True)
        self._lesson = label("", wraps=True)
        self._looked_at = label("", "limit", wraps=True)
        self._looked_at.setAccessibleName("The figure to look at")
        self._figures = label("", "muted", wraps=True)
        self._figures.setAccessibleName("Its other figures")
        self._note = label("", "muted", wraps=True)
        self._command = label("", "code", wraps=True)
        self._command.setAccessibleName("What to run")
        self._story: Story | None = None
        content = QWidget()
        as_pane(content)
        column = QVBoxLayout(content)
        column.setContentsMargins(10, 2, 10, 8)
        column.setSpacing(6)
        column.addWidget(self._title)
        column.addWidget(self._lesson)
        column.addWidget(self._looked_at)
        column.addWidget(self._figures)
        column.addWidget(self._note)
        checking = QHBoxLayout()
        checking.setSpacing(8)
        checking.addWidget(self.check_button, 0, Qt.AlignmentFlag.AlignTop)
        checking.addWidget(self.result, 1)
        column.addLayout(checking)
        column.addWidget(self._command)
        column.addStretch(1)
        self.setWidget(content)

    @property
    def texts(self) -> tuple[str, ...]:
        """What is shown, from the top."""
        found = self.findChildren(QLabel)
        return tuple(one.text() for one in found if one.text() and not one.isHidden())

    def show_step(self, view: StoryView, step: StepView) -> None:
        self._title.setText(step.step.title)
        self._lesson.setText(step.step.lesson)
        self._show_figures(view, step)
        note = "" if step.point and step.point.measured else f"{step.label}: {step.note}"
        if step.excerpt and step.excerpt.is_of_today and step.point:
            note = "The lines are those of today: the session's own differ."
        self._note.setText(note)
        self._note.setVisible(bool(note))
        self._say_command("" if step.point else "\n".join(commands(view.story).steps))
        self._offer_check(None)

    def show_exercise(self, view: StoryView) -> None:
        story = view.story
        exercise = story.exercise
        self._title.setText("Exercise")
        self._lesson.setText(f"{exercise.task}\n\nHint: {exercise.hint}")
        self._show_figures(view, None)
        self._note.setText(goal_text(story))
        self._note.show()
        self._say_command("\n".join(commands(story).exercise[:2]))
        self._offer_check(story)

    def check(self, story: Story, session: Session) -> Check:
        """Check the exercise, and say what came of it."""
        found = check(story, session)
        self.result.setText(f"{str(found.state).capitalize()}. {found.sentence}")
        return found

    def _offer_check(self, story: Story | None) -> None:
        if story is None or story != self._story:
            self.result.setText("")
        self._story = story
        self.check_button.setVisible(story is not None)
        self.result.setVisible(story is not None)

    def _say_command(self, text: str) -> None:
        self._command.setText(text)
        self._command.setVisible(bool(text))

    def _show_figures(self, view: StoryView, step: StepView | None) -> None:
        is_measured = step is not None and step.point is not None and step.point.measured is not None
        self._looked_at.setVisible(is_measured)
        self._figures.setVisible(is_measured)
        if step is None or view.workload is None:
            return
        others = [_named(figure) for figure in step.figures if not figure.is_looked_at]
        others.append(f"{view.workload.dtype.label}, {size_and_fill_text(view.workload)}")
        self._figures.setText(" · ".join([step.label, *others]))
        looked = next((figure for figure in step.figures if figure.is_looked_at), None)
        self._looked_at.setText(_named(looked) if looked else "")
        self._looked_at.setToolTip(tip_text(looked.tip) if looked else "")


def _named(figure: Figure) -> str:
    """A figure with its name where its unit does not say what it is."""
    match figure.title:
        case "Time" | "Bandwidth" | "FLOP/s":
            return figure.text
        case "Of roof":
            return f"{figure.text} of the roof"
        case title:
            return f"{heading(title)}: {figure.text}"
