"""``python -m allegiance``: the command, where its own name is not on the PATH."""

from allegiance.cli import main

if __name__ == "__main__":
    main()
