"""Factor the graph once: Lanczos vectors and tridiagonals, and what follows from them without the graph."""

from unifilter.factorization.basis_rows import BasisRows, RowsOfBasis
from unifilter.factorization.density import SpectralDensity, density_of, spectral_density
from unifilter.factorization.diagnostics import Diagnostics
from unifilter.factorization.eigendecomposition import Eigenpairs, eigenpairs
from unifilter.factorization.factorization import Factorization, factorize
from unifilter.factorization.recurrence import apply_recurrence
from unifilter.factorization.shared import SharedDiagnostics, SharedFactorization
from unifilter.factorization.stored import StoredFactorization, StoredRows
from unifilter.factorization.tridiagonals import tridiagonals

__all__ = [
    "BasisRows",
    "Diagnostics",
    "Eigenpairs",
    "Factorization",
    "RowsOfBasis",
    "SharedDiagnostics",
    "SharedFactorization",
    "SpectralDensity",
    "StoredFactorization",
    "StoredRows",
    "apply_recurrence",
    "density_of",
    "eigenpairs",
    "factorize",
    "spectral_density",
    "tridiagonals",
]
