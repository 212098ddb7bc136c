"""`python -m opcheck`."""

from opcheck.cli import main

if __name__ == "__main__":
    main()
