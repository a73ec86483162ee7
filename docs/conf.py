"""Sphinx configuration; nothing here needs a network."""

from importlib.metadata import version as installed_version

project = "UniFilter"
author = "The UniFilter developers"
copyright = "2026, The UniFilter developers"
release = version = installed_version("unifilter")

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.doctest",
    "sphinx.ext.mathjax",
    "sphinx.ext.napoleon",
    "myst_parser",
]
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = f"UniFilter {release}"

myst_enable_extensions = ["dollarmath", "colon_fence"]
myst_heading_anchors = 3

autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented"
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_use_ivar = True
# The equations use the paper's bold letters; both spellings render the same.
mathjax3_config = {"tex": {"macros": {"diag": r"\operatorname{diag}"}}}
