"""A table of texts as tab-separated lines, HTML and Markdown: what a paste gives elsewhere."""

import html
from collections.abc import Sequence

Table = Sequence[Sequence[str]]  # the first row holds the titles


def tab_separated(table: Table) -> str:
    """For spreadsheets."""
    return "\n".join("\t".join(_line(cell) for cell in row) for row in table) + "\n"


def html_table(table: Table) -> str:
    """For mail and documents."""
    titles, *rows = table
    head = "".join(f"<th>{html.escape(title)}</th>" for title in titles)
    body = "".join(f"<tr>{''.join(f'<td>{html.escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
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
    return f"| {' | '.join(_line(cell).replace('|', chr(92) + '|') for cell in cells)} |"


def _line(text: str) -> str:
    return " ".join(text.split())
