"""Sphinx configuration; nothing here needs a network."""

import sys
from importlib.metadata import version as installed_version
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_extensions"))

project = "UniFilter"
author = "The UniFilter developers"
copyright = "2026, The UniFilter developers"
release = version = installed_version("unifilter")

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.doctest",
    "sphinx.ext.mathjax",
    "sphinx.ext.napoleon",
    "myst_parser",
    "sphinx_gallery.gen_gallery",
    # Copies MathJax into the site, so that formulas need no network.
    "sphinx-mathjax-offline",
    "generated_pages",
]
exclude_patterns = ["_build", "sg_execution_times.rst", "examples/sg_execution_times.rst"]
# Two classes may have an attribute of one name.
suppress_warnings = ["ref.python"]
html_theme = "furo"
html_title = f"UniFilter {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False

myst_enable_extensions = ["dollarmath", "colon_fence"]
myst_heading_anchors = 3

autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented"
autosummary_generate = False
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_use_ivar = True
# The equations use the paper's bold letters; both spellings render the same.
mathjax3_config = {"tex": {"macros": {"diag": r"\operatorname{diag}"}}}

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "examples",
    # Scripts with a number are the gallery; the others are programs with options of their own.
    "filename_pattern": r"/\d\d_",
    "ignore_pattern": r"^(angles|demo|spectrum)\.py$",
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_signature": False,
    "remove_config_comments": True,
    "min_reported_time": 10,
    "write_computation_times": False,
}
