"""Sentences for the user that stay until they are closed, or until what they are about is over."""

from collections.abc import Iterable
from datetime import datetime
from enum import StrEnum, auto

import msgspec
from msgspec import Struct
from PySide6.QtCore import QObject, Signal

_MOST = 99


class Topic(StrEnum):
    """What a notice is about; with the end of that it goes."""

    RUN = auto()  # a run that was refused, or that met something: until the next one is asked for
    UNDER_WAY = auto()  # what has to wait for the end of a run
    PLAN = auto()  # a plan that cannot be run: until it is changed
    SESSION = auto()  # the session shown: until another one is
    FILE = auto()  # a file that could not be read or written: until one could
    FOLDERS = auto()  # folders of kernels: until they are looked at again
    PROGRAM = auto()  # anything else: until it is closed


class Notice(Struct, frozen=True):
    """``count``: how often it came; ``at``: when last, on the local clock."""

    text: str
    topic: Topic
    at: datetime
    count: int = 1


class NoticeBoard(QObject):
    """The notices that stand, the newest last. One that comes again is counted, and is the newest."""

    changed = Signal()
    added = Signal(object)  # Notice

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._notices: list[Notice] = []

    @property
    def notices(self) -> tuple[Notice, ...]:
        return tuple(self._notices)

    def add(self, text: str, topic: Topic = Topic.PROGRAM) -> None:
        now = datetime.now().astimezone()
        same = next((notice for notice in self._notices if notice.text == text), None)
        if same:
            self._notices.remove(same)
        notice = (
            msgspec.structs.replace(same, at=now, count=same.count + 1, topic=topic)
            if same
            else Notice(text, topic, now)
        )
        self._notices = [*self._notices, notice][-_MOST:]
        self.added.emit(notice)
        self.changed.emit()

    def settle(self, *topics: Topic) -> None:
        """What these were about is over."""
        self._keep(notice for notice in self._notices if notice.topic not in topics)

    def close(self, text: str) -> None:
        self._keep(notice for notice in self._notices if notice.text != text)

    def clear(self) -> None:
        self._keep(())

    def _keep(self, notices: Iterable[Notice]) -> None:
        kept = list(notices)
        if kept != self._notices:
            self._notices = kept
            self.changed.emit()


def counted(notice: Notice) -> str:
    """The sentence, with how often it came where that is more than once."""
    return f"{notice.text} ({notice.count} times)" if notice.count > 1 else notice.text
