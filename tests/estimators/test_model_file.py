from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.torch
import torch
from small_estimator import SMALL, grown, refit

from unifilter import NodeClassifier, UniFilterClassifier
from unifilter.bases import Jacobi
from unifilter.data import NodeDataset
from unifilter.estimators import TrainedModel, model_file

_IN_ANOTHER_PROCESS = """
import sys
import numpy as np
from unifilter import Graph, UniFilterClassifier

arrays = np.load(sys.argv[2])
clf = UniFilterClassifier.load(sys.argv[1])
graph = Graph.from_edges(arrays["edges"], num_nodes=len(arrays["x"]))
np.save(sys.argv[3], clf.predict_proba(graph=graph, x=arrays["x"]))
"""


def test_a_saved_model_predicts_the_same_in_another_process(data: NodeDataset, tmp_path: Path) -> None:
    names = np.array(["ape", "bee", "cat"])[data.labels.numpy()]
    clf = UniFilterClassifier(
        **{**SMALL, "features": "l2", "self_loops": "add", "batch_norm": True, "tau": np.float32(0.5)}
    )
    clf.fit(data.graph, data.features, names)
    graph, x = grown(data)
    model, arrays, result = (tmp_path / name for name in ("a model.unifilter", "arrays.npz", "result.npy"))
    clf.save(model)
    np.savez(arrays, edges=graph.edges()[0].numpy(), x=x.numpy())
    subprocess.run([sys.executable, "-c", _IN_ANOTHER_PROCESS, model, arrays, result], check=True, timeout=120)
    np.testing.assert_array_equal(np.load(result), clf.predict_proba(graph=graph, x=x))


def test_what_a_loaded_model_knows(data: NodeDataset, tmp_path: Path) -> None:
    basis = Jacobi(0.5, -0.5)
    clf = refit(data, basis=basis, hops=np.int64(3), dropout=np.float32(0.25))
    clf.save(tmp_path / "m")
    loaded = UniFilterClassifier.load(tmp_path / "m")
    assert repr(loaded.get_params()["basis"]) == repr(basis)
    assert loaded.get_params() == clf.get_params() | {"basis": loaded.basis}
    np.testing.assert_array_equal(loaded.weights_, clf.weights_)
    np.testing.assert_array_equal(loaded.classes_, clf.classes_)
    assert (loaded.tau_, loaded.homophily_, loaded.n_features_in_) == (None, None, 6)
    assert loaded.score(data.labels, graph=data.graph, x=data.features) == pytest.approx(clf.score(data.labels))
    with pytest.raises(ValueError, match=r"a loaded model has no graph of its own: pass one, predict\(graph=graph"):
        loaded.predict()
    with pytest.raises(ValueError, match="a loaded model has no training data to sweep on: call fit first"):
        loaded.sweep(tau=[0.5])
    # What was loaded can be saved, and fitted, again.
    loaded.save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "m").read_bytes()
    loaded.fit(data.graph, data.features, data.labels)
    np.testing.assert_array_equal(loaded.predict_proba(), clf.predict_proba())
    loaded.set_params(basis="uni").fit(data.graph, data.features, data.labels).predict()


def test_a_model_with_a_learned_tau_says_which(data: NodeDataset, tmp_path: Path) -> None:
    clf = refit(data, tau="learn", filter_lr=0.1)
    clf.save(tmp_path / "m")
    loaded = UniFilterClassifier.load(tmp_path / "m")
    assert loaded.tau_ == clf.tau_ != 0.5
    assert loaded.tau == "learn"


@pytest.fixture(scope="module")
def saved(fitted: UniFilterClassifier, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("model") / "model.unifilter"
    fitted.save(path)
    return path


def test_a_byte_changed_anywhere_is_noticed(saved: Path, tmp_path: Path) -> None:
    content = saved.read_bytes()
    header = 8 + int.from_bytes(content[:8], "little")
    changes = [(place, 1) for place in [*range(0, header, 3), *range(header, len(content), 97), len(content) - 1]]
    # A space that becomes a tab is the same to JSON.
    changes += [(place, ord(" ") ^ ord("\t")) for place in range(8, header) if content[place] == ord(" ")]
    path = tmp_path / "changed"
    for place, change in changes:
        changed = bytearray(content)
        changed[place] ^= change
        path.write_bytes(changed)
        with pytest.raises(ValueError, match="was changed after|not a whole one|but no UniFilter model"):
            TrainedModel.load(path)


def test_a_part_of_a_file_is_refused(saved: Path, tmp_path: Path) -> None:
    content = saved.read_bytes()
    path = tmp_path / "part"
    for length in [*range(12), 100, len(content) // 2, len(content) - 1]:
        path.write_bytes(content[:length])
        with pytest.raises(ValueError, match="part is not a model file, or not a whole one"):
            UniFilterClassifier.load(path)
    path.write_bytes(content + b"\0")
    with pytest.raises(ValueError, match="not a whole one"):
        UniFilterClassifier.load(path)


def test_files_of_another_kind(tmp_path: Path) -> None:
    path = tmp_path / "other"
    for content in (b"node,prediction\n0,1\n" * 20, b"\x89PNG\r\n\x1a\n" + bytes(100), b"\xff" * 100):
        path.write_bytes(content)
        with pytest.raises(ValueError, match="other is not a model file, or not a whole one .*: pass a file that save"):
            UniFilterClassifier.load(path)
    safetensors.torch.save_file({"a": torch.ones(2)}, path)
    with pytest.raises(ValueError, match="holds tensors, but no UniFilter model: pass a file that save"):
        UniFilterClassifier.load(path)
    for absent in (tmp_path / "absent", tmp_path):
        with pytest.raises(FileNotFoundError, match="there is no model file .*: pass the path of a file that save"):
            UniFilterClassifier.load(absent)


@pytest.mark.parametrize(("written", "remedy"), [(3, "update unifilter"), (1, "train and save the model again")])
def test_a_newer_format_and_an_older_one(
    fitted: UniFilterClassifier, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, written: int, remedy: str
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(model_file, "_FORMAT", written)
        fitted.save(tmp_path / "other")
    with pytest.raises(ValueError, match=f"has format {written}, and this version reads 2: {remedy}"):
        UniFilterClassifier.load(tmp_path / "other")


def test_a_file_holds_numbers_and_settings_alone(saved: Path, fitted: UniFilterClassifier) -> None:
    content = saved.read_bytes()
    header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
    stored = json.loads(header["__metadata__"]["unifilter"])
    assert stored["requested"] == fitted.build_method().settings()
    assert stored["settings"] == fitted.model_.method.settings()
    # Nothing is as long as the training graph has nodes.
    assert all(60 not in entry["shape"] for name, entry in header.items() if name != "__metadata__")


def test_saving_where_there_is_no_folder_or_over_an_old_model(
    fitted: UniFilterClassifier, saved: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(FileNotFoundError, match="there is no folder .*: create it first"):
        fitted.save(tmp_path / "absent" / "m")
    path = tmp_path / "m"
    path.write_bytes(saved.read_bytes())

    def fail(*_: Any) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr("os.fsync", fail)
    with pytest.raises(OSError, match="no space left"):
        fitted.save(path)
    assert path.read_bytes() == saved.read_bytes()
    assert list(tmp_path.iterdir()) == [path]


def test_only_unifilter_and_its_variants_are_loaded_as_unifilter(data: NodeDataset, tmp_path: Path) -> None:
    for method in ("sgc", "ortfilter"):
        clf = NodeClassifier(method, epochs=1, features="raw", hops=2).fit(data.graph, data.features, data.labels)
        clf.save(tmp_path / method)
    with pytest.raises(ValueError, match=r"sgc holds a model of the method 'sgc': load it with NodeClassifier\.load"):
        UniFilterClassifier.load(tmp_path / "sgc")
    loaded = UniFilterClassifier.load(tmp_path / "ortfilter")
    assert (loaded.basis, loaded.model_.method.name) == ("orthonormal", "ortfilter")
