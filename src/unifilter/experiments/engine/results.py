"""Shows stored rows beside the paper's results, without running anything or loading data sets."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from unifilter.experiments.engine.experiment import Experiment
from unifilter.experiments.engine.files import write_whole
from unifilter.experiments.engine.row_files import PACKAGED_ROWS, find_rows, write_rows
from unifilter.experiments.show.claims import claims_of
from unifilter.experiments.show.figures import Figures
from unifilter.experiments.show.markdown import results_page
from unifilter.experiments.show.pictures import save_picture
from unifilter.experiments.show.prose import fill
from unifilter.experiments.show.report import Section, write_page
from unifilter.experiments.show.shown import Shown

_DISCUSSION = "discussion.md"


def stored_results(experiments: Sequence[Experiment], places: Sequence[Path] = ()) -> list[Shown]:
    """Present stored rows.

    Args:
        experiments: The experiments to show; those without rows are left out.
        places: CSV files of rows, or folders of them. Default: the rows that ship with the package.
    """
    places = places or [PACKAGED_ROWS]
    rows = find_rows(places)
    by_experiment = {one.name: [row for row in rows if row["experiment"] == one.name] for one in experiments}
    shown = [Shown(one, one.present(own), own) for one in experiments if (own := by_experiment[one.name])]
    if not shown:
        what = experiments[0].name if len(experiments) == 1 else "an experiment"
        raise ValueError(
            f"no rows of {what} in {', '.join(map(str, places))}: run it first, or pass files with its rows"
        )
    return shown


def write_results(shown: Sequence[Shown], folder: Path, command: str) -> dict[str, Path]:
    """Write rows, plots and a report for each experiment, and one report for all if there are several.

    Args:
        shown: The experiments.
        folder: Output folder, with a subfolder for each experiment.
        command: The command to write it again, for the report.

    Returns:
        The paths of the reports by experiment; ``"all"`` contains every experiment.
    """
    sections, pages = [], {}
    for experiment, presentation, rows in shown:
        own = folder / experiment.name
        write_rows(own / "results.csv", rows)
        picture = None
        if presentation.draw is not None:
            svg = own / f"{experiment.name}.svg"
            save_picture(presentation, {svg: "svg", svg.with_suffix(".png"): "png"})
            picture = svg.read_bytes()
        section = Section(
            experiment.name,
            experiment.title,
            experiment.place,
            presentation,
            picture,
            checksums={row["dataset"]: row["checksum"] for row in rows},
            rows=len(rows),
        )
        sections.append(section)
        pages[experiment.name] = own / "report.html"
        write_whole(pages[experiment.name], write_page([section], None, command))
    if len(sections) > 1:
        pages["all"] = folder / "report.html"
        write_whole(pages["all"], write_page(sections, None, command))
    return pages


def write_results_page(experiments: Sequence[Experiment], places: Sequence[Path], page: Path, command: str) -> int:
    """Write the results page of the documentation, with its plots in a folder beside it, and the discussion.

    Args:
        experiments: The experiments to show; those without rows are left out.
        places: CSV files of rows, or folders of them. The Markdown templates in a folder become the page
            ``discussion.md``, with every number filled in. Default: the rows that ship with the package.
        page: The Markdown file.
        command: The command to mention on the page.

    Returns:
        The number of rows shown.
    """
    places = places or [PACKAGED_ROWS]
    shown, pictures = stored_results(experiments, places), {}
    for experiment, presentation, _ in shown:
        if presentation.draw is not None:
            picture = page.parent / page.stem / f"{experiment.name}.png"
            save_picture(presentation, {picture: "png"})
            pictures[experiment.name] = f"{page.stem}/{picture.name}"
    folders = [place for place in places if place.is_dir()]
    templates = [path.read_text(encoding="utf-8") for folder in folders for path in sorted(folder.rglob("*.md"))]
    if templates:
        prose = fill("\n".join(templates), Figures(shown))
        write_whole(page.with_name(_DISCUSSION), f"{prose.strip()}\n")
    discussion = _DISCUSSION if templates else ""
    write_whole(page, results_page(shown, pictures, command, claims_of(shown), discussion))
    return sum(len(one.rows) for one in shown)
