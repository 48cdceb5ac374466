"""What stands beside a ceiling's line: its name, its value and, where several are drawn, its source."""

from collections.abc import Callable, Iterator, Sequence

from msgspec import Struct

from roofscope.app.presentation.formatting import si_text
from roofscope.app.presentation.verdict_text import ceiling_value_text, limit_name
from roofscope.profiling.roofline.roofline import Ceiling, Source

_SOURCES = {
    Source.MEASURED_BURST: "burst",
    Source.MEASURED_SUSTAINED: "sustained",
    Source.NAMEPLATE_HELD: "nameplate held",
    Source.NAMEPLATE: "nameplate",
}


class Words(Struct, frozen=True):
    """How ceilings are worded in one scene.

    ``short`` leaves out FLOP/s, which is the axis's own unit. ``says_source`` where several are drawn; a
    single one is said once for all.
    """

    short: bool
    says_source: bool

    def row(self, ceilings: Sequence[Ceiling], fits: Callable[[str], bool] = lambda _: True) -> str:
        """One text for lines too close for one each; every value in it is that of the name before it."""
        text = ""
        for text in self._rows(ceilings):
            if fits(text):
                break
        return text

    def parts(self, rows: Sequence[Sequence[Ceiling]]) -> list[str]:
        """Texts that read as one: ``DRAM write 4.71 · ``, ``read 4.70 · ``, ``copy 4.28 TB/s``.

        The ceilings of a row have one value. Its unit and source are said where the next ones differ.
        """
        parts: list[str] = []
        for index, row in enumerate(rows):
            before = rows[index - 1][-1] if index else None
            following = rows[index + 1][0] if index + 1 < len(rows) else None
            of_same = before is not None and before.bound is row[0].bound and row[0].mix is not None
            names = list(dict.fromkeys(limit_name(ceiling) for ceiling in row))
            memory = f"{row[0].bound.label} "
            rest = [name.removeprefix(memory) for name in names[1:]]
            name = ", ".join([names[0].removeprefix(memory if of_same else ""), *rest])
            value, _, unit = self._value(row[0]).partition(" ")
            ends_run = following is None or following.source is not row[-1].source
            alike = following is not None and self._value(following).endswith(f" {unit}")
            text = f"{name} {value}" if alike and not ends_run else f"{name} {value} {unit}"
            source = self._said(row) if ends_run else ""
            parts.append(f"{text}{source}{' · ' if following else ''}")
        return parts

    def span(self, ceilings: Sequence[Ceiling], *, bare: bool = False) -> list[str]:
        """The lowest and the highest of several: ``DRAM copy 4.28 to ``, ``write 4.71 TB/s``.

        A value that both have is written once: ``FP32 to ``, ``FP64 tensor 66.9 TFLOP/s``, and one text where
        both have one name as well; ``bare`` leaves their source out.
        """
        low, high = (pick(ceilings, key=lambda ceiling: ceiling.value) for pick in (min, max))
        (first, _, unit), (last, _, last_unit) = (self._value(c).partition(" ") for c in (low, high))
        is_of_one = len({ceiling.source for ceiling in ceilings}) == 1
        said = self._said(ceilings) if is_of_one and not bare else ""
        if (first, unit) == (last, last_unit):
            names = list(dict.fromkeys(map(limit_name, ceilings)))
            to_last = [f"{names[0]} to "] if len(names) > 1 else []
            return [*to_last, f"{names[-1]} {last} {unit}{said}"]
        of_same = low.bound is high.bound and high.mix is not None
        name = str(high.mix) if of_same else limit_name(high)
        start = f"{limit_name(low)} {first}" + ("" if unit == last_unit else f" {unit}")
        named = "" if limit_name(low) == name else f"{name} "
        return [f"{start} to ", f"{named}{last} {last_unit}{said}"]

    def _rows(self, ceilings: Sequence[Ceiling]) -> Iterator[str]:
        """The longest first, each made when it is asked for: a layout asks for a hundred rows."""
        values = {self._value(ceiling) for ceiling in ceilings}
        names = dict.fromkeys(map(limit_name, ceilings))
        sources = {ceiling.source for ceiling in ceilings}
        of_all = f"{' · '.join(names)} {values.pop()}" if len(values) == 1 else ""
        if of_all and len(ceilings) == len(names) * len(sources):
            yield f"{of_all}{self._said(ceilings)}"
        else:
            yield "".join(self.parts([[ceiling] for ceiling in ceilings]))
        if of_all:
            yield of_all
        yield "".join(self.span(ceilings))

    def _said(self, row: Sequence[Ceiling]) -> str:
        sources = dict.fromkeys(_SOURCES[ceiling.source] for ceiling in row)
        return f" {', '.join(sources)}" if self.says_source else ""

    def _value(self, ceiling: Ceiling) -> str:
        if self.short and not ceiling.bound.is_memory:
            return si_text(ceiling.value, "")
        return ceiling_value_text(ceiling)


def shares_row(row: Sequence[Ceiling], ceiling: Ceiling) -> bool:
    """Whether a ceiling's line lies on those of a row, and one value is true of all."""
    if any(ceiling_value_text(other) != ceiling_value_text(ceiling) for other in row):
        return False
    of_source = all(other.source is ceiling.source for other in row)
    return of_source or all(limit_name(other) == limit_name(ceiling) for other in row)
