"""Tables as DataFrames, from Python, as a data scientist would use them."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from transfer_tables import transfer_tables

from unifilter import Graph, NodeClassifier, NodeRegressor, UniFilterClassifier, UniFilterRegressor, explain
from unifilter.data import DataWarning, NodeDataset
from unifilter.datasets import load_dataset
from unifilter.datasets.synthetic import contextual_sbm
from unifilter.estimators import NothingLearnedWarning
from unifilter.explanation import explain_node, feature_importance

# All five are given, so that one kind of training is tried and not five.
ONE = {"batch_norm": False, "dropout": 0.0, "basis_dropout": 0.0, "lr": 0.01, "weight_decay": 0.0}
NODES = 600
TRAIN, TEST = np.arange(0, NODES, 2), np.arange(1, NODES, 2)


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    return transfer_tables(NODES).nodes


@pytest.fixture(scope="module")
def graph(frame: pd.DataFrame) -> Graph:
    edges = transfer_tables(NODES).edges
    number = {name: row for row, name in enumerate(frame["id"])}
    ends = np.array([edges[end].map(number) for end in ("source", "target")])
    return Graph.from_edges(ends, num_nodes=NODES, edge_weight=edges["weight"].to_numpy())


@pytest.fixture(scope="module")
def x(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.drop(columns="label")


@pytest.fixture(scope="module")
def y(frame: pd.DataFrame) -> np.ndarray:
    return frame["label"].to_numpy()


@pytest.fixture(scope="module")
def clf(graph: Graph, x: pd.DataFrame, y: np.ndarray) -> NodeClassifier:
    """Not to be changed by a test."""
    return NodeClassifier("sgc", epochs=30, class_weight="balanced").fit(graph, x, y, train=TRAIN)


@pytest.mark.filterwarnings("ignore::unifilter.data.DataWarning")
class TestFrames:
    def test_columns_are_known_by_name(self, clf: NodeClassifier, graph: Graph, x: pd.DataFrame) -> None:
        assert clf.feature_names_in_.tolist() == ["age", "volume", "balance_share", "opened", "city", "business"]
        assert clf.n_features_in_ == 6
        turned = clf.predict_proba(graph=graph, x=x[x.columns[::-1]])
        np.testing.assert_array_equal(turned, clf.predict_proba(graph=graph, x=x))

    def test_missing_and_extra_columns_are_errors(self, clf: NodeClassifier, graph: Graph, x: pd.DataFrame) -> None:
        with pytest.raises(ValueError, match="x lacks the column 'age', which training had"):
            clf.predict(graph=graph, x=x.drop(columns="age"))
        with pytest.raises(ValueError, match="x has the column 'phone', which training did not have"):
            clf.predict(graph=graph, x=x.assign(phone=1.0))
        with pytest.raises(ValueError, match="trained on a table with the columns 'age', .* x is a ndarray"):
            clf.predict(graph=graph, x=np.zeros((NODES, 6)))

    def test_the_stored_model_encodes_as_the_fitted_one(
        self, clf: NodeClassifier, graph: Graph, x: pd.DataFrame, tmp_path: Path
    ) -> None:
        clf.save(tmp_path / "bank.unifilter")
        loaded = NodeClassifier.load(tmp_path / "bank.unifilter")
        assert loaded.feature_names_in_.tolist() == clf.feature_names_in_.tolist()
        np.testing.assert_array_equal(loaded.predict_proba(graph=graph, x=x), clf.predict_proba(graph=graph, x=x))

    def test_other_rows_do_not_change_a_prediction(self, clf: NodeClassifier, graph: Graph, x: pd.DataFrame) -> None:
        """Statistics are those of the training nodes, whatever comes with the new data."""
        lonely = Graph.from_edges(np.zeros((2, 0), dtype=np.int64), num_nodes=NODES)
        changed = x.assign(volume=x["volume"].where(x.index == 0, 1e9))
        before, after = (clf.predict_proba([0], graph=lonely, x=table) for table in (x, changed))
        np.testing.assert_array_equal(before, after)


def test_a_renamed_category_is_counted(clf: NodeClassifier, graph: Graph, x: pd.DataFrame) -> None:
    renamed = x.assign(city=x["city"].replace("Berlin", "Spree-Athen"))
    with pytest.warns(DataWarning, match=r"column 'city': \d+ of 600 rows .*'Spree-Athen'.* treated as \(other\)"):
        changed = clf.predict_proba(graph=graph, x=renamed)
    assert not np.array_equal(changed, clf.predict_proba())


@pytest.fixture(scope="module")
def mixed() -> tuple[Graph, np.ndarray, np.ndarray]:
    """Columns in thousands beside columns of unit scale, without names."""
    data = contextual_sbm(num_nodes=600, num_classes=2, homophily=0.6, num_features=4, signal=2.0)
    x = np.random.default_rng(0).standard_normal((600, 8))
    x[:, :4] = data.features.numpy()
    x[:, 4:] *= 30_000
    return data.graph, x, data.labels.numpy()


class TestArrays:
    def test_standardized_columns_recover_what_scale_costs(self, mixed: tuple[Graph, np.ndarray, np.ndarray]) -> None:
        graph, x, y = mixed
        by_hand = (x - x[TRAIN].mean(axis=0)) / x[TRAIN].std(axis=0)
        scores = {}
        for name, features, scaling in (("raw", x, "raw"), ("standard", x, "standard"), ("by hand", by_hand, "raw")):
            clf = NodeClassifier("sgc", epochs=60, hops=2, features=scaling)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DataWarning)
                scores[name] = clf.fit(graph, features, y, train=TRAIN).score(y, TEST)
        assert scores["standard"] == pytest.approx(scores["by hand"], abs=0.01)
        assert scores["standard"] > scores["raw"] + 0.2

    def test_a_warning_names_the_remedy(self, mixed: tuple[Graph, np.ndarray, np.ndarray]) -> None:
        graph, x, y = mixed
        for scaling in ("raw", "row"):
            with pytest.warns(DataWarning, match='differ by a factor of .* use features="standard"'):
                NodeClassifier("sgc", epochs=2, features=scaling).fit(graph, x, y, train=TRAIN)
        NodeClassifier("sgc", epochs=2, features="standard").fit(graph, x, y, train=TRAIN)  # warnings are errors


class TestAnswers:
    def test_a_report_has_the_baseline_and_every_class(self, clf: NodeClassifier, y: np.ndarray) -> None:
        report = clf.evaluate(y, TEST)
        assert report.accuracy == clf.score(y, TEST)
        assert report.majority_accuracy == pytest.approx(np.mean(y[TEST] == "normal"))
        assert [one.name for one in report.per_class] == ["mule", "normal"]
        assert [one.support for one in report.per_class] == [np.sum(y[TEST] == name) for name in ("mule", "normal")]
        assert report.balanced_accuracy > 0.7
        assert "accuracy of always normal" in str(report)
        assert "calibration error" in str(report)

    def test_weights_of_classes_and_of_nodes(self, graph: Graph, x: pd.DataFrame, y: np.ndarray) -> None:
        """A class weight is the same weight for each of its nodes."""
        heavy = np.where(y == "mule", 9.0, 1.0)
        by_class = NodeClassifier("sgc", epochs=10, class_weight={"mule": 9.0}).fit(graph, x, y, train=TRAIN)
        by_node = NodeClassifier("sgc", epochs=10).fit(graph, x, y, train=TRAIN, sample_weight=heavy)
        np.testing.assert_array_equal(by_class.predict_proba(), by_node.predict_proba())
        plain = NodeClassifier("sgc", epochs=10).fit(graph, x, y, train=TRAIN)
        assert np.sum(by_class.predict() == "mule") > np.sum(plain.predict() == "mule")

    def test_a_model_that_learned_nothing_says_so(self, graph: Graph, x: pd.DataFrame, y: np.ndarray) -> None:
        with pytest.warns(NothingLearnedWarning, match="It predicts 'normal' for every node: it has learned nothing"):
            clf = NodeClassifier("sgc", epochs=20, weight_decay=10.0).fit(graph, x, y, train=TRAIN)
        assert explain(clf).verdict[0] == "It predicts 'normal' for every node: it has learned nothing."

    def test_sets_hold_the_class_as_often_as_asked(self) -> None:
        """Over many graphs, for the promise is on average."""
        covered = {0.1: [], 0.3: []}
        for seed in range(12):
            data = contextual_sbm(num_nodes=400, num_classes=3, homophily=0.6, num_features=5, signal=1.0, seed=seed)
            clf = NodeClassifier("sgc", epochs=15, hops=1, seed=seed)
            clf.fit(data.graph, data.features, data.labels, train=range(200), val=range(200, 300))
            truth = data.labels[300:].tolist()
            for alpha, found in covered.items():
                sets = clf.predict_set(alpha, range(300, 400))
                assert min(map(len, sets)) >= 1
                found.append(np.mean([label in one for label, one in zip(truth, sets, strict=True)]))
        for alpha, found in covered.items():
            # Two standard errors of twelve graphs, each with its own validation nodes.
            assert np.mean(found) > 1 - alpha - 0.03
        assert np.mean(covered[0.1]) > np.mean(covered[0.3])

    @pytest.mark.filterwarnings("ignore::unifilter.data.DataWarning")
    def test_numbers_and_their_intervals(self, graph: Graph, x: pd.DataFrame) -> None:
        target = np.log(x["volume"]).rename("log volume")
        reg = UniFilterRegressor(epochs=60, hops=4, **ONE).fit(graph, x, target, train=TRAIN)
        assert reg.score(target, TEST) > 0.8
        assert 0 <= reg.homophily_ <= 1
        ends = reg.predict_interval(0.1, TEST)
        inside = (ends[:, 0] <= target[TEST]) & (target[TEST] <= ends[:, 1])
        assert inside.mean() == pytest.approx(0.9, abs=0.08)
        assert feature_importance(reg.model_, graph, x).top_features(1)[0][0] == "volume"
        assert explain(reg).homophily == reg.homophily_
        assert explain_node(reg, 3).predicted == "log volume"

    def test_numbers_given_to_a_classifier_are_recognized(self, graph: Graph, x: pd.DataFrame) -> None:
        with pytest.raises(ValueError, match="To predict numbers use a regressor, UniFilterRegressor or NodeRegressor"):
            UniFilterClassifier().fit(graph, x, x["volume"])

    def test_several_labels_through_the_same_estimator(self, graph: Graph, x: pd.DataFrame) -> None:
        labels = pd.DataFrame({"old": x["age"] > 45, "rich": x["volume"] > 1000}).astype(float)
        labels.loc[x["age"].isna(), "old"] = np.nan
        clf = UniFilterClassifier(epochs=40, hops=4, metric="macro_f1", **ONE).fit(graph, x, labels, train=TRAIN)
        assert clf.predict(TEST).dtype == bool
        assert clf.predict(TEST).shape == (len(TEST), 2)
        known = [node for node in TEST if not np.isnan(labels.loc[node, "old"])]
        report = clf.evaluate(labels, known)
        assert [one.name for one in report.per_label] == ["old", "rich"]
        assert clf.score(labels, known) > 0.8
        with pytest.raises(ValueError, match="predict_set needs one class per node"):
            clf.predict_set()

    @pytest.mark.filterwarnings("ignore::unifilter.data.DataWarning")
    def test_what_mattered_by_the_names_of_the_columns(self, graph: Graph, x: pd.DataFrame, y: np.ndarray) -> None:
        clf = UniFilterClassifier(epochs=40, class_weight="balanced", **ONE).fit(graph, x, y, train=TRAIN)
        found = feature_importance(clf.model_, graph, x)
        assert set(found.names) == set(clf.feature_names_in_)
        assert found.top_features(1)[0][0] in ("age", "volume", "opened", "balance_share")
        view = explain_node(clf, 3)
        assert view.predicted == clf.predict([3])[0]


def test_the_default_split_of_data_of_ones_own(tmp_path: Path) -> None:
    folder = transfer_tables(200).write(tmp_path / "bank")
    dataset = load_dataset(folder)
    assert dataset.split().name == "stratified-60-20-20"
    assert dataset.missing_classes(dataset.split()) == {"train": [], "val": [], "test": []}
    drawn = contextual_sbm(num_nodes=60)
    assert NodeDataset("mine", drawn.graph, drawn.features, drawn.labels).default_split == "stratified"


def test_a_regressor_of_any_method(graph: Graph, x: pd.DataFrame) -> None:
    target = np.log(x["volume"])
    reg = NodeRegressor("gprgnn", epochs=100).fit(graph, x, target, train=TRAIN)
    assert reg.score(target, TEST) > 0.5
