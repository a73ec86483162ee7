from __future__ import annotations

import hashlib
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
from unifilter.methods import METHODS

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
    with pytest.raises(ValueError, match=r"a loaded model has no graph: pass one, predict\(graph=graph"):
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
        with pytest.raises(ValueError, match="has changed since|not a complete model file|but no UniFilter model"):
            TrainedModel.load(path)


def test_a_part_of_a_file_is_refused(saved: Path, tmp_path: Path) -> None:
    content = saved.read_bytes()
    path = tmp_path / "part"
    for length in [*range(12), 100, len(content) // 2, len(content) - 1]:
        path.write_bytes(content[:length])
        with pytest.raises(ValueError, match="part is not a complete model file"):
            UniFilterClassifier.load(path)
    path.write_bytes(content + b"\0")
    with pytest.raises(ValueError, match="not a complete model file"):
        UniFilterClassifier.load(path)


def test_files_of_another_kind(tmp_path: Path) -> None:
    path = tmp_path / "other"
    for content in (b"node,prediction\n0,1\n" * 20, b"\x89PNG\r\n\x1a\n" + bytes(100), b"\xff" * 100):
        path.write_bytes(content)
        with pytest.raises(ValueError, match="other is not a complete model file .*: pass a file written by save"):
            UniFilterClassifier.load(path)
    safetensors.torch.save_file({"a": torch.ones(2)}, path)
    with pytest.raises(ValueError, match="contains tensors, but no UniFilter model: pass a file written by save"):
        UniFilterClassifier.load(path)
    for absent in (tmp_path / "absent", tmp_path):
        with pytest.raises(
            FileNotFoundError, match="there is no model file .*: pass the path of a file written by save"
        ):
            UniFilterClassifier.load(absent)


@pytest.mark.parametrize(("written", "remedy"), [(5, "update unifilter"), (3, "train and save the model again")])
def test_a_newer_format_and_an_older_one(
    fitted: UniFilterClassifier, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, written: int, remedy: str
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(model_file, "_FORMAT", written)
        fitted.save(tmp_path / "other")
    with pytest.raises(ValueError, match=f"has format {written}, but this version reads format 4: {remedy}"):
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
    with pytest.raises(
        ValueError, match=r"sgc contains a model of the method 'sgc': load it with NodeClassifier\.load"
    ):
        UniFilterClassifier.load(tmp_path / "sgc")
    loaded = UniFilterClassifier.load(tmp_path / "ortfilter")
    assert (loaded.basis, loaded.model_.method.name) == ("orthonormal", "ortfilter")


def rewritten(saved: Path, path: Path, tensors: dict[str, torch.Tensor] | None = None, **changes: Any) -> Path:
    """A model file with another header, or other tensors, whose digest is right again."""
    content = saved.read_bytes()
    metadata = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])["__metadata__"]
    header = json.loads(metadata["unifilter"]) | changes | {"sha256": "?" * 64}
    for name in ("settings", "requested"):
        if "setting" in changes and isinstance(header[name], dict):
            header[name] |= changes["setting"]
    unsigned = safetensors.torch.save(
        {**safetensors.torch.load(content), **(tensors or {})}, {"unifilter": json.dumps(header, sort_keys=True)}
    )
    path.write_bytes(unsigned.replace(b"?" * 64, hashlib.sha256(unsigned).hexdigest().encode(), 1))
    return path


def test_a_file_that_was_written_again_unchanged_is_read(saved: Path, tmp_path: Path) -> None:
    again = TrainedModel.load(rewritten(saved, tmp_path / "same"))
    for name, tensor in TrainedModel.load(saved).network.state_dict().items():
        assert torch.equal(again.network.state_dict()[name], tensor)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"setting": {"hops": 10**9}}, r"its hops is 1000000000, but [\d,]+ numbers are stored"),
        ({"setting": {"hops": 900}}, r"its tensor .* but its settings require torch.float32 of shape \[901"),
        ({"setting": {"hops": -3}}, r"its hops is -3, but"),
        ({"setting": {"hops": 10**4500}}, r"must be|its hops is a number of thousands of digits|Exceeds the limit"),
        ({"setting": {"hops": "ten"}}, r"the setting hops of unifilter must be a whole number"),
        ({"setting": {"hops": 2.5}}, r"the setting hops of unifilter must be a whole number"),
        ({"setting": {"hops": [10] * 10**5}}, r"the setting hops of unifilter must be a whole number"),
        ({"setting": {"hidden_channels": 10**9}}, r"its hidden_channels is 1000000000, but"),
        ({"setting": {"hidden_channels": 500}}, r"its settings require torch.float32 of shape \[(3, )?500"),
        ({"setting": {"num_layers": 10**9}}, r"its num_layers is 1000000000, but"),
        ({"setting": {"num_layers": 50}}, r"it has no tensor '.*', which its settings require"),
        ({"setting": {"no_such": 1}}, r"unifilter has no setting 'no_such'"),
        ({"settings": [1, 2]}, r"its settings must be a dict, not \[1, 2\]"),
        ({"requested": None}, r"its requested must be a dict, not None"),
        ({"in_channels": 10**9}, r"its in_channels is 1000000000, but"),
        ({"in_channels": -1}, r"its in_channels must be an integer of at least 1, not -1"),
        ({"in_channels": True}, r"its in_channels must be an integer of at least 1, not True"),
        ({"num_outputs": 4}, r"it has 4 outputs but 3 classes"),
        ({"num_outputs": 4, "classes": [0, 1, 2, 3]}, r"its settings require torch.float32 of shape \[4"),
        ({"num_outputs": 10**9}, r"it has 1000000000 outputs but 3 classes"),
        ({"classes": ["a", 1, None]}, r"its classes must be a list of strings or integers"),
        ({"classes": []}, r"its classes must be"),
        ({"dtype": "float16"}, r"its dtype must be float32 or float64, not 'float16'"),
        ({"dtype": "float64"}, r"is torch.float32 of shape .* but its settings require torch.float64"),
        ({"task": "regression"}, r"its task is regression, but its target_center is None"),
        ({"target_scale": [1.0]}, r"its task is classification, but its target_scale is \[1.0\]"),
        ({"temperature": 0}, r"its temperature must be a positive number, not 0"),
        ({"temperature": "hot"}, r"its temperature must be a positive number"),
        ({"facts": {"homophily": "x", "tau": [1]}}, r"invalid settings or tensors"),
        ({"preparation": {"kind": "else"}}, r"invalid settings or tensors"),
        ({"preparation": []}, r"its preparation must be a dict"),
        ({"method": 7}, r"a model of the unknown method 7"),
        ({"method": ["unifilter"]}, r"of the unknown method"),
        ({"tensors": {"more": torch.ones(2)}}, r"it has a tensor 'more', which does not belong to its settings"),
        ({"tensors": {"conformal scores": torch.ones(2, 2)}}, r"its conformal scores are torch.float32 of shape"),
        ({"format": "three"}, r"has format three, but this version reads format 4: update unifilter"),
    ],
)
def test_extreme_settings_are_refused_before_anything_is_built(
    saved: Path, tmp_path: Path, changes: dict[str, Any], message: str
) -> None:
    """The digest is no help against whoever can compute it."""
    with pytest.raises(ValueError, match=message) as refused:
        TrainedModel.load(rewritten(saved, tmp_path / "extreme", **changes))
    assert len(str(refused.value)) < 1000


@pytest.mark.parametrize("name", METHODS)
def test_every_method_is_checked_without_memory_for_its_numbers(name: str, data: NodeDataset, tmp_path: Path) -> None:
    clf = NodeClassifier(name, epochs=1).fit(data.graph, data.features, data.labels)
    clf.save(tmp_path / "m")
    loaded = NodeClassifier.load(tmp_path / "m")
    np.testing.assert_array_equal(
        loaded.predict_proba(graph=data.graph, x=data.features), clf.predict_proba(graph=data.graph, x=data.features)
    )
    with pytest.raises(ValueError, match="invalid settings or tensors"):
        TrainedModel.load(rewritten(tmp_path / "m", tmp_path / "wide", in_channels=900))
