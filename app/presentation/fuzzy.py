"""Finds what people mean by a few letters: ``otr`` is Open trace, ``rn`` Run."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeVar

_WORD_START = 12
_IN_A_ROW = 6
_WHOLE_WORD = 16
_GAP = 1  # a letter that is passed over

Found = TypeVar("Found")


class Match(NamedTuple):
    """How well it fits, and which letters of the text are those that were typed."""

    score: int
    places: tuple[int, ...]


def match(typed: str, text: str) -> Match | None:
    """None where a word that was typed is not in the text. Words stand anywhere, their letters in order."""
    lower = text.lower()
    score, places = 0, list[int]()
    for word in typed.lower().split():
        if (found := _match_word(word, lower)) is None:
            return None
        score += found.score
        places += found.places
    return Match(score - len(text) // 8, tuple(sorted(set(places))))


def best(typed: str, texts: Sequence[tuple[str, Found]], most: int) -> list[tuple[Match, Found]]:
    """The best first; of equals the one that comes first."""
    scored = ((match(typed, text), number, item) for number, (text, item) in enumerate(texts))
    hits = [(found, number, item) for found, number, item in scored if found]
    hits.sort(key=lambda hit: (-hit[0].score, hit[1]))
    return [(found, item) for found, _, item in hits[:most]]


def _match_word(word: str, text: str) -> Match | None:
    whole = [_scored(range(at, at + len(word)), text) for at in _starts(word, text)]
    if whole:
        return max(whole, key=lambda found: found.score)
    return _in_order(word, text)


def _starts(word: str, text: str) -> Iterable[int]:
    at = text.find(word)
    while at >= 0:
        yield at
        at = text.find(word, at + 1)


def _in_order(word: str, text: str) -> Match | None:
    """Beginnings of words, put together: ``reslay`` is in ``reset layout``. Letters elsewhere are chance."""
    places: list[int] = []
    for letter in word:
        at = places[-1] + 1 if places else 0
        if places and at < len(text) and text[at] == letter:
            places.append(at)
            continue
        place = next((i for i in range(at, len(text)) if text[i] == letter and _begins_word(i, text)), None)
        if place is None:
            return None
        places.append(place)
    return _scored(places, text)


def _scored(places: Sequence[int], text: str) -> Match:
    score = 0
    for number, place in enumerate(places):
        if _begins_word(place, text):
            score += _WORD_START
        if number and place == places[number - 1] + 1:
            score += _IN_A_ROW
        elif number:
            score -= _GAP * min(place - places[number - 1] - 1, 8)
    is_whole = places[-1] - places[0] + 1 == len(places) and _begins_word(places[0], text)
    ends = places[-1] + 1 == len(text) or not text[places[-1] + 1].isalnum()
    return Match(score + (_WHOLE_WORD if is_whole and ends else 0), tuple(places))


def _begins_word(place: int, text: str) -> bool:
    return place == 0 or (not text[place - 1].isalnum() and text[place].isalnum())
