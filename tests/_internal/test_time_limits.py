from __future__ import annotations

import pytest

from unifilter._internal.time_limits import seconds_of


def test_time_limits() -> None:
    assert [seconds_of(limit) for limit in ("90s", "2 min", "1h", 5, "7")] == [90, 120, 3600, 5, 7]
    for wrong in ("soon", "2 weeks", 0, -1, True, float("inf"), "-3"):
        with pytest.raises(ValueError, match="time_limit is .*: pass seconds, or a text such as '90s', '2min' or '1h'"):
            seconds_of(wrong)
