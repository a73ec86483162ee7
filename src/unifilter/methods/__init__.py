"""Methods: every model with its hyper-parameters, published settings and stop rule. To add one here, write its file
and name it in the table below; elsewhere, register it.
"""

from __future__ import annotations

from unifilter._internal.registry import Registry
from unifilter.methods.acm_gcn import ACMGCNMethod, ACMGCNPlusMethod, ACMGCNPlusPlusMethod, ACMIIGCNMethod
from unifilter.methods.adaptkry import AdaptKryMethod
from unifilter.methods.appnp import APPNPMethod, GNNHFMethod, GNNLFMethod
from unifilter.methods.asgc import ASGCMethod
from unifilter.methods.auto import AutoMethod
from unifilter.methods.bernnet import BernNetMethod
from unifilter.methods.chebnet import ChebNetMethod
from unifilter.methods.chebnetii import ChebNetIIMethod
from unifilter.methods.evennet import EvenNetMethod
from unifilter.methods.fagcn import FAGCNMethod
from unifilter.methods.favard import FavardMethod
from unifilter.methods.gat import GATMethod
from unifilter.methods.gcn import GCNMethod, ResidualGCNMethod
from unifilter.methods.gcnii import GCNIIMethod
from unifilter.methods.glognn import GloGNNMethod, GloGNNPlusPlusMethod
from unifilter.methods.gprgnn import GPRGNNMethod
from unifilter.methods.graphsage import GraphSAGEMethod
from unifilter.methods.h2gcn import H2GCNMethod
from unifilter.methods.jacobiconv import JacobiConvMethod
from unifilter.methods.label_signals import LabelSignalsMethod
from unifilter.methods.linkx import LINKXMethod
from unifilter.methods.method import Learner, Method, ModelShape, Preset, settings_for
from unifilter.methods.mixhop import MixHopMethod
from unifilter.methods.mlp import MLPMethod
from unifilter.methods.optbasis import OptBasisMethod
from unifilter.methods.ordered_gnn import OrderedGNNMethod
from unifilter.methods.problem import Problem, Workspace
from unifilter.methods.sgc import SGCMethod
from unifilter.methods.sign import SIGNMethod
from unifilter.methods.specformer import SpecformerMethod
from unifilter.methods.storage import Storage
from unifilter.methods.ufg import UFGMethod
from unifilter.methods.uni_filter import (
    HetFilterMethod,
    HomFilterMethod,
    OrtFilterMethod,
    UniFilterMethod,
)
from unifilter.methods.wrgat import WRGATMethod

METHODS: Registry[type[Method]] = Registry(
    "method",
    "unifilter.methods",
    Method,
    {
        method.name: method
        for method in (
            UniFilterMethod,
            HomFilterMethod,
            HetFilterMethod,
            OrtFilterMethod,
            AdaptKryMethod,
            OptBasisMethod,
            FavardMethod,
            SGCMethod,
            SIGNMethod,
            ASGCMethod,
            ChebNetMethod,
            APPNPMethod,
            GNNLFMethod,
            GNNHFMethod,
            GPRGNNMethod,
            EvenNetMethod,
            ChebNetIIMethod,
            BernNetMethod,
            JacobiConvMethod,
            UFGMethod,
            SpecformerMethod,
            MLPMethod,
            GCNMethod,
            ResidualGCNMethod,
            GCNIIMethod,
            GATMethod,
            GraphSAGEMethod,
            FAGCNMethod,
            OrderedGNNMethod,
            WRGATMethod,
            ACMGCNMethod,
            ACMIIGCNMethod,
            ACMGCNPlusMethod,
            ACMGCNPlusPlusMethod,
            LINKXMethod,
            LabelSignalsMethod,
            GloGNNPlusPlusMethod,
            GloGNNMethod,
            H2GCNMethod,
            MixHopMethod,
            AutoMethod,
        )
    },
)


def find_method(name: str) -> type[Method]:
    """A method by its name."""
    return METHODS.find(name)


def register_method(method: type[Method]) -> type[Method]:
    """Register your own method by its ``name`` for estimators, model files, the command line and tuning.

    Can be used as a decorator. A package can offer its methods without this call, as entry points of the group
    ``unifilter.methods``.
    """
    METHODS.register(getattr(method, "name", ""), method)
    return method


__all__ = [
    "METHODS",
    "Learner",
    "Method",
    "ModelShape",
    "Preset",
    "Problem",
    "Storage",
    "Workspace",
    "find_method",
    "register_method",
    "settings_for",
]
