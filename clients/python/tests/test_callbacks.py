"""Tests of when callbacks begin and end a run, beside stand-ins of the frameworks.

`tests/training` in the root has them in the frameworks themselves.
"""

import importlib
import sys
import types
import unittest
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
        state = types.SimpleNamespace(is_world_process_zero=True, global_step=1)
        for _ in range(2):
            control = types.SimpleNamespace(should_training_stop=False)
            callback.on_train_begin(arguments, state, control)
            self.endpoints[-1].say(200, body=STOP)
            while not control.should_training_stop:
                callback.on_step_end(arguments, state, control)
            callback.on_train_end(arguments, state, control)
        self.assertEqual(len(self.endpoints), 2)
        self.assertTrue(all(endpoint.is_closed for endpoint in self.endpoints))


if __name__ == "__main__":
    unittest.main()
