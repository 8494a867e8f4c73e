"""Tests of searches by Optuna over jobs of a fake cluster: `python -m unittest tests.optuna_scenes`."""

import io
import json
import math
import pickle
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import optuna
from kubernetes import client
from optuna.storages import JournalStorage, RDBStorage
from optuna.storages.journal import JournalFileBackend
from optuna.study import MaxTrialsCallback
from optuna.trial import TrialState

import milepost
import milepost.optuna
from milepost.errors import ReadingError, SearchError, TrialFailed, Unreachable
from milepost.search.watch import Watch

from .fake_cluster import TOKEN, FakeCluster, FakeJob

JOB = {
    "apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob", "metadata": {"name": "mine", "namespace": "team"},
    "spec": {"runtimeRef": {"name": "plain"}, "trainer": {"env": [{"name": "LR", "value": "9"}]}},
}  # fmt: skip
STEPS = 9
# The one that reads a study of a process that was killed waits for what that had begun.
SQLITE_WAITS = {"connect_args": {"timeout": 30}}


def loss(lr: float, step: int) -> float:
    """The loss of a rate at a step: curves cross, and rise at times, so that pruners have to think."""
    return abs(math.log10(lr) + 3) + math.cos(lr * 1e5) / step + math.sin(step * (1 + lr * 1e3)) / 4 + 1 / step


def curve_of(variables: dict[str, str]) -> list[tuple[int | None, str]]:
    return [(step, repr(loss(float(variables["LR"]), step))) for step in range(1, STEPS + 1)]


def space(trial: Any) -> dict[str, object]:
    rate = trial.suggest_float("lr", 1e-5, 1e-1, log=True)
    trial.suggest_int("layers", 1, 3)
    return {"LR": rate}


def api_of(cluster: FakeCluster, token: str = TOKEN) -> Any:
    configuration = client.Configuration(host=cluster.url, api_key={"authorization": f"Bearer {token}"})
    configuration.ssl_ca_cert = str(cluster.ca)
    configuration.retries = False
    return client.ApiClient(configuration)


@contextmanager
def in_step(cluster: FakeCluster) -> Iterator[None]:
    """Has jobs go on when they were judged, as a function does."""
    judged: dict[str, int] = {}
    should_prune = optuna.Trial.should_prune

    def judge(trial: optuna.Trial) -> bool:
        is_pruned = bool(should_prune(trial))
        job = trial.user_attrs["milepost:job"]
        judged[job] = judged.get(job, 0) + (not is_pruned)
        return is_pruned

    cluster.may_advance = lambda job: judged.get(job.name, 0) == len(job.rows)
    with mock.patch.object(optuna.Trial, "should_prune", judge):
        yield
    cluster.may_advance = lambda job: True


class Scene(unittest.TestCase):
    pace = 0.004

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.cluster = FakeCluster(self.folder, curve_of, self.pace)
        self.addCleanup(self.cluster.stop)
        self.api = api_of(self.cluster)
        self.addCleanup(self.api.close)
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        quiet = warnings.catch_warnings()
        quiet.__enter__()
        self.addCleanup(quiet.__exit__, None, None, None)
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)

    def optimize(self, study: optuna.Study, **options: Any) -> None:
        its = {"job": JOB, "space": space, "n_trials": 6, "parallel": 3, "api": self.api, **options}
        milepost.optuna.optimize(study, address=self.cluster.url, ca=str(self.cluster.ca), **its)

    def in_background(self, study: optuna.Study, **options: Any) -> "Background":
        background = Background(lambda: self.optimize(study, **options))
        self.addCleanup(background.thread.join, 30)
        return background

    def until(self, condition: Callable[[], Any]) -> None:
        """Waits for something that the cluster's next move may bring."""
        end = time.monotonic() + 30
        with self.cluster.news:
            while not condition():
                self.assertLess(time.monotonic(), end, "it did not come to be so")
                self.cluster.news.wait(0.05)

    def agrees(self, study: optuna.Study) -> None:
        """Asserts that each trial has what its job pushed, as far as it was told, and what its job had as variables."""
        for trial in study.trials:
            job = self.cluster.jobs[trial.user_attrs["milepost:job"]]
            pushed = {row["step"]: float(row["value"]) for row in job.rows}
            self.assertEqual(job.number, trial.number)
            self.assertEqual(job.variables["LR"], str(trial.params["lr"]))
            told = trial.intermediate_values
            self.assertEqual(told, {step: pushed[step] for step in sorted(pushed)[: len(told)]})
            self.assertIn(trial.state, (TrialState.COMPLETE, TrialState.PRUNED))
            if trial.state == TrialState.COMPLETE:
                self.assertEqual((told, trial.value), (pushed, pushed[STEPS]))
            else:
                self.assertEqual(job.state[:2], ("EarlyStopped", "Pruned"))


class Background:
    """A search in a thread of its own, and how it ended."""

    def __init__(self, run: Callable[[], None]) -> None:
        self.error: BaseException | None = None

        def work() -> None:
            try:
                run()
            except BaseException as error:
                self.error = error

        self.thread = threading.Thread(target=work)
        self.thread.start()

    def end(self) -> BaseException | None:
        self.thread.join(60)
        assert not self.thread.is_alive(), "it does not end"
        return self.error


def numbers(trials: Any) -> list[Any]:
    return [(it.number, it.state.name, it.params, it.value, it.intermediate_values) for it in trials]


class AsByStudyOptimize(Scene):
    """One job at a time gives the trials that `Study.optimize` gives of the same curves."""

    pace = 0.001

    def compare(self, sampler: Callable[[], Any], pruner: Callable[[], Any], count: int = 14) -> list[Any]:
        def train(trial: Any) -> float:
            values = space(trial)
            for step, text in curve_of({"LR": str(values["LR"])}):
                trial.report(float(text), step)
                if trial.should_prune():
                    raise optuna.TrialPruned
            return float(text)

        made = [optuna.create_study(study_name="same", sampler=sampler(), pruner=pruner()) for _ in range(2)]
        made[0].optimize(train, n_trials=count)
        with in_step(self.cluster):
            self.optimize(made[1], n_trials=count, parallel=1)
        self.assertEqual(numbers(made[1].trials), numbers(made[0].trials))
        self.agrees(made[1])
        return [trial.state for trial in made[1].trials]

    def test_every_pruner(self) -> None:
        its = optuna.pruners
        pruners: tuple[Callable[[], Any], ...] = (
            lambda: its.MedianPruner(n_startup_trials=2),
            lambda: its.PercentilePruner(25.0, n_startup_trials=1, n_warmup_steps=2, interval_steps=2),
            lambda: its.SuccessiveHalvingPruner(min_resource=1, reduction_factor=3),
            lambda: its.HyperbandPruner(min_resource=1, max_resource=9),
            lambda: its.ThresholdPruner(upper=1.5, n_warmup_steps=3),
            lambda: its.PatientPruner(its.MedianPruner(n_startup_trials=1), patience=0),
            lambda: its.WilcoxonPruner(p_threshold=0.4),
            its.NopPruner,
        )
        for pruner in pruners:
            with self.subTest(pruner=type(pruner()).__name__):
                states = self.compare(lambda: optuna.samplers.RandomSampler(seed=7), pruner)
                self.assertIn(TrialState.COMPLETE, states)
                self.assertEqual(TrialState.PRUNED in states, not isinstance(pruner(), its.NopPruner))

    def test_every_sampler(self) -> None:
        its = optuna.samplers
        grid = {"lr": [1e-4, 1e-3, 1e-2], "layers": [1, 2]}
        samplers: tuple[Callable[[], Any], ...] = (
            lambda: its.RandomSampler(seed=1),
            lambda: its.GridSampler(grid, seed=1),
            lambda: its.TPESampler(seed=1, n_startup_trials=4),
            lambda: its.CmaEsSampler(seed=1, n_startup_trials=2),
            lambda: its.QMCSampler(seed=1),
            lambda: its.PartialFixedSampler({"layers": 2}, its.RandomSampler(seed=1)),
            lambda: its.NSGAIISampler(seed=1, population_size=4),
        )
        for sampler in samplers:
            with self.subTest(sampler=type(sampler()).__name__):
                is_grid = isinstance(sampler(), its.GridSampler)
                states = self.compare(sampler, lambda: optuna.pruners.MedianPruner(n_startup_trials=3))
                # The grid stops the study when it has been through.
                self.assertEqual(len(states), 6 if is_grid else 14)

    def test_brute_force_is_through_when_it_has_been_everywhere(self) -> None:
        def few(trial: Any) -> dict[str, object]:
            return {"LR": trial.suggest_categorical("lr", [1e-4, 1e-3, 1e-2])}

        for parallel in (1, 2):
            study = optuna.create_study(sampler=optuna.samplers.BruteForceSampler(seed=1), pruner=optuna.pruners.NopPruner())
            self.optimize(study, space=few, n_trials=20, parallel=parallel)
            self.assertEqual({trial.params["lr"] for trial in study.trials}, {1e-4, 1e-3, 1e-2})
            self.agrees(study)


class Followed(Scene):
    """What a study is told of jobs, whatever becomes of them."""

    def test_several_jobs_at_once_and_their_pruner(self) -> None:
        study = optuna.create_study(pruner=optuna.pruners.SuccessiveHalvingPruner(min_resource=1, reduction_factor=3))
        with in_step(self.cluster):
            self.optimize(study, n_trials=20, parallel=5)
        self.assertEqual(len(study.trials), 20)
        self.agrees(study)
        self.assertLessEqual(self.cluster.most_at_once, 5)
        self.assertGreater(len(self.cluster.stops), 3)
        for name, body in self.cluster.stops:
            trial = study.trials[self.cluster.jobs[name].number]
            step, value = list(trial.intermediate_values.items())[-1]
            said = f"SuccessiveHalvingPruner of Optuna: loss {value:g} at step {step}"
            self.assertEqual((trial.state, body["reason"], body["message"]), (TrialState.PRUNED, "Pruned", said))

    def test_a_stream_that_breaks_goes_on_where_it_was(self) -> None:
        # More than a stream begins with, so that each tells something new.
        self.cluster.cut_after = 14
        warnings.simplefilter("error")
        study = optuna.create_study(pruner=optuna.pruners.MedianPruner(n_startup_trials=2))
        self.optimize(study, n_trials=8)
        self.agrees(study)
        self.assertGreater(self.cluster.streams, 2)

    def test_a_log_that_cannot_be_read_is_told_and_delays_no_other(self) -> None:
        self.cluster.unread = {0}
        study = optuna.create_study(pruner=optuna.pruners.NopPruner())
        with self.assertLogs("optuna.milepost", "WARNING") as logs:
            search = self.in_background(study, n_trials=4, parallel=2)
            # Its own has ended by then, too.
            self.until(lambda: sum(job.state[0] == "Succeeded" for job in self.cluster.jobs.values()) == 4)
            self.until(lambda: [trial.state.name for trial in study.trials] == ["RUNNING"] + 3 * ["COMPLETE"])
            with self.cluster.news:
                self.cluster.unread = set()
                self.cluster.news.notify_all()
            self.assertIsNone(search.end())
        self.agrees(study)
        said = "WARNING:optuna.milepost:What trial 0 pushes is waited for: the observation log is out of reach: down"
        self.assertEqual(logs.output, [said])

    def test_a_step_is_the_pushed_one_or_the_reports_place_and_its_first_value_counts(self) -> None:
        curves: list[list[tuple[int | None, str]]] = [
            [(None, "4.0"), (None, "3.0"), (None, "2.0")],
            [(0, "4.0"), (5, "3.0"), (0, "9.0"), (5, "1.0"), (7, "2.5")],
            [(1, "nan"), (2, "inf"), (3, "2.0"), (4, "no number")],
        ]
        self.cluster.changes_jobs = lambda job: setattr(job, "curve", curves[job.number])
        warnings.simplefilter("error")
        study = optuna.create_study(pruner=optuna.pruners.NopPruner())
        self.optimize(study, n_trials=3, parallel=1)
        told = [trial.intermediate_values for trial in study.trials]
        self.assertEqual(told[:2], [{1: 4.0, 2: 3.0, 3: 2.0}, {0: 4.0, 5: 3.0, 7: 2.5}])
        self.assertTrue(math.isnan(told[2][1]) and told[2][2] == math.inf and told[2][3] == 2.0 and len(told[2]) == 3)
        self.assertEqual([trial.value for trial in study.trials], [2.0, 2.5, 2.0])

    def test_each_end_of_a_job_is_told_as_optuna_means_it(self) -> None:
        failed, stopped = ("Failed", "BackoffLimitExceeded", "node-0 exited 3"), ("EarlyStopped", "Request", "by hand")
        for end, curve, state, value, why in (
            (None, [(1, "2.0"), (2, "1.0")], TrialState.COMPLETE, 1.0, None),
            (None, [(1, "2.0"), (2, "inf")], TrialState.COMPLETE, math.inf, None),
            (stopped, [(1, "2.0"), (2, "1.5")], TrialState.PRUNED, 1.5, None),
            (stopped, [], TrialState.PRUNED, None, None),
            (failed, [(1, "2.0")], TrialState.FAIL, None, "its job s-.* failed: BackoffLimitExceeded: node-0 exited 3"),
            (None, [], TrialState.FAIL, None, "has never pushed loss"),
            (None, [(1, "2.0"), (2, "nan")], TrialState.FAIL, None, "has at last pushed NaN as loss"),
        ):  # fmt: skip
            def change(job: FakeJob, end: Any = end, curve: Any = curve) -> None:
                job.curve, job.end = curve, end or job.end

            with self.subTest(end=end, curve=curve):
                self.cluster.changes_jobs = change
                study = optuna.create_study(study_name="s", pruner=optuna.pruners.NopPruner())
                self.optimize(study, n_trials=2)
                self.assertEqual([(it.state, it.value) for it in study.trials], [(state, value)] * 2)
                again = optuna.create_study(study_name="s", pruner=optuna.pruners.NopPruner())
                if why is None:
                    self.optimize(again, n_trials=1, catch=())
                else:
                    with self.assertRaisesRegex(TrialFailed, why):
                        self.optimize(again, n_trials=1, catch=())
                self.assertEqual(again.trials[0].state, state)

    def test_a_job_that_is_deleted_fails_its_trial_and_is_not_made_again(self) -> None:
        self.cluster.runs.clear()
        study = optuna.create_study()
        search = self.in_background(study, n_trials=2, parallel=2)
        self.until(lambda: len(self.cluster.jobs) == 2)
        gone = self.cluster.made[0]
        self.cluster.delete(gone)
        self.until(lambda: study.trials[0].state == TrialState.FAIL)
        self.cluster.runs.set()
        self.assertIsNone(search.end())
        self.assertEqual([it.state for it in study.trials], [TrialState.FAIL, TrialState.COMPLETE])
        self.assertEqual(len(self.cluster.made), 2)

    def test_a_job_that_has_ended_before_its_stop_counts_by_its_end(self) -> None:
        self.cluster.always["stop"] = 409, "the job has ended"
        study = optuna.create_study(pruner=optuna.pruners.ThresholdPruner(upper=-1.0))
        self.optimize(study, n_trials=2)
        self.assertEqual([it.state for it in study.trials], [TrialState.COMPLETE] * 2)
        self.assertEqual([len(it.intermediate_values) for it in study.trials], [STEPS] * 2)

    def test_what_is_refused_for_a_while_is_asked_again(self) -> None:
        self.cluster.refusals["create"] = [(403, "forbidden: exceeded quota: q"), (403, "exceeded quota: q"), (500, "no leader")]
        self.cluster.refusals["observations"] = [(503, "no replica leads")]
        self.cluster.refusals["stop"] = [(429, "slow down")]
        study = optuna.create_study(pruner=optuna.pruners.ThresholdPruner(upper=-1.0))
        self.cluster.may_advance = lambda job: len(job.rows) == 0
        with self.assertLogs("optuna.milepost", "INFO") as logged:
            self.optimize(study, n_trials=2)
        self.assertEqual([it.state for it in study.trials], [TrialState.PRUNED] * 2)
        self.assertEqual(len(self.cluster.made), 2)
        self.assertRegex("\n".join(logged.output), "(?s)no replica leads.*waits: .*no leader.*waits: .*slow down")

    def test_variables_that_are_not_valid_fail_their_trial(self) -> None:
        self.cluster.refusals["create"] = []
        study = optuna.create_study()

        def refuse(_: Any, trial: Any) -> None:
            if trial.number == 0:
                self.cluster.refusals["create"] = [(422, "spec.trainer.env[3]: Invalid value")]

        self.optimize(study, n_trials=3, parallel=1, callbacks=[refuse])
        self.assertEqual([it.state.name for it in study.trials], ["COMPLETE", "FAIL", "COMPLETE"])


class Ended(Scene):
    """What ends a search, and what becomes of its jobs."""

    def test_callbacks_and_stop(self) -> None:
        seen: list[Any] = []
        for callback, count in (
            (lambda study, trial: study.stop() if trial.number == 2 else None, 3),
            (MaxTrialsCallback(4, states=None), 4),
        ):
            study = optuna.create_study(pruner=optuna.pruners.NopPruner())
            self.optimize(study, n_trials=30, parallel=1, callbacks=[callback, lambda _, trial: seen.append(trial.state)])
            self.assertEqual([it.state for it in study.trials], [TrialState.COMPLETE] * count)
            # Outside of a search Optuna's own is there again.
            with self.assertRaisesRegex(RuntimeError, "is supposed to be invoked"):
                study.stop()
        self.assertEqual(seen, [TrialState.COMPLETE] * 7)

    def test_a_study_that_is_saved_by_a_callback_can_be_read(self) -> None:
        saved: list[bytes] = []
        study = optuna.create_study(pruner=optuna.pruners.NopPruner())
        self.optimize(study, n_trials=1, callbacks=[lambda study, _: saved.append(pickle.dumps(study))])
        read = pickle.loads(saved[0])
        read.optimize(lambda trial: float(trial.number), n_trials=5, callbacks=[MaxTrialsCallback(3)])
        self.assertEqual(len(read.trials), 3)

    def test_after_its_time_no_trial_is_asked_for(self) -> None:
        study = optuna.create_study()
        self.optimize(study, n_trials=3, timeout=0.0)
        self.assertEqual(study.trials, [])
        first = self.in_background(study, n_trials=None, timeout=0.5, parallel=1)
        self.assertIsNone(first.end())
        self.assertTrue(study.trials and all(trial.state.is_finished() for trial in study.trials))

    def interrupted(self, study: optuna.Study, **options: Any) -> None:
        """Interrupts a search, as Ctrl-C does, when its three jobs run."""
        self.cluster.may_advance = lambda job: not job.rows

        def interrupt() -> None:
            self.until(lambda: [len(trial.intermediate_values) for trial in study.trials] == [1, 1, 1])
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

        sender = threading.Thread(target=interrupt)
        sender.start()
        with self.assertRaises(KeyboardInterrupt):
            self.optimize(study, **options)
        sender.join()
        self.cluster.may_advance = lambda job: True

    def test_ctrl_c_stops_the_jobs(self) -> None:
        study = optuna.create_study()
        self.interrupted(study)
        self.assertEqual([(it.state.name, it.value) for it in study.trials], [("FAIL", None)] * 3)
        self.assertEqual({body["reason"] for _, body in self.cluster.stops}, {"Interrupted"})
        self.assertEqual(len(self.cluster.stops), 3)
        self.optimize(study)
        self.assertEqual(len(self.cluster.made), 6)

    def test_or_keeps_them_for_the_next_call(self) -> None:
        study = optuna.create_study()
        self.interrupted(study, on_interrupt="keep")
        self.assertEqual([it.state for it in study.trials], [TrialState.RUNNING] * 3)
        self.assertEqual(self.cluster.stops, [])
        self.optimize(study)
        self.agrees(study)
        self.assertEqual((len(study.trials), len(self.cluster.made)), (6, 6))

    def test_an_error_of_space_or_of_a_callback_ends_it(self) -> None:
        class Odd(Exception):
            pass

        def fails(*_: Any) -> Any:
            raise Odd

        for options in ({"space": fails}, {"callbacks": [fails]}):
            study = optuna.create_study()
            with self.assertRaises(Odd):
                self.optimize(study, **options)
            # A job that has ended meanwhile is told of by the next call.
            left = [self.cluster.jobs[it.user_attrs["milepost:job"]] for it in study.trials if not it.state.is_finished()]
            self.assertTrue(all(job.state[0] == "Succeeded" for job in left))
        study = optuna.create_study()
        self.optimize(study, space=fails, catch=Odd)
        self.assertEqual([it.state for it in study.trials], [TrialState.FAIL] * 6)


class Resumed(Scene):
    """A search that goes on in another process."""

    def test_n_trials_counts_all_of_the_study_in_each_storage(self) -> None:
        storages: tuple[tuple[str, Callable[[], Any]], ...] = (
            ("sqlite", lambda: RDBStorage(f"sqlite:///{self.folder}/study.db")),
            ("journal", lambda: JournalStorage(JournalFileBackend(str(self.folder / "study.log")))),
        )
        for name, storage in storages:
            for count in (3, 7):
                # A trial that others have added is none of the search's.
                study = optuna.create_study(study_name=name, storage=storage(), load_if_exists=True)
                if count == 3:
                    study.add_trial(optuna.create_trial(value=1.0))
                self.optimize(study, n_trials=count)
            ids = {trial.user_attrs.get("milepost:job", "none").rpartition("-")[0] for trial in study.trials}
            self.assertEqual(ids, {"", f"{name}-{study.user_attrs['milepost:id']}"})
            self.assertEqual(len(study.trials), 8)

    def test_trials_that_were_left_without_a_job(self) -> None:
        study = optuna.create_study(pruner=optuna.pruners.NopPruner())
        self.optimize(study, n_trials=1)
        # Killed right after it was asked for, after its parameters, and within them; and one whose job was deleted meanwhile.
        nothing, whole, half, gone = (study.ask() for _ in range(4))
        space(whole)
        half.suggest_float("lr", 1e-5, 1e-1, log=True)
        space(gone)
        gone.set_user_attr("milepost:job", f"{study.trials[0].user_attrs['milepost:job'][:-1]}{gone.number}")
        gone.set_user_attr("milepost:uid", "uid-of-another-day")
        self.optimize(study, n_trials=4)
        states = [trial.state.name for trial in study.trials]
        self.assertEqual(states, ["COMPLETE", "FAIL", "COMPLETE", "FAIL", "FAIL", "COMPLETE"])
        self.optimize(study, n_trials=4)
        self.assertEqual(len(study.trials), 6)
        trial = study.trials[whole.number]
        self.assertEqual(self.cluster.jobs[trial.user_attrs["milepost:job"]].variables["LR"], str(whole.params["lr"]))
        self.assertEqual(len(self.cluster.made), 3)

    def test_a_decision_that_was_not_carried_out_is_carried_out(self) -> None:
        self.cluster.may_advance = lambda job: len(job.rows) < 3
        study = optuna.create_study(pruner=optuna.pruners.ThresholdPruner(upper=-1.0))
        self.cluster.always["stop"] = 503, "no replica leads"
        self.cluster.changes_jobs = lambda job: None
        search = self.in_background(study, n_trials=1)
        self.until(lambda: study.trials and "milepost:pruned" in study.trials[0].user_attrs)
        self.cluster.always["create"] = self.cluster.always["observations"] = self.cluster.always["stop"] = 401, "expired"
        self.assertIsInstance(search.end(), ReadingError)
        self.cluster.always.clear()
        self.assertEqual(study.trials[0].state, TrialState.RUNNING)
        again = optuna.create_study(pruner=optuna.pruners.NopPruner())
        study.pruner = again.pruner
        self.optimize(study, n_trials=1)
        self.assertEqual([body["message"].split(" at ")[0][:24] for _, body in self.cluster.stops], ["ThresholdPruner of Optun"])
        # What came until it was stopped is known, and was not judged again.
        self.assertEqual((study.trials[0].state, study.trials[0].last_step), (TrialState.PRUNED, 3))

    def test_killed_at_ten_points_it_has_made_each_job_once_and_told_each_trial_once(self) -> None:
        storage, told = f"sqlite:///{self.folder}/study.db", self.folder / "told"
        points = [
            ("before", "ask", 5), ("after", "ask", 3), ("after", "suggest", 3), ("after", "remember", 3), ("before", "create", 3),
            ("after", "create", 2), ("after", "report", 8), ("after", "judge", 6), ("before", "stop", 1), ("after", "stop", 1),
            ("before", "tell", 2), ("after", "tell", 1),
        ]  # fmt: skip
        for point in [*points, None]:
            its = {"url": self.cluster.url, "ca": str(self.cluster.ca), "storage": storage, "told": str(told), "point": point}
            ended = subprocess.run(
                [sys.executable, "-m", "tests.killed_search", json.dumps(its)], capture_output=True, text=True, timeout=120
            )
            self.assertEqual(ended.returncode, 9 if point else 0, f"{point}: {ended.stderr}")
        study = optuna.load_study(study_name="killed", storage=storage)
        # Those that were asked for, and had no parameters yet, could get no job: others were asked for in their place.
        lost = [trial for trial in study.trials if "milepost:job" not in trial.user_attrs]
        self.assertTrue(all(trial.state == TrialState.FAIL and len(trial.params) < 2 for trial in lost), lost)
        self.assertEqual([trial.number for trial in study.trials], [*range(40 + len(lost))])
        self.assertEqual((len(set(self.cluster.made)), len(self.cluster.made)), (40, 40))
        self.assertTrue(all(trial.state.is_finished() for trial in study.trials))
        lines = [line.split()[0] for line in told.read_text().splitlines()]
        self.assertEqual(len(set(lines)), len(lines), "told twice")
        for trial in study.trials:
            if trial not in lost:
                self.assertIn(trial.state, (TrialState.COMPLETE, TrialState.PRUNED))
                job = self.cluster.jobs[trial.user_attrs["milepost:job"]]
                self.assertEqual(job.variables["LR"], str(trial.params["lr"]))
                self.assertEqual(trial.state == TrialState.PRUNED, job.state[0] == "EarlyStopped")
                pushed = {row["step"]: float(row["value"]) for row in job.rows}
                self.assertTrue(trial.intermediate_values.items() <= pushed.items())


class Watched(unittest.TestCase):
    """What streams are asked for."""

    def test_positions_of_jobs_that_went_during_a_break_are_dropped(self) -> None:
        def event(name: str, uid: str = "", at: str = "") -> str:
            return f"event: {name}\ndata: {json.dumps({'job': {'uid': uid}, 'continue': at} if uid else {})}\n\n"

        a, b, synced = event("observation", "a", "1.1"), event("observation", "b", "2.1"), event("synced")
        # The second one ends before it has told all.
        streams = [a + b + synced, a, a + synced + event("observation", "c", "3.1"), a + synced]
        asked: list[dict[str, str]] = []

        @contextmanager
        def opens(positions: dict[str, str]) -> Iterator[tuple[Any, Any]]:
            asked.append(dict(positions))
            yield io.BytesIO("".join(streams[len(asked) - 1 : len(asked)]).encode()), mock.Mock()

        watch = Watch(opens)
        self.addCleanup(watch.close)
        for _ in range(3):
            event_name = ""
            while event_name != "synced":
                event_name, _ = watch.next(10) or self.fail("no event")
        both = {"a": "1.1", "b": "2.1"}
        self.assertEqual(asked, [{}, both, both, {"a": "1.1", "c": "3.1"}])


class Refused(Scene):
    """Bad input: each is an error that says what to do."""

    def refused(self, kind: type[Exception], words: str, study: optuna.Study | None = None, **options: Any) -> None:
        study = study or optuna.create_study()
        with self.assertRaisesRegex(kind, words) as caught:
            self.optimize(study, **options)
        self.assertNotIn(TOKEN, str(caught.exception))
        self.assertEqual(self.cluster.made, [])
        self.assertEqual([it for it in study.trials if it.state == TrialState.RUNNING], [])

    def test_studies(self) -> None:
        self.refused(SearchError, "2 objectives", optuna.create_study(directions=["minimize", "maximize"]))
        beats = RDBStorage(f"sqlite:///{self.folder}/beats.db", heartbeat_interval=60)
        self.refused(SearchError, "heartbeats of RDBStorage: open it without", optuna.create_study(storage=beats))
        optuna.create_study(study_name="s", storage=f"sqlite:///{self.folder}/read.db")
        read = RDBStorage(f"sqlite:///file:{self.folder}/read.db?mode=ro&uri=true", skip_compatibility_check=True, skip_table_creation=True)
        self.refused(SearchError, "storage cannot be written: .*readonly database", optuna.load_study(study_name="s", storage=read))
        # One that has what is written of it already.
        self.optimize(optuna.load_study(study_name="s", storage=f"sqlite:///{self.folder}/read.db"), n_trials=0)
        self.refused(SearchError, "storage cannot be written: .*readonly database", optuna.load_study(study_name="s", storage=read))
        known = optuna.create_study()
        self.optimize(known, n_trials=0)
        self.refused(SearchError, "milepost:objective 'minimize loss', and not 'minimize accuracy'", known, objective="accuracy")
        self.refused(SearchError, "milepost:jobs 'trainjobs.* in team', and not 'trainjobs.* in other'", known, namespace="other")
        annotated = {**JOB, "metadata": {"namespace": "team", "annotations": {"trainer.kubeflow.org/objective": "maximize loss"}}}
        self.refused(SearchError, "is to minimize loss, and the job is annotated with maximize loss", job=annotated)

    def test_jobs(self) -> None:
        file = self.folder / "job.yaml"
        file.write_text("kind: TrainJob\n---\nkind: TrainJob\n")
        bad = self.folder / "bad.yaml"
        bad.write_text("a: [")
        for job, words in (
            (7, "int is no job: give a file"),
            (str(self.folder / "none.yaml"), "cannot be read from .*none.yaml: .*No such file"),
            (bad, "cannot be read from .*bad.yaml"),
            (file, "has 2 objects"),
            ({"apiVersion": "batch/v1", "kind": "Job", "spec": {}}, "is no TrainJob and no job of kubeflow.org/v1"),
            ({**JOB, "spec": None}, "is no TrainJob"),
            ({**JOB, "apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "spec": {"pytorchReplicaSpecs": {"Master": {}}}},
             "no variables can be given"),
        ):  # fmt: skip
            with self.subTest(job=job):
                self.refused(ReadingError, words, job=job)

    def test_the_cluster(self) -> None:
        for kind, code, text, words in (
            ("create", 403, "may not create", "may not create: ask for the right to create trainjobs.trainer.kubeflow.org in team"),
            ("create", 403, 'admission webhook "v" denied the request: no runtime', "the TrainJob is not valid: .*: no runtime$"),
            ("create", 404, "404", "no kind trainjobs.trainer.kubeflow.org, or no namespace team: .*Milepost installed"),
            ("create", 422, "spec.runtimeRef: not found", "the TrainJob is not valid: .*runtimeRef: not found"),
            ("observations", 401, "no", "does not accept this user's token"),
            ("observations", 403, "may not list", "403 may not list"),
            ("observations", 422, "1,200 jobs match: narrow the selector", "narrow the selector"),
        ):
            with self.subTest(kind=kind, code=code):
                self.cluster.always = {kind: (code, text)}
                self.refused(ReadingError, words)
        self.cluster.always = {}
        expired = api_of(self.cluster, "expired")
        self.addCleanup(expired.close)
        self.refused(Unreachable, "does not know this user: is the kubeconfig's token still valid", api=expired)
        with mock.patch.object(self.cluster, "url", "https://127.0.0.1:1"):
            self.refused(Unreachable, "the manager cannot be read: ConnectionRefusedError")

    def test_arguments(self) -> None:
        for options in ({"parallel": 0}, {"n_trials": 1001}, {"n_trials": -1}, {"on_interrupt": "maybe"}):
            self.refused(SearchError, "parallel is 1 or more", **options)

        def named(*names: str) -> Callable[[Any], dict[str, object]]:
            return lambda trial: {name: trial.suggest_float(name, at, at + 0.5) for at, name in enumerate(names)}

        self.refused(SearchError, "'a b' cannot be a variable", space=named("a b"))
        self.refused(SearchError, "two parameters would be the variable KUBEFLOW_TRAINER_OPT_LR", space=named("lr", "LR"))

    def test_a_study_that_is_being_optimized(self) -> None:
        study = optuna.create_study()

        def again(*_: Any) -> None:
            self.optimize(study)

        with self.assertRaisesRegex(SearchError, "is being optimized already"):
            self.optimize(study, callbacks=[again])

    def test_without_optuna_a_line_says_what_to_install(self) -> None:
        others = {name: None for name in sys.modules if name.startswith("milepost.search.")}
        with mock.patch.dict(sys.modules, {**others, "optuna": None}):
            for name in others:
                del sys.modules[name]
            with self.assertRaisesRegex(milepost.NotInstalled, r'optimizing a study needs .* "milepost\[optuna\]"'):
                self.optimize(mock.Mock())


if __name__ == "__main__":
    unittest.main()
