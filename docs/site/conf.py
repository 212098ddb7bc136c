"""Settings of Sphinx for the site; `python -m docs.site` builds it."""

from opcheck import __version__

project = "opcheck"
author = "the opcheck developers"
version = release = __version__
html_title = f"opcheck {__version__}"

extensions = ["myst_parser"]
myst_enable_extensions = ["deflist"]
# Anchors of headings as GitHub spells them.
myst_heading_anchors = 4
# Anchors that a page states as HTML are unknown to MyST; `checks.py` looks at all of them.
suppress_warnings = ["myst.xref_missing"]
# `--strict` stays as it is.
smartquotes = False
pygments_style = "friendly"
pygments_dark_style = "native"

html_theme = "furo"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_copyright = False
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#0b5cad", "color-brand-content": "#0b5cad"},
    "dark_css_variables": {"color-brand-primary": "#6cb6ff", "color-brand-content": "#6cb6ff"},
    "navigation_with_keys": True,
}
