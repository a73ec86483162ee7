"""``python -m unifilter`` is the command ``unifilter``."""

from unifilter.cli import main

if __name__ == "__main__":
    main()
