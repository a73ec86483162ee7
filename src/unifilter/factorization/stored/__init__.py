"""Factorizations larger than memory, stored in a folder block by block of columns."""

from unifilter.factorization.stored.build import factorize_to_store
from unifilter.factorization.stored.memory_plan import in_memory_bytes
from unifilter.factorization.stored.stored_factorization import StoredFactorization
from unifilter.factorization.stored.stored_rows import StoredRows

__all__ = ["StoredFactorization", "StoredRows", "factorize_to_store", "in_memory_bytes"]
