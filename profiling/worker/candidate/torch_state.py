"""Settings of torch that belong to the whole process, kept apart for each implementation.

One may set a default dtype or a precision for itself, and keeps it. Another implementation of the job must
not find it: it would be called wrong, or measured at a precision that is not its own.
"""

from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, NamedTuple

import torch


class _Setting(NamedTuple):
    read: Callable[[], Any]
    write: Callable[[Any], object]


_SETTINGS = (
    _Setting(torch.get_default_dtype, torch.set_default_dtype),
    _Setting(torch.is_grad_enabled, torch.set_grad_enabled),
    _Setting(torch.get_num_threads, torch.set_num_threads),
    _Setting(torch.get_float32_matmul_precision, torch.set_float32_matmul_precision),
    _Setting(torch.are_deterministic_algorithms_enabled, torch.use_deterministic_algorithms),
    *(
        _Setting(partial(torch.is_autocast_enabled, kind), partial(torch.set_autocast_enabled, kind))
        for kind in ("cpu", "cuda")
    ),
)
_UNKNOWN = object()

State = tuple[Any, ...]


class TorchStates:
    """The settings as each implementation left them; a new one finds those of the start."""

    def __init__(self) -> None:
        self._first = _read()
        self._of: dict[int, State] = {}

    @contextmanager
    def of(self, number: int | None) -> Generator[None]:
        """Those of an implementation, or of none."""
        _write(self._first if number is None else self._of.get(number, self._first))
        try:
            yield
        finally:
            if number is not None:
                self._of[number] = _read()
            _write(self._first)

    def share(self, number: int, other: int) -> None:
        """The other one finds those of this implementation from now on."""
        self._of[other] = self._of.get(number, self._first)


class OwnSettings:
    """What one piece of foreign code has changed of the settings: it finds that again, and no other does."""

    def __init__(self) -> None:
        self._changed: dict[int, Any] = {}  # by place in _SETTINGS

    @contextmanager
    def applied(self) -> Generator[None]:
        """While that code runs; afterwards all is as it was before."""
        before = _read()
        _write(tuple(self._changed.get(place, value) for place, value in enumerate(before)))
        found = _read()
        try:
            yield
        finally:
            pairs = enumerate(zip(_read(), found, strict=True))
            self._changed |= {place: now for place, (now, then) in pairs if now != then}
            _write(before)


def _read() -> State:
    return tuple(_value(setting) for setting in _SETTINGS)


def _value(setting: _Setting) -> Any:
    try:
        return setting.read()
    except RuntimeError:  # torch refuses to read a precision that was set in two ways
        return _UNKNOWN


def _write(state: State) -> None:
    for setting, value in zip(_SETTINGS, state, strict=True):
        now = _value(setting)
        if value is not _UNKNOWN and now is not _UNKNOWN and now != value:
            with suppress(RuntimeError):
                setting.write(value)
