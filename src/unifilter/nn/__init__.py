"""Models: torch modules, called as PyG's are, ``model(x, edge_index, edge_weight=None)``."""

from unifilter.nn.asgc import ASGC
from unifilter.nn.bernnet import BernNet
from unifilter.nn.chebnet import ChebNet
from unifilter.nn.chebnetii import ChebNetII
from unifilter.nn.decoupled import DecoupledFilter
from unifilter.nn.evennet import EvenNet
from unifilter.nn.gcn import GCN, ResidualGCN
from unifilter.nn.gprgnn import GPRGNN
from unifilter.nn.graph_module import EdgeIndex, Features, GraphModule
from unifilter.nn.jacobi_conv import JacobiConv
from unifilter.nn.learned_basis import LearnedUniBasis
from unifilter.nn.mlp import MLP
from unifilter.nn.optbasis import OptBasisGNN
from unifilter.nn.polynomial_filter import filter_response, filter_signal
from unifilter.nn.sgc import SGC
from unifilter.nn.sign import SIGN
from unifilter.nn.sparse_rows import SparseRows
from unifilter.nn.specformer import Specformer
from unifilter.nn.uni_filter import HetFilter, HomFilter, OrtFilter, UniFilter

__all__ = [
    "ASGC",
    "GCN",
    "GPRGNN",
    "MLP",
    "SGC",
    "SIGN",
    "BernNet",
    "ChebNet",
    "ChebNetII",
    "DecoupledFilter",
    "EdgeIndex",
    "EvenNet",
    "Features",
    "GraphModule",
    "HetFilter",
    "HomFilter",
    "JacobiConv",
    "LearnedUniBasis",
    "OptBasisGNN",
    "OrtFilter",
    "ResidualGCN",
    "SparseRows",
    "Specformer",
    "UniFilter",
    "filter_response",
    "filter_signal",
]
