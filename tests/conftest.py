"""Settings shared by the tests, whose helper modules become importable."""

import sys
from pathlib import Path

from hypothesis import settings

sys.path.insert(0, str(Path(__file__).parent))

# A busy machine is no failure: properties are about results, not about milliseconds.
settings.register_profile("unifilter", deadline=None)
settings.load_profile("unifilter")
