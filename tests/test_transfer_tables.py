from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from transfer_tables import transfer_tables

from unifilter.data import Table, TableEncoder, pack_features
from unifilter.datasets import load_dataset


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return transfer_tables().write(tmp_path_factory.mktemp("bank") / "transfers")


def test_the_folder_holds_what_real_ones_hold(folder: Path) -> None:
    dataset = load_dataset(folder)
    assert dataset.num_nodes == 600
    assert dataset.class_names == ("mule", "normal")
    assert dataset.labels.bincount().tolist() == [19, 581]  # 1 : 30
    assert dataset.graph.weights is not None
    encoder = TableEncoder.fit(dataset.inputs)  # type: ignore[arg-type]
    assert encoder.kinds == {
        "age": "number",
        "volume": "number",
        "balance_share": "number",
        "opened": "date",
        "city": "category",
        "business": "category",
    }
    assert {"age (missing)", "city=(missing)", "city=(other)"} < set(encoder.feature_names_out)
    assert ',"' in (folder / "nodes.csv").read_text(), "no thousands separator"


def test_the_frames_are_the_files(folder: Path) -> None:
    tables = transfer_tables()
    read, given = load_dataset(folder).table, Table.from_frame(tables.nodes.drop(columns="label"))
    assert read is not None
    encoder = TableEncoder.fit(given)
    # Older versions of pandas round the last digit of a decimal number in a file.
    assert TableEncoder.fit(read).feature_names_out == encoder.feature_names_out
    np.testing.assert_allclose(encoder.encode(read).matrix, encoder.encode(given).matrix, rtol=1e-9, atol=1e-9)
    assert read.ids.tolist() == given.ids.tolist()  # type: ignore[union-attr]


def test_the_signal_is_as_strong_as_asked() -> None:
    def score(signal: float) -> float:
        nodes = transfer_tables(4000, signal=signal).nodes
        table, mule = Table.from_frame(nodes.drop(columns="label")), nodes["label"] == "mule"
        train = np.arange(4000) % 2 == 0
        x = TableEncoder.fit(table, train).encode(table).matrix
        model = LogisticRegression(max_iter=1000).fit(x[train], mule[train])
        return float(roc_auc_score(mule[~train], model.predict_proba(x[~train])[:, 1]))

    assert abs(score(0) - 0.5) < 0.15
    assert score(1) > 0.8


def test_columns_of_different_scale_cost_nothing() -> None:
    """A column of thousands beside one of thousandths: both count the same."""
    table = Table.from_frame(transfer_tables(2000).nodes.drop(columns="label"))
    encoder = TableEncoder.fit(table)
    x = pack_features(encoder.encode(table).matrix).to_dense().numpy()
    numbers = [encoder.feature_names_out.index(name) for name in ("age", "volume", "balance_share", "opened")]
    np.testing.assert_allclose(x[:, numbers].mean(axis=0), 0, atol=0.05)
    np.testing.assert_allclose(x[:, numbers].std(axis=0), 1, atol=0.05)
