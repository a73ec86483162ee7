from __future__ import annotations

import re
from pathlib import Path

import pytest

from unifilter.data import NodeDataset
from unifilter.datasets.formats import cora_content

CONTENT = "31336 0 1 1 Theory\n1061127 1 0 0 Rule_Learning\n9 0 0 0 Theory\n"
CITES = "31336 1061127\n1061127 31336\n9 9\n"


def read(folder: Path, content: str = CONTENT, cites: str = CITES) -> NodeDataset:
    (folder / "cora.content").write_text(content)
    (folder / "cora.cites").write_text(cites)
    return cora_content.read(folder / "cora.content", folder / "cora.cites")


def test_papers_are_numbered_as_listed_and_classes_by_name(tmp_path: Path) -> None:
    data = read(tmp_path)
    assert data.features.tolist() == [[0, 1, 1], [1, 0, 0], [0, 0, 0]]
    assert data.labels.tolist() == [1, 0, 1]
    assert data.class_names == ("Rule_Learning", "Theory")
    assert data.graph.edges()[0].tolist() == [[0], [1]]
    assert not data.splits
    assert "not Planetoid's" in data.source


@pytest.mark.parametrize(
    ("content", "cites", "message"),
    [
        ("", "", "cora.content is empty"),
        ("\n", "", "line 1 of {}/cora.content must be an identifier, numbers and a class name"),
        ("1 0 x Theory\n", "", "line 1 of {}/cora.content must be an identifier, numbers and a class name"),
        (CONTENT + "10 0 1 Theory\n", "", "line 4 of {}/cora.content has 2 features, the first one 3"),
        (CONTENT + "9 0 1 1 Theory\n", "", "line 4 of {}/cora.content lists paper 9 a second time"),
        (CONTENT, "31336 9\n9 77\n", "line 2 of {}/cora.cites contains paper 77, which has no features"),
        (CONTENT, "31336\n", "line 1 of {}/cora.cites must contain two papers"),
    ],
)
def test_mistakes_are_named(content: str, cites: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=re.escape(message.format(tmp_path))):
        read(tmp_path, content, cites)
