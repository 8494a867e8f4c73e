"""Tests of the jobs of a search's trials, and of what their logs report. They need no packages."""

import copy
import sys
import unittest
from typing import Any

import milepost
from milepost.errors import ReadingError, SearchError
from milepost.search.reports import Reports
from milepost.search.trial_jobs import TrialJobs, search_name, variables


def train_job(**changes: Any) -> dict[str, Any]:
    spec = {"runtimeRef": {"name": "plain"}}
    return {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob", "metadata": {"name": "mine"}, "spec": spec, **changes}


def v1_job(kind: str, replicas: str, *containers: list[dict[str, Any]]) -> dict[str, Any]:
    names = ("Master", "Worker")
    specs = {name: {"template": {"spec": {"containers": its}}} for name, its in zip(names, containers, strict=False)}
    return {"apiVersion": "kubeflow.org/v1", "kind": kind, "spec": {replicas: specs, "runPolicy": {}}}


class TrialJobsTest(unittest.TestCase):
    def test_names(self) -> None:
        for study, want in (
            ("digits", "digits-0a1b2c3d"), ("My Study/No. 1", "my-study-no-1-0a1b2c3d"), ("2024 sweep", "study-2024-sweep-0a1b2c3d"),
            ("日本", "study-0a1b2c3d"), ("no-name-6a2c9e1e-7d5c-4f4e-9b2b", "no-name-6a2c9e1e-7d5c-4f4e-9b2-0a1b2c3d"),
            ("a" * 29 + "-b", "a" * 29 + "-0a1b2c3d"),
        ):  # fmt: skip
            with self.subTest(study=study):
                self.assertEqual(search_name(study, "0a1b2c3d"), want)

    def test_a_train_job_gets_variables_labels_and_annotations_and_keeps_its_own(self) -> None:
        template = train_job(metadata={"name": "mine", "namespace": "team", "uid": "u", "finalizers": ["f"], "labels": {"a": "b"},
                                       "annotations": {"c": "d", "trainer.kubeflow.org/trial-template": '{"x": 1}'}})  # fmt: skip
        template["spec"]["trainer"] = {"numNodes": 2, "env": [{"name": "LR", "value": "old"}, {"name": "KEEP", "value": "1"}]}
        before = copy.deepcopy(template)
        jobs = TrialJobs(template, "minimize loss")
        job = jobs.job("digits-0a1b2c3d", 7, {"LR": "0.1", "KUBEFLOW_TRAINER_OPT_LR": "0.1"})
        self.assertEqual(job, {
            "apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob",
            "metadata": {
                "name": "digits-0a1b2c3d-7",
                "labels": {"a": "b", "katib.kubeflow.org/experiment": "digits-0a1b2c3d", "trainer.kubeflow.org/optuna-trial": "7"},
                "annotations": {"c": "d", "trainer.kubeflow.org/trial-template": '{"x": 1}',
                                "trainer.kubeflow.org/objective": "minimize loss"},
            },
            "spec": {"runtimeRef": {"name": "plain"}, "trainer": {"numNodes": 2, "env": [
                {"name": "KEEP", "value": "1"}, {"name": "LR", "value": "0.1"}, {"name": "KUBEFLOW_TRAINER_OPT_LR", "value": "0.1"}]}},
        })  # fmt: skip
        self.assertEqual((template, jobs.namespace), (before, "team"))

    def test_one_without_a_trainer_gets_one_and_a_log(self) -> None:
        jobs = TrialJobs(train_job(), "maximize accuracy")
        for number in (0, 1):
            job = jobs.job("s", number, {"A": str(number)})
            self.assertEqual(job["spec"]["trainer"], {"env": [{"name": "A", "value": str(number)}]})
        self.assertEqual(job["metadata"]["annotations"]["trainer.kubeflow.org/trial-template"], "{}")
        self.assertIsNone(jobs.namespace)

    def test_in_a_job_of_the_v1_kinds_the_container_that_trains_has_them_in_each_replica(self) -> None:
        beside, trains = {"name": "proxy"}, {"name": "pytorch", "env": None}
        template = v1_job("PyTorchJob", "pytorchReplicaSpecs", [beside, trains], [{"name": "other"}, beside])
        jobs = TrialJobs(template, "minimize loss")
        self.assertEqual(jobs.kind, "pytorchjobs.kubeflow.org")
        spec = jobs.job("s", 0, {"A": "1"})["spec"]
        env = [{"name": "A", "value": "1"}]
        made = [it["template"]["spec"]["containers"] for it in spec["pytorchReplicaSpecs"].values()]
        # Without one of that name it is the first.
        self.assertEqual(made, [[beside, {"name": "pytorch", "env": env}], [{"name": "other", "env": env}, beside]])
        self.assertEqual(spec["runPolicy"], {})

    def test_what_is_no_job_is_refused(self) -> None:
        for template, words in (
            ({"kind": "TrainJob", "spec": {}}, "it needs apiVersion, kind and spec"),
            (train_job(apiVersion="other.org/v1"), "is no TrainJob and no job of kubeflow.org/v1"),
            (train_job(spec=[]), "it needs apiVersion, kind and spec"),
            (train_job(kind="Pod"), "is no TrainJob and no job of kubeflow.org/v1"),
            (train_job(spec={"trainer": {"env": {"A": "1"}}}), "no variables can be given to the job"),
            (v1_job("TFJob", "tfReplicaSpecs", []), "no variables can be given to the job"),
            (v1_job("TFJob", "otherSpecs", [{"name": "tensorflow"}]), "no variables can be given to the job"),
            (train_job(metadata={"annotations": {"trainer.kubeflow.org/objective": "maximize acc"}}), "make them agree"),
        ):
            with self.subTest(words=words), self.assertRaisesRegex(ReadingError, words):
                TrialJobs(template, "minimize loss").job("s", 0, {"A": "1"})
        TrialJobs(train_job(metadata={"annotations": {"trainer.kubeflow.org/objective": "Minimize  loss"}}), "minimize loss")

    def test_variables(self) -> None:
        for values, parameters, want in (
            ({"LR": 1e-05}, {"lr": 1e-05}, {"LR": "1e-05", "KUBEFLOW_TRAINER_OPT_LR": "1e-05"}),
            ({}, {"opt.b-1": True, "none": None}, {"KUBEFLOW_TRAINER_OPT_OPT.B-1": "True", "KUBEFLOW_TRAINER_OPT_NONE": "None"}),
            ({}, {"lr": 1, "LR": 1}, {"KUBEFLOW_TRAINER_OPT_LR": "1"}),
            ({"a b": 1}, {}, "'a b' cannot be a variable"),
            ({"1A": 1}, {}, "'1A' cannot be a variable"),
            ({"": 1}, {}, "'' cannot be a variable"),
            ({}, {"a/b": 1}, "'KUBEFLOW_TRAINER_OPT_A/B' cannot be a variable"),
            ({}, {"lr": 1, "LR": 2}, "two parameters would be the variable KUBEFLOW_TRAINER_OPT_LR"),
        ):
            with self.subTest(values=values, parameters=parameters):
                if isinstance(want, dict):
                    self.assertEqual(variables(values, parameters), want)
                else:
                    with self.assertRaisesRegex(SearchError, want):
                        variables(values, parameters)


class ModuleTest(unittest.TestCase):
    def test_it_is_there_without_an_import_of_its_own(self) -> None:
        sys.modules.pop("milepost.optuna", None)
        vars(milepost).pop("optuna", None)
        self.assertTrue(callable(milepost.optuna.optimize))


class ReportsTest(unittest.TestCase):
    def test_rows(self) -> None:
        reports = Reports("loss", [3])
        for row, want in (
            ({"name": "accuracy", "value": "1", "step": 1}, None),
            ({"name": "loss", "value": "0.5"}, (1, 0.5)),
            ({"name": "loss", "value": "0.4", "podUid": "a"}, None),
            ({"name": "loss", "value": "0.3", "podUid": "a"}, (2, 0.3)),
            ({"name": "loss", "value": "none", "podUid": "a"}, None),
            # Reported before, by another process.
            ({"name": "loss", "value": "0.2", "podUid": "a"}, None),
            ({"name": "loss", "value": "0.1", "podUid": "a", "step": 40}, (40, 0.1)),
            ({"name": "loss", "value": "-Infinity", "podUid": "a"}, (5, float("-inf"))),
            ({"name": "loss", "value": "7", "step": 40}, None),
        ):
            with self.subTest(row=row):
                self.assertEqual(reports.taken(row), want)
        self.assertEqual(reports.last, 7.0)


if __name__ == "__main__":
    unittest.main()
