from __future__ import annotations

import base64
import hashlib
import json
import re
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest
from explanation.small_models import small_graph

from unifilter import factorize
from unifilter.explanation import SpectralExplanation, explain
from unifilter.explanation.render import page_data, render_page

PAGE = Path(str(files("unifilter.explanation"))) / "page"
WEB = Path(__file__).parent.parent.parent / "web"


def explanation() -> SpectralExplanation:
    graph, x, labels = small_graph()
    return explain(factorize(graph, x, 4), graph=graph, labels=labels)


def test_the_built_page_is_that_of_its_sources() -> None:
    """Where this fails, a source was changed without `make page`, or a built file by hand."""
    checksums = json.loads((WEB / "checksums.json").read_text())
    sources = {"build.mjs", "package.json", "package-lock.json"}
    sources |= {f"source/{path.name}" for path in (WEB / "source").iterdir()}
    built = {
        f"../src/unifilter/{package}/page/built/{path.name}"
        for package in ("explanation", "explore")
        for path in (WEB.parent / "src" / "unifilter" / package / "page" / "built").iterdir()
    }
    for names, kind in ((sources, "sources"), (built, "built")):
        found = {name: hashlib.sha256((WEB / name).read_bytes()).hexdigest() for name in names}
        assert found == checksums[kind]


def test_the_bundle_is_small_and_carries_its_license() -> None:
    assert sum(path.stat().st_size for path in (PAGE / "built").glob("page.*")) < 300_000
    assert "MIT License" in (PAGE / "built" / "uPlot-LICENSE.txt").read_text()
    assert "uPlot, MIT license" in (PAGE / "built" / "page.js").read_text()[:200]


def test_nothing_is_left_open_and_nothing_points_outside() -> None:
    html = render_page(explanation())
    assert not re.findall(r"<!--\w+-->", html)
    assert not re.findall(r"""(?:src|href)\s*=\s*["'](?!data:)""", html)
    assert "@import" not in html
    assert not re.findall(r"url\((?!data:)", html)


def test_a_name_cannot_break_out_of_its_place() -> None:
    nasty = "</script><script>alert(1)</script><!--script-->"
    html = render_page(replace(explanation(), name=nasty))
    # The page's own three scripts, and none from the name.
    assert html.count("<script") == html.count("</script>") == 3
    assert "<title>&lt;/script&gt;" in html
    data = html.split('id="explanation">', 1)[1].split("</script>", 1)[0]
    assert json.loads(data)["name"] == nasty


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_tridiagonals_arrive_bit_for_bit(dtype: type) -> None:
    graph, x, _ = small_graph()
    columns = x.astype(dtype)
    columns[:, 2] = 0
    fact = factorize(graph, columns, 4)
    data = page_data(explain(fact, homophily=0.5))["tridiagonal"]
    kept = [0, 1, 3, 4, 5, 6]
    assert (data["channels"], data["dtype"]) == (6, np.dtype(dtype).name)
    alpha = np.frombuffer(base64.b64decode(data["alpha"]), dtype).reshape(5, 6)
    np.testing.assert_array_equal(alpha, fact.alpha.numpy()[:, kept])
    dimension = np.frombuffer(base64.b64decode(data["dimension"]), np.int32)
    np.testing.assert_array_equal(dimension, fact.dimension.numpy()[kept])
