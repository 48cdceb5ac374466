"""The numbers by which a column of the results sorts."""

import numpy as np
from numpy.typing import NDArray

from roofscope.app.presentation.point_columns import Key


class SortKeys:
    """The sort keys of a column, and the numbers that stand for them."""

    def __init__(self, keys: list[Key]) -> None:
        self._keys = keys
        self._has_words = any(isinstance(key, str) for key in keys)
        self._numbers: NDArray[np.float64] | None = None

    def add(self, key: Key) -> None:
        self._keys.append(key)
        if self._numbers is not None and not self._has_words and not isinstance(key, str):
            self._numbers = np.append(self._numbers, np.nan if key is None else key)
        else:
            self._has_words |= isinstance(key, str)
            self._numbers = None

    def numbers(self) -> NDArray[np.float64]:
        """Numbers as they are, words by their place among the words, what is not known as NaN."""
        if self._numbers is None:
            words = sorted({key for key in self._keys if isinstance(key, str)})
            numbers: dict[str, float] = {word: place for place, word in enumerate(words)}
            known = (numbers[key] if isinstance(key, str) else key for key in self._keys)
            self._numbers = np.array([np.nan if key is None else key for key in known], dtype=np.float64)
        return self._numbers
