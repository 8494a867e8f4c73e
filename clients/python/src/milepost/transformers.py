"""Callback of Transformers: ends the training when the job is told to stop. Transformers' own pushes its progress."""

from __future__ import annotations

from typing import Any

from transformers import TrainerCallback

from .run import Run


class MilepostCallback(TrainerCallback):
    """Give it to the trainer: `Trainer(..., callbacks=[MilepostCallback()])`.

    Transformers' `KubeflowCallback`, which is there by itself in a job, pushes. A stop is heard by the process with
    rank 0; several processes are told at the steps that are logged, so that all leave the loop at the same one.
    """

    def __init__(self, run: Run | None = None) -> None:
        self.run = run
        self._is_given = run is not None

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if not self._is_given:
            self.run = Run(rank=0 if state.is_world_process_zero else 1)
        if self.run is not None:
            self.run.listen()

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        is_told = self.run is not None and self.run.stop is not None
        if args.world_size > 1:
            if state.global_step % max(1, state.logging_steps) != 0:
                return
            is_told = _said_by_the_first(is_told)
        if is_told:
            control.should_training_stop = True

    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if self.run is not None and not self._is_given:
            self.run.close()


def _said_by_the_first(is_told: bool) -> bool:
    """Returns in all processes what the one with rank 0 was told."""
    from accelerate.utils import broadcast_object_list

    said = [is_told]
    broadcast_object_list(said, from_process=0)
    return said[0]
