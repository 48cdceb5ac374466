"""Which part of the window has the keyboard."""

from PySide6.QtWidgets import QWidget


def has_keyboard(part: QWidget) -> bool:
    """Whether keys go to this widget or to one inside it, once its window is the active one."""
    holder = part.window().focusWidget()
    return bool(holder) and (holder is part or part.isAncestorOf(holder))
