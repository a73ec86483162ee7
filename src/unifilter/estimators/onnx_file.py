"""A trained model's layers as an ONNX file: the computation on single rows is traced and exported."""

from __future__ import annotations

import json
import operator
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor, fx
from torch.fx.experimental.proxy_tensor import make_fx

from unifilter._internal.extras import require
from unifilter._internal.files import whole_file
from unifilter._internal.version import __version__
from unifilter.graph import Graph

if TYPE_CHECKING:
    from unifilter.estimators.trained_model import TrainedModel

# Supported by every runtime since 2022.
_OPSET, _IR_VERSION = 17, 8


def write_onnx(model: TrainedModel, path: str | os.PathLike[str]) -> None:
    """Implementation of :meth:`TrainedModel.export_onnx`."""
    require("onnx", what="export_onnx")
    import onnx

    network = model.network.eval()
    pair = Graph.from_edges(torch.tensor([[0], [1]]), num_nodes=2).with_self_loops(network.self_loops)
    with torch.no_grad():
        # Rows have the same shape on every graph, so the smallest graph is enough to trace.
        rows = network.node_inputs(torch.zeros(2, model.shape.in_channels, dtype=model.dtype), pair)
        # Tracing the bound method itself would treat its first argument as an input.
        trace = make_fx(lambda some: network.on_node_inputs(some))(rows)
    trace.graph.eliminate_dead_code()
    writer = _Writer(onnx, model.dtype)
    writer.node("Identity", [writer.write_layers(trace)], "outputs")
    answers, kind = _write_answers(writer, model)
    width: list[str | int | None] = ["nodes", len(model.classes)]
    graph = onnx.helper.make_graph(
        writer.nodes,
        "unifilter",
        [onnx.helper.make_tensor_value_info("rows", writer.kind, ["nodes", rows.shape[1]])],
        [
            onnx.helper.make_tensor_value_info("outputs", writer.kind, width),
            onnx.helper.make_tensor_value_info(answers, kind, width),
        ],
        writer.constants,
    )
    opset = [onnx.helper.make_opsetid("", _OPSET)]
    made = onnx.helper.make_model(graph, opset_imports=opset, ir_version=_IR_VERSION)
    made.producer_name, made.producer_version = "unifilter", __version__
    about = {
        "method": model.method.name,
        "task": model.task,
        "names": json.dumps(model.classes.tolist(), ensure_ascii=False),
        "settings": json.dumps(model.method.plain_settings()),
    }
    onnx.helper.set_model_props(made, about)
    onnx.checker.check_model(made, full_check=True)
    with whole_file(path) as file:
        file.write(made.SerializeToString())


def _write_answers(writer: _Writer, model: TrainedModel) -> tuple[str, int]:
    """Add an output with values or probabilities; returns its name and data type."""
    if model.task == "regression":
        # Double precision as in the model, so that large numbers keep their digits.
        double = writer.onnx.TensorProto.DOUBLE
        center, scale = (
            writer.constant(torch.as_tensor(one), torch.float64) for one in (model.target_center, model.target_scale)
        )
        scaled = writer.node("Mul", [writer.node("Cast", ["outputs"], to=double), scale])
        writer.node("Add", [scaled, center], "values")
        return "values", double
    scaled = writer.node(
        "Div", ["outputs", writer.constant(torch.tensor(model.calibration.temperature, dtype=torch.float64))]
    )
    if model.task == "classification":
        writer.node("Softmax", [scaled], "probabilities", axis=1)
    else:
        writer.node("Sigmoid", [scaled], "probabilities")
    return "probabilities", writer.kind


class _Split(NamedTuple):
    """Rows split into parts of equal width."""

    rows: str
    width: int


class _Writer:
    """Nodes and constants of an ONNX graph, from operations traced by torch."""

    def __init__(self, onnx: Any, dtype: torch.dtype) -> None:
        self.onnx, self.dtype = onnx, dtype
        self.kind = onnx.TensorProto.DOUBLE if dtype == torch.float64 else onnx.TensorProto.FLOAT
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def node(self, kind: str, inputs: Sequence[str], name: str = "", **attributes: Any) -> str:
        name = name or f"{kind}_{len(self.nodes)}"
        self.nodes.append(self.onnx.helper.make_node(kind, list(inputs), [name], **attributes))
        return name

    def constant(self, value: Tensor, dtype: torch.dtype | None = None) -> str:
        name = f"constant_{len(self.constants)}"
        array = value.detach().to(dtype or self.dtype).cpu().numpy()
        self.constants.append(self.onnx.numpy_helper.from_array(array, name))
        return name

    def write_layers(self, trace: fx.GraphModule) -> str:
        """Write the traced operations, with constant expressions evaluated now; returns the name of the result."""
        values: dict[fx.Node, Any] = {}
        for node in trace.graph.nodes:
            if node.op == "placeholder":
                values[node] = "rows"
            elif node.op == "get_attr":
                values[node] = getattr(trace, node.target)
            elif node.op == "output":
                return str(values[node.args[0]])
            else:
                arguments = fx.node.map_arg(node.args, values.__getitem__)
                of_rows = any(isinstance(values[one], (str, _Split)) for one in node.all_input_nodes)
                if of_rows and not node.kwargs:
                    values[node] = self._operation(node.target, arguments)
                elif of_rows:
                    raise ValueError(_not_known(f"{node.target} with {', '.join(node.kwargs)}"))
                else:
                    values[node] = node.target(*arguments, **node.kwargs)
        raise ValueError(_not_known("nothing that gives an output"))

    def _operation(self, target: Any, arguments: Sequence[Any]) -> Any:
        aten = torch.ops.aten
        if target is operator.getitem:
            return self._part(*arguments) if isinstance(arguments[0], _Split) else arguments[0]
        if target is aten.split.Tensor and arguments[2:] == (1,):
            return _Split(arguments[0], arguments[1])
        if target is aten.cat.default:
            return self.node("Concat", self._names(arguments[0]), axis=arguments[1])
        if target is aten.native_batch_norm.default:
            x, weight, bias, mean, variance, _, _, eps = arguments
            return self.node("BatchNormalization", self._names([x, weight, bias, mean, variance]), epsilon=eps)
        if target is aten.addmm.default:
            product = self.node("MatMul", self._names(arguments[1:3]))
            return self.node("Add", [product, *self._names(arguments[:1])])
        kinds = {aten.mm.default: "MatMul", aten.add.Tensor: "Add", aten.mul.Tensor: "Mul", aten.relu.default: "Relu"}
        if target in kinds:
            return self.node(kinds[target], self._names(arguments))
        raise ValueError(_not_known(str(target)))

    def _part(self, split: _Split, number: int) -> str:
        limits = torch.tensor([[number * split.width], [(number + 1) * split.width], [1]])
        return self.node("Slice", [split.rows, *(self.constant(one, torch.int64) for one in limits)])

    def _names(self, arguments: Sequence[Any]) -> list[str]:
        """Names of tensors. Tensors other than rows become constants."""
        return [one if isinstance(one, str) else self.constant(torch.as_tensor(one)) for one in arguments]


def _not_known(what: str) -> str:
    return f"the layers use {what}, which is not known to be written as ONNX: save the model with save(path) instead"
