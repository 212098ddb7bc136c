"""Build the site: `python -m docs.site`, with `pip install -e '.[site]'` before it.

The pages are in `build/site/html`; any browser shows them from there, without a server.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import time
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from docs import rulings
from docs.site import api_pages, checks, command_pages, operator_pages, schema_pages, sources
from opcheck.suite import Selection, load, select
from reports.published import ENGINES, published

_MEGABYTE = 1_000_000
#: The operators of a quick look, one of each domain and some of each kind.
_QUICK = ("Adam", "Add", "Conv", "DML_REDUCE", "Hardmax", "If", "Normalizer", "Resize", "Softmax")


def main() -> int:
    """Build the site; exit status 1 if a page or a link is wrong."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("-o", "--output", type=Path, default=sources.ROOT / "build" / "site")
    parser.add_argument("--quick", action="store_true", help="only some operators, no defects")
    args = parser.parse_args()
    folder = args.output.resolve()
    began = time.monotonic()
    reports = () if args.quick else defect_pages()
    pages = generated(_QUICK if args.quick else (), reports)
    count = sources.write(folder / "source", pages, reports)
    print(f"{count} pages written: {time.monotonic() - began:.0f} s", flush=True)
    html = folder / "html"
    status = sphinx(folder / "source", html)
    if not (html / "index.html").is_file():
        print("no site was built: pip install -e '.[site]'", file=sys.stderr)
        return status or 1
    wrong = [*checks.problems(html)]
    print("\n".join(wrong), file=sys.stderr)
    size = sum(file.stat().st_size for file in html.rglob("*") if file.is_file())
    print(
        f"{count} pages, {size / _MEGABYTE:.0f} MB, {len(wrong)} wrong links: "
        f"{time.monotonic() - began:.0f} s, in {html / 'index.html'}"
    )
    return status or int(bool(wrong))


def defect_pages() -> Sequence[str]:
    """Return the pages of the scoreboard that are about an operator in an engine, by path."""
    return [
        file.relative_to(sources.ROOT).as_posix()
        for engine in ENGINES
        for file in sorted((sources.ROOT / "reports" / engine).glob("*.md"))
        if file.stem != "README"
    ]


def generated(ops: Collection[str], reports: Collection[str]) -> Mapping[str, str]:
    """Return the pages that are made of the product, by path.

    `ops` are the operators that have a page, all if there is none; `reports` the pages of defects.
    """
    pages = {"reference/python.md": api_pages.page()}
    pages |= {f"reference/{name}.md": text for name, text in schema_pages.pages().items()}
    pages |= {f"reference/commands/{name}.md": text for name, text in command_pages.pages().items()}
    cases = select(load(ops=ops), Selection())
    met = rulings.met_by(case for case in cases if case.rule == "open")
    every = operator_pages.operators(cases, met)
    engines = [operator_pages.Engine(one) for one in published()]
    pages |= {
        f"operators/{one.path}.md": operator_pages.page(one, engines, reports) for one in every
    }
    return pages | {"operators/index.md": operator_pages.index(every)}


def sphinx(source: Path, html: Path) -> int:
    """Have Sphinx make the pages anew, with every warning an error; return its exit status."""
    shutil.rmtree(html, ignore_errors=True)
    settings = Path(__file__).parent
    options = ["-b", "html", "-q", "-W", "--keep-going", "-j", "2", "-c", str(settings)]
    command = [sys.executable, "-m", "sphinx", *options, str(source), str(html)]
    return subprocess.run(command, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
