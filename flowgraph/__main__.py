"""`python -m flowgraph` is the command `flowgraph`."""

from .cli import main

if __name__ == "__main__":
    main()
