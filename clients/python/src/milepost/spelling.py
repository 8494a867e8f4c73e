"""Text of others for people: what does not print is spelled out."""

from __future__ import annotations


def spelled(text: str, kept: str = "") -> str:
    """Returns the text with all that does not print as an escape, such as `\\x1b`, but for the characters of `kept`."""
    if text.isprintable():
        return text
    return "".join(
        one if one in kept or one.isprintable() else one.encode("unicode_escape").decode("ascii") for one in text
    )
