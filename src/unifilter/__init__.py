"""UniFilter: factor the graph once, and every polynomial filter is a small matrix."""

import lazy_loader

# Public names are listed in `__init__.pyi`, for this line and for type checkers, and imported when they are first used.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
