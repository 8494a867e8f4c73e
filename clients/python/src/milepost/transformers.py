"""Callback of Transformers: says when it evaluates and saves, and ends the training when the job is told to stop."""

from __future__ import annotations

import os
from typing import Any

from transformers import TrainerCallback

from .numbers import numbers_of
from .run import Run


class MilepostCallback(TrainerCallback):
    """Give it to the trainer: `Trainer(..., callbacks=[MilepostCallback()])`.

    Transformers' `KubeflowCallback`, which is there by itself in a job, pushes; this one says when an evaluation or a
    checkpoint begins and ends, with what that has pushed, and where the checkpoint is. Several processes are told of a stop that the one with rank 0
    has heard at the steps that are logged, so that all leave the loop at the same one.
    """

    def __init__(self, run: Run | None = None) -> None:
        self.run = run
        self._is_given = run is not None
        self._logged: dict[str, float] = {}
        # A checkpoint that another process may not have saved yet.
        self._saved: tuple[int, str] | None = None

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if not self._is_given:
            rank = 0 if state.is_world_process_zero else getattr(args, "process_index", 1)
            self.run = Run(state.max_steps, rank=rank)
        if self.run is not None:
            self.run.listen()
        self._logged = {}
        self._do("starting", state)

    def on_step_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self._do("training", state)

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **kwargs: Any) -> None:
        self._logged |= numbers_of(logs or {})

    def on_epoch_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self._do_next(state, control.should_evaluate, control.should_save)

    def on_evaluate(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self._do_next(state, False, control.should_save)

    def on_save(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self._do("training", state)
        self._saved = state.global_step, os.path.join(args.output_dir, f"checkpoint-{state.global_step}")
        if args.world_size == 1:
            self._say_saved()

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if self.run is not None:
            self.run.step(state.global_step)
        # Processes that made a step together have all saved before it.
        self._say_saved()
        self._do_next(state, control.should_evaluate, control.should_save)
        is_told = self.run is not None and self.run.stop is not None
        if args.world_size > 1:
            if state.global_step % max(1, state.logging_steps) != 0:
                return
            is_told = _said_by_the_first(is_told)
        if is_told:
            control.should_training_stop = True

    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        # No step follows that would say that the others have saved, too.
        self._saved = None
        if self.run is not None and not self._is_given:
            self.run.close()

    def _say_saved(self) -> None:
        if self.run is not None and self._saved is not None:
            self.run.checkpoint(*self._saved)
        self._saved = None

    def _do_next(self, state: Any, evaluates: bool, saves: bool) -> None:
        """Says what the trainer does next: it evaluates before it saves."""
        self._do("evaluating" if evaluates else "checkpointing" if saves else "training", state)

    def _do(self, phase: str, state: Any) -> None:
        if self.run is not None:
            steps = {"current_step": state.global_step, "total_steps": state.max_steps}
            self.run._beside(numbers_of({**self._logged, **steps, "current_epoch": state.epoch}), state.global_step)
            self.run.phase(phase)


def _said_by_the_first(is_told: bool) -> bool:
    """Returns in all processes what the one with rank 0 was told."""
    from accelerate.utils import broadcast_object_list

    said = [is_told]
    broadcast_object_list(said, from_process=0)
    return said[0]
