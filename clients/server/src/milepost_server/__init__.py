"""Program of Milepost: a bundle, and the Deno that runs it."""

from __future__ import annotations

import json
from pathlib import Path

_FOLDER = Path(__file__).parent

__all__ = ["command"]


def command() -> list[str]:
    """Returns the words that run the program, to which its own arguments are added. Raises FileNotFoundError without Deno."""
    from deno import find_deno_bin

    launch = json.loads((_FOLDER / "launch.json").read_text())
    return [find_deno_bin(), *launch["arguments"], str(_FOLDER / "milepost.js")]
