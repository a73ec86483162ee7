"""The library's messages speak of Python arguments; here they get the options of the command line."""

from __future__ import annotations

import re

# What the library writes, and what to type instead.
_SPELLINGS = (
    (r"\bresume=True", "--resume"),
    (r"\bknown=\[\.\.\.\]", "--known"),
    (r"\ballow_missing_classes=True", "--allow-missing-classes"),
    (r"\bsplit='([^']*)'", r"--split \1"),
    (r"\bmemory_limit=\"([^\"]*)\"", r"--memory-limit \1"),
    (r"\bmemory_limit\b", "--memory-limit"),
    (r"\bbatch_size=(\d+)", r"--set batch_size=\1"),
    (r"\banother folder\b", "another --out"),
    (r"\bexplain\(factorize\(graph, x\)\)", "`unifilter explain DATASET`"),
    (r"\bdevice='([^']*)'", r"--device \1"),
    (r"\banother study file\b", "another --study"),
    (r"\banother port\b", "another --port"),
    (r"\bunifilter\.datasets\.fetch\('([^']*)'\)", r"`unifilter data fetch \1`"),
)


def for_command_line(message: str) -> str:
    """A message of the library as someone at a terminal needs it.

    Example:
        >>> for_command_line("the folder runs/a exists: pass resume=True to continue, or another folder")
        'the folder runs/a exists: pass --resume to continue, or another --out'
    """
    for pattern, option in _SPELLINGS:
        message = re.sub(pattern, option, message)
    return message
