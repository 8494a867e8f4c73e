"""Tests of when callbacks begin and end a run, beside stand-ins of the frameworks.

`tests/training` in the root has them in the frameworks themselves.
"""

import importlib
import sys
import time
import types
import unittest
from itertools import groupby
from typing import Any
from unittest import mock

import milepost
from tests.fakes import FakeEndpoint

STOP = {"control": {"stop": True, "reason": "Pruned", "message": "bad"}}


def module(name: str, **names: Any) -> types.ModuleType:
    made = types.ModuleType(name)
    made.__dict__.update(names)
    return made


def on_main_process(method: Any) -> Any:
    return method


class Base:
    """What callbacks and trackers are made of."""

    model: Any = None
    params: "dict[str, Any]" = {"epochs": 2, "steps": 5}


STAND_INS = {
    "keras": module("keras", callbacks=types.SimpleNamespace(Callback=Base)),
    "pytorch_lightning": module("pytorch_lightning", Callback=Base),
    "accelerate": module("accelerate"),
    "accelerate.tracking": module(
        "accelerate.tracking", GeneralTracker=Base, on_main_process=on_main_process
    ),
    "transformers": module("transformers", TrainerCallback=Base),
}


class LifeTest(unittest.TestCase):
    def setUp(self) -> None:
        patched = mock.patch.dict(sys.modules, STAND_INS)
        patched.start()
        self.addCleanup(patched.stop)
        self.endpoints: list[FakeEndpoint] = []
        self.is_stopped = False

    def imported(self, name: str) -> Any:
        """Returns the module of callbacks anew, whose runs push to endpoints of their own."""
        sys.modules.pop(f"milepost.{name}", None)
        made = importlib.import_module(f"milepost.{name}")
        self.addCleanup(sys.modules.pop, f"milepost.{name}", None)
        made.__dict__["Run"] = self.run_of
        return made

    def run_of(self, total: "int | None" = None, **more: Any) -> milepost.Run:
        endpoint = FakeEndpoint()
        if self.is_stopped:
            endpoint.say(200, body=STOP)
        self.endpoints.append(endpoint)
        run = milepost.Run(total, endpoint=endpoint, environ={}, **more)
        self.addCleanup(run.close)
        return run

    def fit_keras(self, callback: Any) -> bool:
        """Trains, until it is told to stop. Returns whether it was."""
        callback.model = types.SimpleNamespace(stop_training=False)
        callback.on_train_begin()
        for batch in range(10):
            callback.on_train_batch_end(batch, {"loss": 1.0})
        while self.is_stopped and not callback.model.stop_training:
            callback.on_train_batch_end(0, {"loss": 1.0})
        callback.on_epoch_end(0, {"loss": 1.0, "val_loss": 2.0})
        callback.on_train_end()
        return bool(callback.model.stop_training)

    def fit_lightning(self, callback: Any) -> bool:
        trainer = types.SimpleNamespace(
            estimated_stepping_batches=10, global_rank=0, log_every_n_steps=1, callback_metrics={"loss": 1.0},
            global_step=0, is_global_zero=True, world_size=1, sanity_checking=False, should_stop=False,
            strategy=types.SimpleNamespace(reduce_boolean_decision=lambda told, all: told),
        )  # fmt: skip
        callback.on_train_start(trainer, None)
        while trainer.global_step < 10 or (self.is_stopped and not trainer.should_stop):
            trainer.global_step += 1
            callback.on_train_batch_end(trainer, None, None, None, 0)
        callback.on_train_end(trainer, None)
        return bool(trainer.should_stop)

    def test_each_training_is_a_run_of_its_own_that_hears_a_stop(self) -> None:
        for name, fit in (("keras", self.fit_keras), ("lightning", self.fit_lightning)):
            with self.subTest(name=name):
                callback = self.imported(name).MilepostCallback()
                self.assertFalse(fit(callback))
                first = self.endpoints[-1]
                self.assertEqual((first.taken[-1]["progressPercentage"], first.is_closed), (100, True))
                self.is_stopped = True
                self.assertTrue(fit(callback))
                self.is_stopped = False
                self.assertIsNot(self.endpoints[-1], first)
                self.assertTrue(self.endpoints[-1].taken)

    def test_a_run_that_was_handed_in_is_left_open(self) -> None:
        for name, fit in (("keras", self.fit_keras), ("lightning", self.fit_lightning)):
            with self.subTest(name=name):
                run = self.run_of(total=20)
                callback = self.imported(name).MilepostCallback(run)
                for _ in range(2):
                    fit(callback)
                run.push(step=15, after=1.0)
                run.close()
                last = self.endpoints[-1].taken[-1]
                self.assertEqual((last["step"], last["metrics"][0]["name"]), (15, "after"))

    def test_what_a_failed_training_pushed_is_not_at_100(self) -> None:
        callback = self.imported("lightning").MilepostCallback()
        trainer = types.SimpleNamespace(estimated_stepping_batches=10, global_rank=0)
        callback.on_train_start(trainer, None)
        callback.run.push(step=5)
        callback.on_exception(trainer, None, ValueError())
        self.assertEqual(self.endpoints[-1].taken[-1]["progressPercentage"], 50)

    def test_a_tracker_is_used_twice(self) -> None:
        tracker = self.imported("accelerate").MilepostTracker(total=10)
        for _ in range(2):
            tracker.store_init_configuration({})
            tracker.log({"loss": 1.0, "text": "x"}, step=3)
            tracker.finish()
            last = self.endpoints[-1].taken[-1]
            self.assertEqual((last["step"], last["progressPercentage"]), (3, 100))
        self.assertEqual(len(self.endpoints), 2)

    def test_a_tracker_leaves_a_run_open_that_was_handed_in(self) -> None:
        run = self.run_of(total=10)
        tracker = self.imported("accelerate").MilepostTracker(run=run)
        tracker.log({"loss": 1.0}, step=3)
        tracker.finish()
        run.push(step=4, after=1.0)
        run.close()
        self.assertEqual(self.endpoints[-1].taken[-1]["step"], 4)

    def test_transformers_trains_twice(self) -> None:
        callback = self.imported("transformers").MilepostCallback()
        arguments = types.SimpleNamespace(world_size=1)
        state = types.SimpleNamespace(is_world_process_zero=True, global_step=1, max_steps=10, epoch=0.0)
        for _ in range(2):
            control = types.SimpleNamespace(should_training_stop=False, should_evaluate=False, should_save=False)
            callback.on_train_begin(arguments, state, control)
            self.endpoints[-1].say(200, body=STOP)
            while not control.should_training_stop:
                callback.on_step_end(arguments, state, control)
            callback.on_train_end(arguments, state, control)
        self.assertEqual(len(self.endpoints), 2)
        self.assertTrue(all(endpoint.is_closed for endpoint in self.endpoints))

    def phases(self) -> list[str]:
        """The phases that came, one after the other."""
        return [phase for phase, _ in groupby(one["phase"] for one in self.endpoints[-1].taken)]

    def seen(self, phase: str) -> None:
        """Waits until a phase was pushed."""
        end = time.monotonic() + 20
        while not self.endpoints[-1].taken or self.endpoints[-1].taken[-1].get("phase") != phase:
            self.assertLess(time.monotonic(), end, f"{phase} is pushed")
            time.sleep(0.005)

    def test_keras_says_when_it_evaluates(self) -> None:
        callback = self.imported("keras").MilepostCallback()
        callback.model = types.SimpleNamespace(stop_training=False)
        callback.on_train_begin()
        self.seen("Starting")
        callback.on_train_batch_begin(0)
        callback.on_train_batch_end(0, {"loss": 1.0})
        self.seen("Training")
        callback.on_test_begin()
        self.seen("Evaluating")
        callback.on_test_end()
        callback.on_epoch_end(0, {"val_loss": 2.0})
        self.seen("Training")
        callback.on_train_end()
        self.assertEqual(self.phases(), ["Starting", "Training", "Evaluating", "Training"])

    def test_lightning_says_when_it_evaluates_and_saves(self) -> None:
        callback = self.imported("lightning").MilepostCallback()
        trainer = types.SimpleNamespace(
            estimated_stepping_batches=10, global_rank=0, log_every_n_steps=1, callback_metrics={"loss": 1.0},
            global_step=0, is_global_zero=True, world_size=1, sanity_checking=True, should_stop=False,
            strategy=types.SimpleNamespace(reduce_boolean_decision=lambda told, all: told),
        )  # fmt: skip
        callback.on_validation_start(trainer, None)
        callback.on_validation_end(trainer, None)
        trainer.sanity_checking = False
        callback.on_train_start(trainer, None)
        self.seen("Starting")
        callback.on_train_batch_start(trainer, None, None, 0)
        trainer.global_step = 1
        callback.on_train_batch_end(trainer, None, None, None, 0)
        self.seen("Training")
        callback.on_validation_start(trainer, None)
        self.seen("Evaluating")
        callback.on_validation_end(trainer, None)
        self.seen("Training")
        callback.on_save_checkpoint(trainer, None, {})
        self.seen("Checkpointing")
        callback.on_train_batch_start(trainer, None, None, 1)
        self.seen("Training")
        callback.on_train_end(trainer, None)
        self.assertEqual(self.phases()[1:], ["Training", "Evaluating", "Training", "Checkpointing", "Training"])

    def test_transformers_says_when_it_evaluates_and_saves_and_clears_nothing(self) -> None:
        callback = self.imported("transformers").MilepostCallback()
        arguments = types.SimpleNamespace(world_size=1, output_dir="/out")
        state = types.SimpleNamespace(is_world_process_zero=True, global_step=0, max_steps=10, epoch=0.0)
        control = types.SimpleNamespace(should_training_stop=False, should_evaluate=False, should_save=False)
        callback.on_train_begin(arguments, state, control)
        self.seen("Starting")
        callback.on_step_begin(arguments, state, control)
        self.seen("Training")
        state.global_step, state.epoch = 5, 1.0
        control.should_evaluate = control.should_save = True
        callback.on_log(arguments, state, control, {"loss": 0.5, "text": "x"})
        callback.on_step_end(arguments, state, control)
        self.seen("Evaluating")
        shown = {one["name"]: one["value"] for one in self.endpoints[-1].taken[-1]["unchanged"]}
        self.assertEqual(
            shown, {"loss": "0.5", "current_step": "5.0", "total_steps": "10.0", "current_epoch": "1.0"}
        )
        self.assertNotIn("metrics", self.endpoints[-1].taken[-1])
        self.assertEqual(self.endpoints[-1].taken[-1]["progressPercentage"], 50)
        callback.on_evaluate(arguments, state, control)
        self.seen("Checkpointing")
        callback.on_save(arguments, state, control)
        self.seen("Training")
        state.global_step, control.should_save = 10, False
        callback.on_epoch_end(arguments, state, control)
        self.seen("Evaluating")
        # Transformers' own callback says the end.
        self.assertEqual(self.endpoints[-1].taken[-1]["progressPercentage"], 99)
        callback.on_train_end(arguments, state, control)

    def checkpoints(self) -> list[dict[str, Any]]:
        """The checkpoints that came, one after the other."""
        said = [one["checkpoint"] for one in self.endpoints[-1].taken if "checkpoint" in one]
        return [one for one, _ in groupby(said)]

    def test_lightning_says_what_was_saved_once_it_goes_on(self) -> None:
        callback = self.imported("lightning").MilepostCallback()
        saver = types.SimpleNamespace(_last_global_step_saved=0, _last_checkpoint_saved="")
        trainer = types.SimpleNamespace(
            estimated_stepping_batches=10, global_rank=0, global_step=4, sanity_checking=False, checkpoint_callback=saver
        )
        callback.on_train_start(trainer, None)
        callback.on_train_batch_start(trainer, None, None, 0)
        callback.on_save_checkpoint(trainer, None, {})
        self.seen("Checkpointing")
        self.assertEqual(self.checkpoints(), [])
        saver._last_global_step_saved, saver._last_checkpoint_saved = 4, "/ckpt/4.ckpt"
        callback.on_train_batch_start(trainer, None, None, 1)
        self.seen("Training")
        # Saved by hand: nobody says where.
        trainer.checkpoint_callback = None
        callback.on_save_checkpoint(trainer, None, {})
        callback.on_train_end(trainer, None)
        self.assertEqual(self.checkpoints(), [{"step": 4, "location": "/ckpt/4.ckpt"}])

    def test_transformers_says_what_all_have_saved(self) -> None:
        for world_size in (1, 2):
            callback = self.imported("transformers").MilepostCallback()
            arguments = types.SimpleNamespace(world_size=world_size, output_dir="/out")
            state = types.SimpleNamespace(
                is_world_process_zero=True, global_step=3, max_steps=10, epoch=0.0, logging_steps=50
            )
            control = types.SimpleNamespace(should_training_stop=False, should_evaluate=False, should_save=True)
            callback.on_train_begin(arguments, state, control)
            callback.on_step_end(arguments, state, control)
            self.seen("Checkpointing")
            callback.on_save(arguments, state, control)
            self.seen("Training")
            if world_size > 1:
                self.assertEqual(self.checkpoints(), [])
            state.global_step, control.should_save = 4, False
            callback.on_step_end(arguments, state, control)
            callback.on_save(arguments, state, control)
            callback.on_train_end(arguments, state, control)
            # That of the last step only where there is nobody to wait for.
            steps = [3, 4] if world_size == 1 else [3]
            self.assertEqual(
                self.checkpoints(), [{"step": step, "location": f"/out/checkpoint-{step}"} for step in steps]
            )

    def test_a_tracker_waits_for_all(self) -> None:
        tracker = self.imported("accelerate").MilepostTracker(total=10)
        waited: list[int] = []
        accelerator = types.SimpleNamespace(wait_for_everyone=lambda: waited.append(1))
        tracker.checkpoint(accelerator, 3, "/a")
        tracker.finish()
        self.assertEqual((waited, self.checkpoints()), ([1], [{"step": 3, "location": "/a"}]))

    def test_processes_that_do_not_push_say_their_steps(self) -> None:
        steps: list[int] = []
        with mock.patch("milepost.whereabouts.Whereabouts.made", lambda _, step: steps.append(step)):
            tracker = self.imported("accelerate").MilepostTracker(run=self.run_of(rank=1))
            tracker.log({"loss": 1.0}, step=3)
            callback = self.imported("transformers").MilepostCallback()
            arguments = types.SimpleNamespace(world_size=2, process_index=7)
            state = types.SimpleNamespace(
                is_world_process_zero=False, global_step=0, max_steps=10, epoch=0.0, logging_steps=5
            )
            control = types.SimpleNamespace(should_training_stop=False, should_evaluate=False, should_save=False)
            callback.on_train_begin(arguments, state, control)
            state.global_step = 4
            callback.on_step_end(arguments, state, control)
            lightning = self.imported("lightning").MilepostCallback(self.run_of(rank=1))
            trainer = types.SimpleNamespace(global_step=6, log_every_n_steps=50, callback_metrics={}, world_size=2)
            lightning.on_train_batch_end(trainer, None, None, None, 0)
        self.assertEqual(sorted(set(steps)), [3, 4, 6])


if __name__ == "__main__":
    unittest.main()
