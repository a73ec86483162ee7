"""Settings shared by the tests."""

from hypothesis import settings

# A busy machine is no failure: properties are about results, not about milliseconds.
settings.register_profile("unifilter", deadline=None)
settings.load_profile("unifilter")
