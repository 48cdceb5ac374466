"""The kernels and functions of a CUDA or C++ file that can be measured, by its text alone."""

import re
from bisect import bisect_left
from collections.abc import Iterator
from itertools import islice

from msgspec.structs import replace

from roofscope.profiling.planning.one_file.offers import Kind, Offer, Parameter

# A comment that nothing closes goes to the end: looking for its end from each of many hardly ends.
_COMMENT_OR_STRING = re.compile(
    r'//[^\n]*|/\*.*?(?:\*/|\Z)|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'', re.DOTALL
)
_NAME = r"[A-Za-z_]\w*"
_GLOBAL = re.compile(r"__global__\b")
_BEFORE = re.compile(
    rf"template\s*<\s*(?:typename|class)\s+({_NAME})\s*>\s*"
    r"(?:extern\s*\"\s*\"\s*)?(?:static\s+|inline\s+)*\Z"
)
_AFTER = re.compile(
    r"\s+(?:static\s+)?(?:__launch_bounds__\s*\([^)]*\)\s*)?"
    rf"void\s+(?:__launch_bounds__\s*\([^)]*\)\s*)?({_NAME})\s*\("
)
_TENSOR = r"(?:torch|at)::Tensor"
_EXTENSION = re.compile(
    rf"(?<![\w:<,(])({_TENSOR}|std::vector<\s*{_TENSOR}\s*>|std::tuple<[\w:<>,\s]{{0,300}}>|void)\s+({_NAME})\s*\("
)
_BODY = re.compile(r"\s*(?:const\s*)?\{")
_BODY_OR_END = re.compile(r"\s*(?:const\s*)?[{;]")
_WORD = re.compile(r"\w+")
_DECLARED = re.compile(rf"({_NAME})\s*(\[\s*\w*\s*\])?\s*$")

# A file is read before its user has said that it may run: none may take more than its size in steps.
_MOST_BEFORE, _MOST_AFTER = 300, 1000  # characters about a __global__
_MOST_SIGNATURE = 4000
_MOST_NAME = 300
_MOST_BODY = 100_000
_MOST_OFFERS = 200


_LAUNCHER = re.compile(rf"(?<![\w:<,(])void\s+({_NAME})\s*\(")
_NAMESPACE = re.compile(rf"\bnamespace\s+((?:{_NAME}::)*{_NAME})?\s*\{{")
# What allocates or copies of itself takes a host's pointers, and no tensor's.
_OF_HOST = re.compile(r"\bcuda(?:Malloc|Memcpy)\w*\s*\(")


def cpp_offers(source: str) -> tuple[Offer, ...]:
    """Functions that take tensors; where there are none, those that launch kernels, and the kernels."""
    text = _Text(without_comments(source))
    if extensions := [*islice(_extensions(text), _MOST_OFFERS)]:
        return tuple(extensions)
    kernels = [*islice(_kernels(text), _MOST_OFFERS)]
    launchers = [_with_kernels(one, kernels) for one in islice(_launchers(text), _MOST_OFFERS)]
    if launchers:
        kernels = [replace(kernel, is_plain=False) for kernel in kernels]
    return (*launchers, *kernels)


def declared_functions(source: str) -> tuple[Offer, ...]:
    """Functions of tensors that are defined, or only declared."""
    text = _Text(without_comments(source))
    return tuple(islice(_extensions(text, is_declaration_enough=True), _MOST_OFFERS))


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


class _Text:
    """A file's text without comments, of which all brackets and lines are found in one pass each."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._ends = {pair: _ends(text, pair) for pair in ("()", "{}")}
        self._lines = [place for place, sign in enumerate(text) if sign == "\n"]
        named = ((one.end() - 1, one[1]) for one in _NAMESPACE.finditer(text) if one[1])
        self._namespaces = [(start, self.closing(start, "{}"), name) for start, name in named][:_MOST_OFFERS]

    def closing(self, start: int, pair: str = "()") -> int | None:
        return self._ends[pair].get(start)

    def line(self, place: int) -> int:
        return bisect_left(self._lines, place) + 1

    def namespace(self, place: int) -> str:
        """The namespaces round a place, such as ``a::b::``; one without a name needs none."""
        return "".join(
            f"{name}::"
            for start, end, name in self._namespaces
            if start < place and not (end and end < place)
        )

    def signature(
        self, start: int, opening: re.Pattern[str] = _BODY
    ) -> tuple[tuple[Parameter, ...], int] | None:
        """Parameters, and where the body opens; None of what is declared only."""
        end = self.closing(start)
        if end is None or end - start > _MOST_SIGNATURE:
            return None
        body = opening.match(self.text, end + 1)
        return (tuple(_parameters(self.text[start + 1 : end])), body.end() - 1) if body else None

    def body(self, start: int) -> str:
        end = self.closing(start, "{}")
        return self.text[start : min(len(self.text) if end is None else end, start + _MOST_BODY)]


def _ends(text: str, pair: str) -> dict[int, int]:
    """Where each bracket is closed, by where it opens."""
    waiting: list[int] = []
    found: dict[int, int] = {}
    for match in re.finditer(f"[{re.escape(pair)}]", text):
        if match[0] == pair[0]:
            waiting.append(match.start())
        elif waiting:
            found[waiting.pop()] = match.start()
    return found


def _kernels(text: _Text) -> Iterator[Offer]:
    for match in _GLOBAL.finditer(text.text):
        found = _AFTER.match(text.text, match.end(), match.end() + _MOST_AFTER)
        if found is None or (signature := text.signature(found.end() - 1)) is None:
            continue
        parameters, first = signature
        before = _BEFORE.search(text.text[max(0, match.start() - _MOST_BEFORE) : match.start()])
        line, template = text.line(found.start(1)), before[1] if before else ""
        yield Offer(
            found[1], Kind.BARE, parameters, line, template=template, returns=False, body=text.body(first),
            namespace=text.namespace(match.start()),
        )  # fmt: skip


def _launchers(text: _Text) -> Iterator[Offer]:
    """``void solve(const float* a, float* out, int n)``, of pointers that are tensors' memory."""
    for match in _LAUNCHER.finditer(text.text):
        before = text.text[max(0, match.start() - _MOST_BEFORE) : match.start()]
        if "__" in before[before.rfind("\n") + 1 :]:
            continue  # a kernel
        if (signature := text.signature(match.end() - 1)) is None:
            continue
        parameters, first = signature
        body = text.body(first)
        pointers = [one for one in parameters if one.is_pointer]
        is_plain_data = all(one.type.count("*") == 1 and "void" not in one.type for one in pointers)
        if "<<<" not in body or not pointers or not is_plain_data or _OF_HOST.search(body):
            continue
        yield Offer(
            match[1], Kind.LAUNCHER, parameters, text.line(match.start(1)), returns=False, body=body,
            namespace=text.namespace(match.start()),
        )  # fmt: skip


def _with_kernels(launcher: Offer, kernels: list[Offer]) -> Offer:
    """With the bodies of the kernels that it launches."""
    words = set(_WORD.findall(launcher.body))
    bodies = [one.body for one in kernels if one.name in words]
    return replace(launcher, body="\n".join([launcher.body, *bodies])[:_MOST_BODY])


def _extensions(text: _Text, *, is_declaration_enough: bool = False) -> Iterator[Offer]:
    seen = set[str]()
    opening = _BODY_OR_END if is_declaration_enough else _BODY
    for match in _EXTENSION.finditer(text.text):
        if match[2] in seen or not (match[1] == "void" or "Tensor" in match[1]):
            continue
        signature = text.signature(match.end() - 1, opening)
        if signature is None or not any(one.is_tensor for one in signature[0]):
            continue
        seen.add(match[2])
        yield Offer(
            match[2], Kind.EXTENSION, signature[0], text.line(match.start(2)), returns=match[1] != "void",
            namespace=text.namespace(match.start()),
        )  # fmt: skip


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
        left_out = max(0, len(declared) - _MOST_NAME)
        match = _DECLARED.search(declared, left_out)
        if match:
            kind = " ".join(declared[: match.start()].split()) + ("*" if match[2] else "")
            yield Parameter(match[1], kind, default.strip())
