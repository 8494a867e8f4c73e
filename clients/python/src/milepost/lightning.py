"""Callback of Lightning: pushes what the trainer logs, and ends the training when the job is told to stop."""

from __future__ import annotations

import math
import sys
from typing import Any

from .numbers import numbers_of
from .run import Run

if "pytorch_lightning" in sys.modules and "lightning.pytorch" not in sys.modules:
    from pytorch_lightning import Callback
else:
    try:
        from lightning.pytorch import Callback
    except ImportError:
        from pytorch_lightning import Callback


class MilepostCallback(Callback):
    """Give it to the trainer: `Trainer(callbacks=[MilepostCallback()])`.

    It pushes the logged metrics every `log_every_n_steps` of the trainer and after each validation, and says when it
    trains, evaluates and saves, and which checkpoint `ModelCheckpoint` has saved. A stop that a process hears is told to all, at those steps. Each training is a run of
    its own; one that is handed in is left open.
    """

    def __init__(self, run: Run | None = None) -> None:
        super().__init__()
        self.run = run
        self._is_given = run is not None
        # The trainer shows the values of the last validation until the next one: they are pushed once.
        self._of_training: set[str] = set()
        self._of_validation: set[str] = set()
        self._saves = False

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        if not self._is_given:
            total = float(trainer.estimated_stepping_batches)
            is_known = math.isfinite(total) and total > 0
            self.run = Run(int(total) if is_known else None, rank=trainer.global_rank)
        self._do("starting")

    def on_train_batch_start(self, trainer: Any, pl_module: Any, batch: Any, batch_idx: int) -> None:
        # Of a checkpoint nothing says its end.
        self._saved(trainer)
        self._do("training")

    def on_train_batch_end(
        self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        if self.run is not None:
            self.run.step(trainer.global_step)
        every = max(1, trainer.log_every_n_steps)
        if not self._of_training:
            self._of_training = set(trainer.callback_metrics) - self._of_validation
        if trainer.global_step % every == 0:
            shown = set(trainer.callback_metrics) - self._of_validation
            self._of_training |= shown
            self._push(trainer, shown)
        if trainer.world_size == 1 or trainer.global_step % every == 0:
            self._heed(trainer)

    def on_validation_start(self, trainer: Any, pl_module: Any) -> None:
        if not trainer.sanity_checking:
            self._saved(trainer)
            self._do("evaluating")

    def on_save_checkpoint(self, trainer: Any, pl_module: Any, checkpoint: Any) -> None:
        self._saves = True
        self._do("checkpointing")

    def on_validation_end(self, trainer: Any, pl_module: Any) -> None:
        self._of_validation |= set(trainer.callback_metrics) - self._of_training
        if not trainer.sanity_checking:
            self._do("training")
            self._push(trainer, self._of_validation)

    def on_train_end(self, trainer: Any, pl_module: Any) -> None:
        self._saved(trainer)
        if self.run is not None and not self._is_given:
            self.run.close(done=True)

    def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:
        if self.run is None:
            return
        self.run.fail(exception)
        if not self._is_given:
            self.run.close()

    def _do(self, phase: str) -> None:
        if self.run is not None:
            self.run.phase(phase)

    def _saved(self, trainer: Any) -> None:
        """Says which checkpoint is there, once the trainer goes on: then all processes have saved."""
        saver = getattr(trainer, "checkpoint_callback", None)
        step, path = getattr(saver, "_last_global_step_saved", 0), getattr(saver, "_last_checkpoint_saved", "")
        if self.run is not None and self._saves and path:
            self.run.checkpoint(step, path)
        self._saves = False

    def _push(self, trainer: Any, names: set[str]) -> None:
        if self.run is not None and trainer.is_global_zero:
            shown = trainer.callback_metrics
            values = {name: shown[name] for name in sorted(names) if name in shown}
            self.run.push(numbers_of(values), step=trainer.global_step)

    def _heed(self, trainer: Any) -> None:
        is_told = self.run is not None and self.run.stop is not None
        if trainer.strategy.reduce_boolean_decision(is_told, all=False):
            trainer.should_stop = True
