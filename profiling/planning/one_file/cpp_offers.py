"""The kernels and functions of a CUDA or C++ file that can be measured, by its text alone."""

import re
from collections.abc import Iterator

from roofscope.profiling.planning.one_file.offers import Kind, Offer, Parameter

_COMMENT_OR_STRING = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'', re.DOTALL)
_NAME = r"[A-Za-z_]\w*"
_BARE = re.compile(
    rf"(?:template\s*<\s*(?:typename|class)\s+({_NAME})\s*>\s*)?"
    rf"(?:extern\s*\"\s*\"\s*)?(?:static\s+|inline\s+)*__global__\s+(?:static\s+)?(?:__launch_bounds__\s*\([^)]*\)\s*)?"
    rf"void\s+(?:__launch_bounds__\s*\([^)]*\)\s*)?({_NAME})\s*\("
)
_TENSOR = r"(?:torch|at)::Tensor"
_EXTENSION = re.compile(
    rf"(?<![\w:<,(])({_TENSOR}|std::vector<\s*{_TENSOR}\s*>|std::tuple<[\w:<>,\s]*Tensor[\w:<>,\s]*>|void)\s+({_NAME})\s*\("
)


def cpp_offers(source: str) -> tuple[Offer, ...]:
    """Functions that take tensors; where there are none, the kernels themselves."""
    text = without_comments(source)
    extensions = [*_extensions(text)]
    kernels = [*_kernels(text)]
    return tuple(extensions or kernels)


def without_comments(source: str) -> str:
    """With blanks for comments and for what is in quotes, so that every line stays where it is."""

    def blank(match: re.Match[str]) -> str:
        kept = match[0][0] if match[0][0] in "\"'" else ""
        inner = re.sub(r"[^\n]", " ", match[0][len(kept) : len(match[0]) - len(kept)])
        return f"{kept}{inner}{kept}"

    return _COMMENT_OR_STRING.sub(blank, source)


def closing(text: str, start: int, pair: str = "()") -> int:
    """Where the bracket that opens at ``start`` is closed; the text's length where it is not."""
    depth = 0
    for place in range(start, len(text)):
        if text[place] == pair[0]:
            depth += 1
        elif text[place] == pair[1]:
            depth -= 1
            if depth == 0:
                return place
    return len(text)


def _kernels(text: str) -> Iterator[Offer]:
    for match in _BARE.finditer(text):
        end = closing(text, match.end() - 1)
        after = text[end + 1 :].lstrip()
        if not after.startswith("{"):
            continue  # declared, and defined elsewhere
        first = text.index("{", end)
        body = text[first : closing(text, first, "{}")]
        parameters = tuple(_parameters(text[match.end() : end]))
        line = text.count("\n", 0, match.start(2)) + 1
        yield Offer(match[2], Kind.BARE, parameters, line, template=match[1] or "", returns=False, body=body)


def _extensions(text: str) -> Iterator[Offer]:
    seen = set[str]()
    for match in _EXTENSION.finditer(text):
        end = closing(text, match.end() - 1)
        parameters = tuple(_parameters(text[match.end() : end]))
        is_defined = re.match(r"\s*(?:const\s*)?\{", text[end + 1 :]) is not None
        if not is_defined or match[2] in seen or not any(one.is_tensor for one in parameters):
            continue
        seen.add(match[2])
        line = text.count("\n", 0, match.start(2)) + 1
        yield Offer(match[2], Kind.EXTENSION, parameters, line, returns=match[1] != "void")


def _parameters(text: str) -> Iterator[Parameter]:
    depth, words, start = 0, list[str](), 0
    for place, sign in enumerate(text):
        depth += (sign in "<([{") - (sign in ">)]}")
        if sign == "," and depth == 0:
            words.append(text[start:place])
            start = place + 1
    words.append(text[start:])
    for word in filter(str.strip, words):
        declared, _, default = word.partition("=")
        match = re.search(rf"({_NAME})\s*(\[\s*\w*\s*\])?\s*$", declared)
        if match:
            kind = " ".join(declared[: match.start()].split()) + ("*" if match[2] else "")
            yield Parameter(match[1], kind, default.strip())
