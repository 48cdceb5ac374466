"""The page that the browser opens: a button, and the trace that the button hands to Perfetto.

Perfetto documents the way (perfetto.dev/docs/visualization/deep-linking-to-perfetto-ui): open its page in a
new tab, send it PING until it answers PONG, then post the trace. Browsers open a tab after a click only.
"""

from pathlib import Path

import jinja2

from roofscope.profiling.plain_text import visible

PERFETTO = "https://ui.perfetto.dev"

_TEMPLATE = Path(__file__).with_name("page.html.jinja")


def page_html(title: str, nonce: str, perfetto: str = PERFETTO) -> str:
    """The page as text; ``nonce`` is what its Content-Security-Policy names, ``perfetto`` an origin."""
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined)
    template = environment.from_string(_TEMPLATE.read_text(encoding="utf-8"))
    return template.render(title=visible(title), nonce=nonce, perfetto=perfetto)
