"""The code that compilers made of a point, as texts to show."""

from roofscope.app.presentation.source.texts import Language, SourceText, shown_text
from roofscope.profiling.results.generated import Code, CodeInfo, CodeKind
from roofscope.profiling.results.session import Point, Session

KIND_TITLES = {
    CodeKind.INDUCTOR: "Inductor",
    CodeKind.TTIR: "TTIR",
    CodeKind.TTGIR: "TTGIR",
    CodeKind.LLIR: "LLVM IR",
    CodeKind.PTX: "PTX",
    CodeKind.SASS: "SASS",
}
_LANGUAGES = {
    CodeKind.INDUCTOR: Language.INDUCTOR,
    CodeKind.TTIR: Language.MLIR,
    CodeKind.TTGIR: Language.MLIR,
    CodeKind.LLIR: Language.LLVM,
    CodeKind.PTX: Language.PTX,
    CodeKind.SASS: Language.SASS,
}
HOW_TO_KEEP = "Measure it again with `roofscope run --keep-code`, or with Keep generated code ticked."


def code_of(session: Session, point: Point) -> CodeInfo | None:
    """What was kept when the point was measured; of several the newest."""
    return next(
        (
            code
            for code in reversed(session.codes)
            if code.implementation == point.implementation and code.job == point.job
        ),
        None,
    )


def why_no_code(point: Point, kind: CodeKind | None = None) -> str:
    """Why there is no such code to show."""
    title = point.implementation.title
    if not point.implementation.provider.facts.gives_code:
        return f"No compiler makes code of {title}: it calls kernels that are compiled already."
    if kind is None and point.job.keeps_code:
        return f"The compiler of {title} gave no code."
    if kind is None:
        return f"This session kept no generated code of {title}. {HOW_TO_KEEP}"
    return f"The generated code that was kept of {title} has no {KIND_TITLES[kind]}."


def joined(codes: tuple[Code, ...], kind: CodeKind) -> SourceText | None:
    """All texts of a kind as one, each under its kernel's name; None where there is none."""
    found = [code for code in codes if code.kind is kind]
    if not found:
        return None
    mark = {Language.INDUCTOR: "#", Language.LLVM: ";"}.get(_LANGUAGES[kind], "//")
    texts = [code.text.rstrip() for code in found]
    if len(found) > 1:
        headed = zip(found, texts, strict=True)
        texts = [f"{mark} ===== {' '.join(code.name.split())}\n{text}" for code, text in headed]
    names = dict.fromkeys(code.name for code in found)
    name = next(iter(names)) if len(names) == 1 else f"{len(found)} kernels"
    language = (
        Language.CPP if kind is CodeKind.INDUCTOR and texts[0].startswith("#include") else _LANGUAGES[kind]
    )
    return shown_text(f"{name}, {KIND_TITLES[kind]}", "\n\n".join(texts), language)
