"""`python -m custom_dispatch`: the command line."""

from custom_dispatch.cli import script

if __name__ == "__main__":
    script()
