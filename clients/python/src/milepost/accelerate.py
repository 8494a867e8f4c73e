"""Tracker of accelerate: pushes what a program logs, and says in all processes whether the job is told to stop."""

from __future__ import annotations

import os
from typing import Any

from accelerate.tracking import GeneralTracker, on_main_process

from .numbers import numbers_of
from .run import Run


class MilepostTracker(GeneralTracker):
    """Give it to the accelerator, and ask it in the loop. A run that is handed in is left open.

    >>> tracker = MilepostTracker(total=1000)
    >>> accelerator = Accelerator(log_with=tracker)
    >>> accelerator.init_trackers("training")
    >>> for step in range(1000):
    ...     accelerator.log({"loss": 0.5}, step=step)
    ...     if tracker.should_stop(accelerator):
    ...         break
    >>> accelerator.end_training()
    """

    name = "milepost"
    requires_logging_directory = False

    def __init__(self, total: int | None = None, run: Run | None = None) -> None:
        super().__init__()
        self._total = total
        self._is_given = run is not None
        self._is_over = False
        self.run = run or Run(total)

    @property
    def tracker(self) -> Run:
        return self.run

    def store_init_configuration(self, values: dict[str, Any]) -> None:
        # The trackers begin: after an end it is another training.
        if self._is_over:
            self.run, self._is_over = Run(self._total), False

    def log(self, values: dict[str, Any], step: int | None = None, **kwargs: Any) -> None:
        if step is not None:
            self.run.step(step)
        self._push(values, step)

    @on_main_process
    def _push(self, values: dict[str, Any], step: int | None) -> None:
        self.run.push(numbers_of(values), step=step)

    def checkpoint(self, accelerator: Any, step: int, location: str | os.PathLike[str] | None = None) -> None:
        """Says that a checkpoint is there, once all processes have saved. Every process has to call it."""
        accelerator.wait_for_everyone()
        self.run.checkpoint(step, location)

    def finish(self) -> None:
        if not self._is_given:
            self.run.close(done=True)
            self._is_over = True

    def should_stop(self, accelerator: Any) -> bool:
        """Returns whether the job is told to stop. Every process has to ask, and gets the same answer."""
        if self.run.stop is not None:
            accelerator.set_trigger()
        return bool(accelerator.check_trigger())
