"""A table of texts as tab-separated lines, HTML and Markdown: what a paste gives elsewhere."""

from collections.abc import Sequence

from roofscope.profiling.plain_text import cell_text, html_text, one_line

Table = Sequence[Sequence[str]]  # the first row holds the titles


def tab_separated(table: Table) -> str:
    """For spreadsheets."""
    return "\n".join("\t".join(cell_text(_line(cell)) for cell in row) for row in table) + "\n"


def html_table(table: Table) -> str:
    """For mail and documents."""
    titles, *rows = table
    head = "".join(f"<th>{html_text(title)}</th>" for title in titles)
    body = "".join(f"<tr>{''.join(f'<td>{html_text(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def markdown_table(table: Table, foot: str = "") -> str:
    """As GitHub renders it. Columns that are empty in every row are left out."""
    titles, *rows = table
    used = [column for column in range(len(titles)) if any(row[column] for row in rows)]
    lines = [
        _markdown_row([titles[column] for column in used]),
        _markdown_row(["---"] * len(used)),
        *(_markdown_row([row[column] for column in used]) for row in rows),
    ]
    return "\n".join(lines) + "\n" + (f"\n{foot}\n" if foot else "")


def _markdown_row(cells: Sequence[str]) -> str:
    safe = (_line(cell).replace("<", "&lt;").replace("|", chr(92) + "|") for cell in cells)
    return f"| {' | '.join(safe)} |"


def _line(text: str) -> str:
    return one_line(text)
