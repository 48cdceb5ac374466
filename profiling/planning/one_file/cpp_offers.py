"""The kernels and functions of a CUDA or C++ file that can be measured, by its text alone."""

import re
from collections.abc import Iterator

from msgspec.structs import replace

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


_LAUNCHER = re.compile(rf"(?<![\w:<,(])void\s+({_NAME})\s*\(")
_NAMESPACE = re.compile(rf"\bnamespace\s+((?:{_NAME}::)*{_NAME})?\s*\{{")
# What allocates or copies of itself takes a host's pointers, and no tensor's.
_OF_HOST = re.compile(r"\bcuda(?:Malloc|Memcpy)\w*\s*\(")


def cpp_offers(source: str) -> tuple[Offer, ...]:
    """Functions that take tensors; where there are none, those that launch kernels, and the kernels."""
    text = without_comments(source)
    if extensions := [*_extensions(text)]:
        return tuple(extensions)
    kernels = [*_kernels(text)]
    launchers = [_with_kernels(one, kernels) for one in _launchers(text)]
    if launchers:
        kernels = [replace(kernel, is_plain=False) for kernel in kernels]
    return (*launchers, *kernels)


def declared_functions(source: str) -> tuple[Offer, ...]:
    """Functions of tensors that are defined, or only declared."""
    return tuple(_extensions(without_comments(source), is_declaration_enough=True))


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
        yield Offer(
            match[2], Kind.BARE, parameters, line, template=match[1] or "", returns=False, body=body,
            namespace=_namespace(text, match.start()),
        )  # fmt: skip


def _launchers(text: str) -> Iterator[Offer]:
    """``void solve(const float* a, float* out, int n)``, of pointers that are tensors' memory."""
    for match in _LAUNCHER.finditer(text):
        end = closing(text, match.end() - 1)
        after = text[end + 1 :].lstrip()
        if not after.startswith("{") or "__" in text[text.rfind("\n", 0, match.start()) + 1 : match.start()]:
            continue  # only declared, or a kernel
        first = text.index("{", end)
        body = text[first : closing(text, first, "{}")]
        parameters = tuple(_parameters(text[match.end() : end]))
        pointers = [one for one in parameters if one.is_pointer]
        is_plain_data = all(one.type.count("*") == 1 and "void" not in one.type for one in pointers)
        if "<<<" not in body or not pointers or not is_plain_data or _OF_HOST.search(body):
            continue
        line = text.count("\n", 0, match.start(1)) + 1
        yield Offer(
            match[1], Kind.LAUNCHER, parameters, line, returns=False, body=body,
            namespace=_namespace(text, match.start()),
        )  # fmt: skip


def _with_kernels(launcher: Offer, kernels: list[Offer]) -> Offer:
    """With the bodies of the kernels that it launches."""
    bodies = [one.body for one in kernels if re.search(rf"\b{one.name}\b", launcher.body)]
    return replace(launcher, body="\n".join([launcher.body, *bodies]))


def _namespace(text: str, place: int) -> str:
    """The namespaces round a place, such as ``a::b::``; one without a name needs none."""
    return "".join(
        f"{match[1]}::"
        for match in _NAMESPACE.finditer(text, 0, place)
        if match[1] and closing(text, match.end() - 1, "{}") > place
    )


def _extensions(text: str, *, is_declaration_enough: bool = False) -> Iterator[Offer]:
    seen = set[str]()
    for match in _EXTENSION.finditer(text):
        end = closing(text, match.end() - 1)
        parameters = tuple(_parameters(text[match.end() : end]))
        opening = r"\s*(?:const\s*)?[{;]" if is_declaration_enough else r"\s*(?:const\s*)?\{"
        is_defined = re.match(opening, text[end + 1 :]) is not None
        if not is_defined or match[2] in seen or not any(one.is_tensor for one in parameters):
            continue
        seen.add(match[2])
        line = text.count("\n", 0, match.start(2)) + 1
        yield Offer(
            match[2], Kind.EXTENSION, parameters, line, returns=match[1] != "void",
            namespace=_namespace(text, match.start()),
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
        match = re.search(rf"({_NAME})\s*(\[\s*\w*\s*\])?\s*$", declared)
        if match:
            kind = " ".join(declared[: match.start()].split()) + ("*" if match[2] else "")
            yield Parameter(match[1], kind, default.strip())
