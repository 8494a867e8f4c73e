"""Errors of reading jobs: each is one line, in a notebook too, and says what to do."""

from __future__ import annotations

from collections.abc import Iterable

from .spelling import spelled

NAMES_SHOWN = 8
TEXT_MAX = 2000


class ReadingError(Exception):
    """What was asked for cannot be read; the text says why, and what to do."""

    def __init__(self, why: str) -> None:
        super().__init__(spelled(why)[:TEXT_MAX])

    def _render_traceback_(self) -> list[str]:
        # IPython shows this in place of a traceback, which would be of this package.
        return [f"{type(self).__name__}: {self}"]


class BadName(ReadingError, ValueError):
    """The name of a job is none, or a word is none of those that an argument takes."""


class JobNotFound(ReadingError, LookupError):
    """There is no such job."""


class MetricNotFound(ReadingError, LookupError):
    """No job has reported such a metric."""


class Unreachable(ReadingError):
    """The API server or the manager cannot be asked."""


class SearchError(ReadingError, ValueError):
    """A search cannot be made, or cannot go on, as it was asked for."""


class TrialFailed(ReadingError):
    """The job of a trial has failed, was deleted, or has ended without a value."""


class NotInstalled(ReadingError, ImportError):
    """A package that reading needs is not installed."""


def needs(error: ImportError, what: str = "reading jobs", extra: str = "notebook") -> NotInstalled:
    """Returns what to do about a package that is missing."""
    return NotInstalled(
        f'{what} needs the package {error.name}: pip install "milepost[{extra}]", from the first release on; '
        f'in a clone pip install "./clients/python[{extra}]"'
    )


def alternatives(name: str, there: Iterable[str], nothing: str) -> str:
    """Returns what a name may have been meant for, else the names that there are, for the end of a message."""
    # A program that only pushes has no use for it.
    from difflib import get_close_matches

    names = sorted(there)
    if not names:
        return nothing
    close = get_close_matches(name, names, 3)
    if close:
        return f"did you mean {' or '.join(close)}?"
    more = len(names) - NAMES_SHOWN
    return f"there {'is' if len(names) == 1 else 'are'} {', '.join(names[:NAMES_SHOWN])}" + (f" and {more} more" if more > 0 else "")
