"""Translates Python arguments in the library's messages to command-line options."""

from __future__ import annotations

import re

# Pattern in the library's message, and its replacement.
_SPELLINGS = (
    (r"\bresume=True", "--resume"),
    (r"\bknown=\[\.\.\.\]", "--known"),
    (r"\ballow_missing_classes=True", "--allow-missing-classes"),
    (r"\bsplit='([^']*)'", r"--split \1"),
    (r"\bmemory_limit=\"([^\"]*)\"", r"--memory-limit \1"),
    (r"\bmemory_limit\b", "--memory-limit"),
    (r"\border=\"(\w+)\"", r"--order \1"),
    (r"\bleave order out\b", "leave --order out"),
    (r"\bbatch_size=(\d+)", r"--set batch_size=\1"),
    (r"\banother folder\b", "another --out"),
    (r"\bexplain\(factorize\(graph, x\)\)", "`unifilter explain DATASET`"),
    (r"\bdevice='([^']*)'", r"--device \1"),
    (r"\banother study file\b", "another --study"),
    (r"\banother port\b", "another --port"),
    (r"\bunifilter\.datasets\.fetch\('([^']*)'\)", r"`unifilter data fetch \1`"),
)


def for_command_line(message: str) -> str:
    """A library message rewritten for the command line.

    Example:
        >>> for_command_line("the folder runs/a exists: pass resume=True to continue, or another folder")
        'the folder runs/a exists: pass --resume to continue, or another --out'
    """
    for pattern, option in _SPELLINGS:
        message = re.sub(pattern, option, message)
    return message
