from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from unifilter._internal.document_tables import _LATEX, document_table, latex_text, markdown_text

# What means something in Markdown or LaTeX, and some letters.
TEXT = st.text("\\{}$&#%_^~<>|`*[]±λ aB1!()-", max_size=20)


def cells_of(page: str) -> list[list[str]]:
    """The texts of the cells of a Markdown table, as a reader sees them."""
    tokens = MarkdownIt("commonmark").enable("table").parse(page)
    rows: list[list[str]] = []
    for token in tokens:
        if token.type == "tr_open":
            rows.append([])
        elif token.type == "inline" and rows:
            children = token.children or []
            assert {child.type for child in children} <= {"text", "text_special"}, children
            rows[-1].append("".join(child.content for child in children))
    return rows


@given(TEXT, TEXT)
def test_markdown_shows_the_text_as_it_is(first: str, second: str) -> None:
    found = cells_of(document_table("markdown", ["", "score"], [[first, second]]))
    assert found == [["", "score"], [" ".join(first.split()), " ".join(second.split())]]


def unescaped(text: str) -> str:
    """What LaTeX would set."""
    back = {command: character for character, command in _LATEX.items()}
    back["-{}"] = "-"
    commands = sorted(map(re.escape, back), key=len, reverse=True)
    rest = re.sub("|".join(commands), "", text)
    assert not set("\\{}$&#%_^~[`") & set(rest), rest  # nothing is left that LaTeX would act on
    assert "--" not in text
    return re.sub("|".join(commands), lambda found: back[found[0]], text)


@given(TEXT)
def test_latex_sets_the_text_as_it_is(text: str) -> None:
    assert unescaped(latex_text(text)) == " ".join(text.split())


@given(TEXT, TEXT)
def test_a_latex_table_has_its_columns(first: str, second: str) -> None:
    table = document_table("latex", ["", "a", "b"], [[first, second, "1 ± 2"]], "100 % & more", "tab:x")
    body = table.split(r"\midrule")[1].split(r"\bottomrule")[0].strip()
    assert body.endswith(r" \\")
    assert len(re.split(r"(?<!\\)&", body)) == 3
    assert r"\begin{tabular}{lrr}" in table
    assert r"\caption{100 \% \& more}" in table
    assert table.count(r"\begin{") == table.count(r"\end{") == 2


def test_an_underscore_inside_a_word_stays_readable() -> None:
    assert markdown_text("roc_auc of _x_") == r"roc_auc of \_x\_"
    assert latex_text("roc_auc") == r"roc\_auc"
