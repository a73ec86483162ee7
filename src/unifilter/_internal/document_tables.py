"""Tables for papers and pages: LaTeX and Markdown, with every character that means something there escaped."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

DocumentFormat = Literal["markdown", "latex"]

# Characters that mean something to LaTeX, and those that its standard fonts lack.
_LATEX = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "%": r"\%", "_": r"\_",
    "^": r"\textasciicircum{}", "~": r"\textasciitilde{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}", "±": r"$\pm$", "≈": r"$\approx$", "▲": r"$\bigtriangleup$", "▼": r"$\bigtriangledown$",
    "×": r"$\times$", "≤": r"$\le$", "≥": r"$\ge$", "−": "$-$", "→": r"$\to$", "‖": r"$\Vert$", "²": "$^2$",
    "∞": r"$\infty$", "λ": r"$\lambda$", "τ": r"$\tau$", "θ": r"$\theta$", "α": r"$\alpha$", "β": r"$\beta$",
    "γ": r"$\gamma$", "μ": r"$\mu$", "π": r"$\pi$", "ρ": r"$\rho$", "σ": r"$\sigma$", "–": r"\textendash{}",
    "†": r"\dag{}", "∂": r"$\partial$", "`": r"\textasciigrave{}",
    # Behind the end of a line it would be an option of it.
    "[": "{[}",
}  # fmt: skip
# A bar ends a cell, and the others would start code, emphasis, a link or a tag. An underscore inside a word is none.
_MARKDOWN = re.compile(r"([\\|`*\[\]<>]|(?<!\w)_|_(?!\w))")


def document_table(
    form: DocumentFormat,
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    caption: str = "",
    label: str = "",
    *,
    sentences: bool = False,
) -> str:
    r"""A table as text to be pasted: the first column to the left, the others to the right.

    Args:
        form: ``"markdown"``, or ``"latex"`` for a table with the rules of the package ``booktabs``.
        header: Names of the columns.
        rows: Cells, as many as there are columns.
        caption: What the table shows.
        label: What LaTeX refers to it by.
        sentences: Whether cells are sentences: then all columns are to the left, and LaTeX breaks their lines.

    Example:
        >>> print(document_table("markdown", ["", "score"], [["a|b", "1 ± 2"]]))
        |  | score |
        | --- | ---: |
        | a\|b | 1 ± 2 |
    """
    if form == "latex":
        return _latex_table(header, rows, caption, label, sentences)
    return _markdown_table(header, rows, caption, sentences)


def markdown_text(text: str) -> str:
    """Text that Markdown shows as it is, on one line."""
    return _MARKDOWN.sub(r"\\\1", " ".join(text.split()))


def latex_text(text: str) -> str:
    """Text that LaTeX sets as it is, on one line."""
    set_as_is = "".join(_LATEX.get(character, character) for character in " ".join(text.split()))
    return re.sub("-(?=-)", "-{}", set_as_is)  # two would become one long dash


def _markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]], caption: str, sentences: bool) -> str:
    lines = [header, *rows]
    cells = [f"| {' | '.join(map(markdown_text, line))} |" for line in lines]
    rule = f"| {' | '.join(['---', *['---' if sentences else '---:'] * (len(header) - 1)])} |"
    return "\n".join([*([f"{markdown_text(caption)}:", ""] if caption else []), cells[0], rule, *cells[1:]])


def _latex_table(
    header: Sequence[str], rows: Sequence[Sequence[str]], caption: str, label: str, sentences: bool
) -> str:
    # A tenth is left for the space between the columns.
    broken = f"p{{{0.9 / len(header):.3f}\\linewidth}}" * len(header)
    head, *body = [f"    {' & '.join(map(latex_text, line))} \\\\" for line in [header, *rows]]
    return "\n".join(
        [
            r"% \usepackage{booktabs}",
            r"\begin{table}",
            r"  \centering",
            *([f"  \\caption{{{latex_text(caption)}}}"] if caption else []),
            *([f"  \\label{{{label}}}"] if label else []),
            f"  \\begin{{tabular}}{{{broken if sentences else 'l' + 'r' * (len(header) - 1)}}}",
            r"    \toprule",
            head,
            r"    \midrule",
            *body,
            r"    \bottomrule",
            r"  \end{tabular}",
            r"\end{table}",
        ]
    )
