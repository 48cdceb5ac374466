"""Text from outside as it may be shown: nothing in it acts on a terminal, a parser or the reading order."""

import html
import re

# Controls (C0 without tab and newline, DEL, C1), marks that change the reading order, further ends of lines,
# marks without width, halves of a character, what XML forbids. Joiners stay: scripts and emoji need them.
_ACTING = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ufffe\uffff"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)

_FORMULA = "=+-@\t\n＝＋－＠"


def visible(text: str) -> str:
    r"""The same text with what acts written out, such as ``\x1b`` or ``\u202e``; lines stay lines."""
    return _ACTING.sub(_written, text.replace("\r\n", "\n"))


def one_line(text: str) -> str:
    """As ``visible``, in one line."""
    return visible(" ".join(text.split()))


def cell_text(text: str) -> str:
    """Text for a cell of a spreadsheet, which takes some texts for formulas; what reads as a number stays."""
    shown = visible(text)
    if shown[:1] not in _FORMULA or not shown:
        return shown
    try:
        float(shown)
    except ValueError:
        return f"'{shown}"  # which spreadsheets take for the mark of a text
    return shown


def html_text(text: str) -> str:
    """Text for a place between tags."""
    return html.escape(visible(text))


def escaped_in_json(json_text: str) -> str:
    """JSON of the same value. Outside of strings it has no such character."""
    return _ACTING.sub(_as_utf16, json_text)


def _as_utf16(match: re.Match[str]) -> str:
    units = match.group().encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))


def _written(match: re.Match[str]) -> str:
    code = ord(match.group())
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
