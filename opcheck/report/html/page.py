"""Templates, with untrusted texts in them shown harmless and not too long."""

import base64
import hashlib
import math
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from opcheck import __version__
from opcheck.report import plain_text

#: The most characters shown of a backend's text, which may have 10 MB, and of any text.
SAID, _LONGEST = 1000, 4000


def said(text: str, limit: int = SAID) -> str:
    """The beginning of a backend's text, in as many lines as reports show."""
    return f"{plain_text.block(text[:limit])}{_left(text, limit)}"


def shown(text: str) -> str:
    """Any text as a page shows it."""
    return f"{plain_text.clean(text[:_LONGEST])}{_left(text, _LONGEST)}"


def brief(text: str) -> str:
    """Any text in one short line."""
    return plain_text.brief(text[:_LONGEST])


def render(template: str, **values: Any) -> str:
    """Render a template; values are escaped unless they are Markup."""
    return _environment().get_template(template).render(**values)


def document(template: str, **values: Any) -> str:
    """A whole page, which runs only its own script and fetches nothing."""
    script = _source("report.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return render(
        template,
        style=Markup(_source("style.css")),
        script=Markup(script),
        script_hash=f"sha256-{digest}",
        **values,
    )


def embedded(inside: str, drawings: Mapping[str, Any]) -> str:
    """A part of a page in a frame, so that its style changes nothing around it."""
    part = render(
        "part.html", style=Markup(_source("style.css")), inside=Markup(inside), drawings=drawings
    )
    return f'<iframe srcdoc="{escape(part)}" style="width:100%;height:30em;border:0"></iframe>'


def _left(text: str, limit: int) -> str:
    left = len(text) - limit
    return f" … ({plain_text.plural(left, 'more character')})" if left > 0 else ""


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("opcheck.report.html"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        # Every text that a template prints is made harmless.
        finalize=lambda it: shown(it) if isinstance(it, str) and not isinstance(it, Markup) else it,
    )
    environment.filters |= {
        "said": said,
        "ending": lambda text: plain_text.ending(text[-2 * SAID :]),
        "brief": brief,
        # Rounded to tenths of a point.
        "point": lambda value: f"{value:.1f}".removesuffix(".0"),
        # The query of a link to some results; `report.js` compares shown texts.
        "filter": lambda asked: urlencode({name: shown(one) for name, one in asked.items() if one}),
        # Narrow screens may break a name between its parts.
        "breakable": lambda name: Markup(
            re.sub(r"([_:/?=,@.])", r"\1<wbr>", str(escape(brief(name))))
        ),
    }
    environment.globals |= {
        "plural": plain_text.plural,
        "index": plain_text.index,
        # Rounded down: 100 % is all.
        "share": lambda part, whole: f"{part * 1000 // whole / 10:.1f} %",
        "used": lambda share: (
            "∞: no error is allowed" if share == math.inf else f"{share:.3g} × what is allowed"
        ),
        "made_by": __version__,
    }
    return environment


def _source(name: str) -> str:
    return Path(__file__).with_name("templates").joinpath(name).read_text("utf-8").strip()
