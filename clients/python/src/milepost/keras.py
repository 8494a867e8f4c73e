"""Callback of Keras: pushes the logs of batches and epochs, and ends the training when the job is told to stop."""

from __future__ import annotations

from typing import Any

import keras

from .numbers import numbers_of
from .run import Run


class MilepostCallback(keras.callbacks.Callback):
    """Give it to the model: `model.fit(..., callbacks=[MilepostCallback()])`.

    It says when the model trains and when it evaluates; what is saved the program says itself, by `run.checkpoint`. Each process hears a stop by itself, and not all at the same
    step. Each training is a run of its own; one that is handed in is left open.
    """

    def __init__(self, run: Run | None = None) -> None:
        super().__init__()
        self.run = run
        self._is_given = run is not None
        self._step = 0
        self._of_batches: set[str] = set()

    def on_train_begin(self, logs: dict[str, Any] | None = None) -> None:
        self._step = 0
        if not self._is_given:
            epochs, steps = self.params.get("epochs"), self.params.get("steps")
            self.run = Run(epochs * steps if epochs and steps else None)
        self._do("starting")

    def on_train_batch_begin(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        self._do("training")

    def on_test_begin(self, logs: dict[str, Any] | None = None) -> None:
        self._do("evaluating")

    def on_test_end(self, logs: dict[str, Any] | None = None) -> None:
        self._do("training")

    def on_train_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        self._step += 1
        if self.run is not None:
            self.run.step(self._step)
        values = numbers_of(logs or {})
        self._of_batches |= values.keys()
        self._push(values)
        self._heed()

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        # The others were pushed with the last batch.
        values = numbers_of(logs or {})
        self._push({name: value for name, value in values.items() if name not in self._of_batches})
        self._heed()

    def on_train_end(self, logs: dict[str, Any] | None = None) -> None:
        if self.run is not None and not self._is_given:
            self.run.close(done=True)

    def _do(self, phase: str) -> None:
        if self.run is not None:
            self.run.phase(phase)

    def _push(self, values: dict[str, float]) -> None:
        if self.run is not None and values:
            self.run.push(values, step=self._step)

    def _heed(self) -> None:
        if self.run is not None and self.run.stop is not None:
            self.model.stop_training = True
