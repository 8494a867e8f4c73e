"""Command `milepost` of a virtual environment: the program of the package `milepost-server`, in place of this process."""

from __future__ import annotations

import os
import platform
import sys

MISSING = (
    'the program is a package of its own: pip install "milepost[server]", from the first release on; '
    "in a clone it is bin/milepost, and bin/milepost standalone prints the KUBECONFIG that a notebook needs"
)


class NoProgram(Exception):
    """The program of Milepost cannot run here; the text says why, and what to do."""


def program() -> list[str]:
    """Returns the words that run the program. Raises `NoProgram`."""
    system, libc = platform.system(), platform.libc_ver()[0]
    if system != "Linux" or libc != "glibc":
        found = f"Linux with {libc or 'another C library'}" if system == "Linux" else system
        raise NoProgram(f"the program runs on Linux with glibc, and this is {found}")
    try:
        from milepost_server import command
    except ImportError:
        raise NoProgram(MISSING) from None
    try:
        return list(command())
    except (ImportError, FileNotFoundError) as error:
        raise NoProgram(f'Deno, which runs the program, is missing ({error}): pip install --force-reinstall "milepost[server]"') from None


def environment() -> dict[str, str]:
    """Returns this process's variables as the program needs them."""
    return {**os.environ, "DENO_NO_UPDATE_CHECK": "1"}


def main() -> None:
    """Becomes the program, with the arguments of the command line."""
    try:
        words = program()
        os.execve(words[0], [*words, *sys.argv[1:]], environment())
    except (NoProgram, OSError) as error:
        sys.exit(f"milepost: {error}")
