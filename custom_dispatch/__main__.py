"""`python -m custom_dispatch`, and the program `custom-dispatch`: the command line."""

import signal


def script() -> None:
    """Run it. While it loads, and cannot say so yet, Ctrl-C ends the process."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from custom_dispatch.cli import script as run

    run()


if __name__ == "__main__":
    script()
