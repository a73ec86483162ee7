"""Models: torch modules, called as PyG's are, ``model(x, edge_index, edge_weight=None)``."""

from unifilter.nn.acm_gcn import ACMGCN
from unifilter.nn.adaptkry import AdaptKry
from unifilter.nn.appnp import APPNP, GNNHF, GNNLF, RestartFilter
from unifilter.nn.asgc import ASGC
from unifilter.nn.bernnet import BernNet
from unifilter.nn.channel_filter import ChannelFilter
from unifilter.nn.chebnet import ChebNet
from unifilter.nn.chebnetii import ChebNetII
from unifilter.nn.decoupled import DecoupledFilter
from unifilter.nn.evennet import EvenNet
from unifilter.nn.fagcn import FAGCN
from unifilter.nn.favard import FavardGNN
from unifilter.nn.gat import GAT
from unifilter.nn.gcn import GCN, ResidualGCN
from unifilter.nn.gcnii import GCNII
from unifilter.nn.glognn import GloGNN
from unifilter.nn.gprgnn import GPRGNN
from unifilter.nn.graph_module import EdgeIndex, Features, GraphModule
from unifilter.nn.graphsage import GraphSAGE
from unifilter.nn.h2gcn import H2GCN
from unifilter.nn.jacobi_conv import JacobiConv
from unifilter.nn.label_signals import LabelSignals
from unifilter.nn.learned_basis import LearnedUniBasis
from unifilter.nn.linkx import LINKX
from unifilter.nn.mixhop import MixHop
from unifilter.nn.mixture import Member, Mixture
from unifilter.nn.mlp import MLP
from unifilter.nn.optbasis import OptBasisGNN
from unifilter.nn.ordered_gnn import OrderedGNN
from unifilter.nn.polynomial_filter import filter_response, filter_signal
from unifilter.nn.sgc import SGC
from unifilter.nn.shared_uni_filter import SharedUniFilter
from unifilter.nn.sign import SIGN
from unifilter.nn.sparse_rows import SparseRows
from unifilter.nn.specformer import Specformer
from unifilter.nn.ufg import UFG
from unifilter.nn.uni_filter import HetFilter, HomFilter, OrtFilter, UniFilter
from unifilter.nn.wrgat import WRGAT

__all__ = [
    "ACMGCN",
    "APPNP",
    "ASGC",
    "FAGCN",
    "GAT",
    "GCN",
    "GCNII",
    "GNNHF",
    "GNNLF",
    "GPRGNN",
    "H2GCN",
    "LINKX",
    "MLP",
    "SGC",
    "SIGN",
    "UFG",
    "WRGAT",
    "AdaptKry",
    "BernNet",
    "ChannelFilter",
    "ChebNet",
    "ChebNetII",
    "DecoupledFilter",
    "EdgeIndex",
    "EvenNet",
    "FavardGNN",
    "Features",
    "GloGNN",
    "GraphModule",
    "GraphSAGE",
    "HetFilter",
    "HomFilter",
    "JacobiConv",
    "LabelSignals",
    "LearnedUniBasis",
    "Member",
    "MixHop",
    "Mixture",
    "OptBasisGNN",
    "OrderedGNN",
    "OrtFilter",
    "ResidualGCN",
    "RestartFilter",
    "SharedUniFilter",
    "SparseRows",
    "Specformer",
    "UniFilter",
    "filter_response",
    "filter_signal",
]
