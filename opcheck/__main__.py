"""`python -m opcheck`."""

import sys

#: The working directory: a file there may be named like a module of opcheck's.
HERE = None if sys.flags.safe_path else sys.path.pop(0)
if HERE is not None:
    sys.path.append(HERE)

from opcheck.cli import main  # noqa: E402 (only now)

if __name__ == "__main__":
    main()
