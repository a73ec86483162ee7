"""The few passes over n-sized data that decide how fast the library is.

Every module here has a path in plain torch, which runs on any device. The modules in :mod:`unifilter.kernels.compiled`
are fused for the CPU with numba; :mod:`unifilter.kernels.backend` decides which of the two runs. Kernels take tensors
and know nothing of the rest of the library.
"""
