"""Table 2: UniFilter and methods that change the architecture, on six graphs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from unifilter.experiments.engine.experiment import SIX_GRAPHS
from unifilter.experiments.engine.row_files import Row
from unifilter.experiments.show.presentation import Presentation
from unifilter.experiments.show.tables import AccuracyTable, Contender

_PUBLISHED = "UniFilter, published settings"
_DRAWN = "UniFilter, splits drawn at random"
# The reported results come from scripts that keep the directions of edges of these two graphs (and of Actor, whose
# directed edges are not in the downloaded files).
_DIRECTED = ("chameleon", "squirrel")
_OF_DIRECTED_EDGES = {"GCN": "gcn", "GAT": "gat", "GCNII": "gcnii"}
# Methods without published settings for these masks. Each was tuned with the same number of trials on the validation
# nodes of the first mask. UniFilter's published settings are for other splits.
_TUNED = {"H2GCN": "h2gcn", "LINKX": "linkx", "WRGAT": "wrgat", "UniFilter": "unifilter"}
# Takes the mean of what the softmax has weighed already.
_CODE = "WRGAT, published code"


class TableModels(AccuracyTable):
    """Ten methods on the ten 48/32/20 masks of Geom-GCN: the paper's six graphs, and Texas.

    GCN, GAT and GCNII appear twice: on Chameleon and Squirrel with directed edges, as in the code of the reported
    results, and with undirected edges. WRGAT appears twice on Chameleon: with sums, and with the means of its published
    code. UniFilter appears three times: with settings tuned for these masks with the same budget as the others, with
    the settings its authors published for other splits, and on splits of the same shares drawn like the 60/20/20 ones.
    """

    name: ClassVar[str] = "table-models"
    title: ClassVar[str] = "Accuracy beside model-optimized methods"
    place: ClassVar[str] = "Table 2"
    datasets: ClassVar[tuple[str, ...]] = (*SIX_GRAPHS, "texas")
    rule = "48"

    def contenders(self) -> Mapping[str, Contender]:
        return {
            **super().contenders(),
            **{label: Contender(name, directed_on=_DIRECTED) for label, name in _OF_DIRECTED_EDGES.items()},
            **{
                f"{label}, undirected": Contender(name, only_on=_DIRECTED) for label, name in _OF_DIRECTED_EDGES.items()
            },
            **{label: Contender(name, settings="tuned") for label, name in _TUNED.items()},
            _CODE: Contender("wrgat", {"aggregation": "mean"}, settings="tuned", only_on=("chameleon",)),
            _PUBLISHED: Contender("unifilter"),
            _DRAWN: Contender("unifilter", rule="random-48-32-20"),
        }

    def figures(self) -> Mapping[str, Mapping[str, Any]]:
        return {**self.reported, _PUBLISHED: self.reported["UniFilter"], _DRAWN: self.reported["UniFilter"]}

    def present(self, rows: Sequence[Row]) -> Presentation:
        presentation = super().present(rows)
        presentation.notes += [
            "The figures of the other methods are of the public masks, except those of WRGAT on the citation graphs, "
            "which are of random splits. For UniFilter the paper's appendix speaks of ten random splits, and the "
            "homophily it estimates for this table (see table-estimate) is that of splits drawn as the 60/20/20 ones "
            "are, not that of the masks: one row has such splits.",
            "GCN, GAT and GCNII have directed edges on Chameleon and Squirrel, as the scripts behind their figures do.",
        ]
        tuned = [label for label in _TUNED if any(row["at"]["row"] == label for row in rows)]
        if tuned:
            presentation.notes.append(
                f"Settings tuned here, with one budget: {', '.join(tuned)}. 16 settings each were tried on the "
                "validation nodes of the first mask with one search for each; its test "
                "nodes were not looked at."
            )
        return presentation
