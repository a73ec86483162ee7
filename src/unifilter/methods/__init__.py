"""Methods: every model with its hyper-parameters, published settings and stop rule. To add one, write its file and
name it in the table below.
"""

from __future__ import annotations

from unifilter.methods.asgc import ASGCMethod
from unifilter.methods.bernnet import BernNetMethod
from unifilter.methods.chebnet import ChebNetMethod
from unifilter.methods.chebnetii import ChebNetIIMethod
from unifilter.methods.evennet import EvenNetMethod
from unifilter.methods.fit import Fitted, delete_checkpoints, fit
from unifilter.methods.gcn import GCNMethod, ResidualGCNMethod
from unifilter.methods.gprgnn import GPRGNNMethod
from unifilter.methods.jacobiconv import JacobiConvMethod
from unifilter.methods.method import Learner, Method
from unifilter.methods.mlp import MLPMethod
from unifilter.methods.optbasis import OptBasisMethod
from unifilter.methods.problem import Problem, Workspace
from unifilter.methods.sgc import SGCMethod
from unifilter.methods.sign import SIGNMethod
from unifilter.methods.specformer import SpecformerMethod
from unifilter.methods.uni_filter import HetFilterMethod, HomFilterMethod, OrtFilterMethod, UniFilterMethod

METHODS: dict[str, type[Method]] = {
    method.name: method
    for method in (
        UniFilterMethod,
        HomFilterMethod,
        HetFilterMethod,
        OrtFilterMethod,
        OptBasisMethod,
        SGCMethod,
        SIGNMethod,
        ASGCMethod,
        ChebNetMethod,
        GPRGNNMethod,
        EvenNetMethod,
        ChebNetIIMethod,
        BernNetMethod,
        JacobiConvMethod,
        SpecformerMethod,
        MLPMethod,
        GCNMethod,
        ResidualGCNMethod,
    )
}


def find_method(name: str) -> type[Method]:
    """A method by its name."""
    if name not in METHODS:
        raise ValueError(f"there is no method {name!r}: choose one of {', '.join(METHODS)}")
    return METHODS[name]


__all__ = [
    "METHODS",
    "Fitted",
    "Learner",
    "Method",
    "Problem",
    "Workspace",
    "delete_checkpoints",
    "find_method",
    "fit",
]
