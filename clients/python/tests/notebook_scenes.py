"""Scenes of jobs in a notebook, with Kubernetes' client, pandas and IPython themselves."""

import ast
import contextlib
import io
import re
import sys
import unittest
import warnings
from pathlib import Path
from typing import Any
from unittest import mock

import pandas
from IPython.core.interactiveshell import InteractiveShell
from kubernetes import client

import milepost
from milepost.reading.frames import Over
from milepost.reading.job import Job
from milepost.reading.listing import ListedJob

ROOT = Path(__file__).parent.parent


def curve(name: str, *points: tuple[int, Any], **more: Any) -> dict[str, Any]:
    return {"name": name, "points": [[time, value, value, value] for time, value in points], **more}


class FrameTest(unittest.TestCase):
    def setUp(self) -> None:
        self.curves: dict[str, list[dict[str, Any]]] = {}
        got = mock.patch.object(client.CustomObjectsApi, "get_namespaced_custom_object", return_value={"status": {}})
        read = mock.patch("milepost.reading.job.curves_of", lambda api, namespace, name, *_: self.curves[name])
        for one in (got, read):
            one.start()
            self.addCleanup(one.stop)

    def job(self, name: str, *curves: dict[str, Any]) -> Job:
        self.curves[name] = list(curves)
        return Job(f"ns/{name}", api=client.ApiClient())

    def test_jobs_that_report_at_different_times_are_lines_without_gaps(self) -> None:
        a = self.job("a", curve("loss", (1000, 4.0), (3000, 2.0), (5000, None)))
        b = self.job("b", curve("loss", (9000, 8.0), (10000, 6.0), (12000, 1.0)))
        late = self.job("late", curve("progress", (1, 1), isProgress=True))
        frame = milepost.compare(a, b, late, metric="loss")
        self.assertEqual(list(frame.index), [0.0, 1.0, 2.0, 3.0])
        self.assertEqual(frame["ns/a"].dropna().to_dict(), {0.0: 4.0, 1.0: 3.0, 2.0: 2.0})
        self.assertEqual(frame["ns/b"].tolist(), [8.0, 6.0, 3.5, 1.0])
        self.assertTrue(frame["ns/late"].isna().all())
        lines = frame.plot().get_lines()
        self.assertEqual([line.get_label() for line in lines], ["ns/a", "ns/b", "ns/late"])

    def test_a_metric_that_no_job_has_is_told_with_those_that_there_are(self) -> None:
        a = self.job("a", curve("loss", (1, 1)), curve("val\x1b/acc", (1, 1)), curve("step", (1, 1), isStep=True))
        b = self.job("b", curve("accuracy", (1, 1)))
        none = self.job("none")
        for jobs, metric, want in (
            ((a, b), "lss", "no metric lss; did you mean loss?"),
            ((a, b), "perplexity", r"no metric perplexity; there are accuracy, loss, val\x1b/acc"),
            ((none,), "loss", "no metric loss; these jobs have reported none yet"),
        ):
            with self.subTest(metric=metric), self.assertRaises(milepost.MetricNotFound) as raised:
                milepost.compare(*jobs, metric=metric)
            self.assertEqual(str(raised.exception), want)
        with self.assertRaisesRegex(milepost.BadName, "Give the names of jobs"):
            milepost.compare(metric="loss")

    def test_metrics_are_drawn_as_lines_and_read_as_they_came(self) -> None:
        job = self.job("a", curve("loss", (0, 1.0), (2000, 3.0)), curve("val", (1000, 5.0)), curve("p", (0, 1), isProgress=True))
        self.assertEqual(list(job.metrics().columns), ["loss", "val"])
        self.assertEqual(int(job.metrics().isna().sum().sum()), 3)
        drawn = {line.get_label(): list(line.get_ydata()) for line in job.plot().get_lines()}
        self.assertEqual(drawn["loss"], [1.0, 2.0, 3.0])
        with self.assertRaisesRegex(milepost.MetricNotFound, "ns/none has reported no metrics"):
            self.job("none").plot()

    def test_a_row_has_the_step_of_the_training_beside_a_metric_of_that_name(self) -> None:
        steps = curve("step", (0, 10), (2000, 30), (3000, 40), isStep=True)
        loss = curve("loss", (0, 4.0), (1000, 3.0), (2000, 2.0))
        for name, curves, want in (
            ("plain", (loss, steps), {"step": [10, None, 30], "loss": [4, 3, 2]}),
            ("named", (loss, curve("step", (1000, 7)), steps),
             {"step": [10, None, 30], "loss": [4, 3, 2], "step (metric)": [None, 7, None]}),
            ("metric alone", (curve("step", (1000, 7)),), {"step": [7]}),
            ("steps alone", (steps,), {"step": []}),
            ("nothing", (), {}),
        ):  # fmt: skip
            with self.subTest(name):
                frame = self.job("a", *curves).metrics()
                self.assertEqual(list(frame.columns), list(want))
                self.assertEqual(frame.index.name, "time")
                for column, values in want.items():
                    self.assertEqual([None if pandas.isna(one) else one for one in frame[column]], values, column)
        job = self.job("a", loss, curve("val", (1000, 5.0)), steps)
        self.assertEqual([str(line.get_xdata()) for line in job.plot().get_lines()], ["[10. 20. 30.]"] * 2)
        seconds = job.plot(over="time").get_lines()
        self.assertEqual([str(line.get_xdata()) for line in seconds], ["[0. 1. 2.]"] * 2)
        self.assertEqual(list(seconds[1].get_ydata())[1], 5.0)

    def test_what_was_reported_as_no_finite_number_is_a_row_that_says_so(self) -> None:
        loss = curve("loss", (0, 4.0), (3000, 1.0))
        codes = curve("loss", (1000, 0), (2000, 1), isNonFinite=True)
        steps = curve("step", (0, 10), (1000, 20), (2000, 30), (3000, 40), isStep=True)
        val = {"name": "val", "points": [[1000, -1, -1, -1, 15], [2000, -1, -1, -1]], "isNonFinite": True}
        acc = curve("acc", (0, 0.1), (1000, 0.2), (2000, 0.3))
        none: dict[str, list[Any]] = {"step": [10, 20, 30, 40], "loss": [4, "nan", "inf", 1], "nonfinite": ["", "loss", "loss", ""]}
        cases: tuple[tuple[str, tuple[Any, ...], dict[str, list[Any]]], ...] = (
            ("steps", (loss, codes, steps), {**none}),
            ("a gap beside it", (acc, loss, codes, steps), {"step": none["step"], "acc": [0.1, 0.2, 0.3, "nan"], **none}),
            ("without steps", (loss, codes), {it: none[it] for it in ("loss", "nonfinite")}),
            ("a number of the same time", (curve("loss", (1000, 2.0)), codes), {"loss": [2, "inf"], "nonfinite": ["loss", "loss"]}),
            ("nothing else, at steps of its own", (curve("val"), val, codes, steps),
             {"step": [15, 20, 30], "val": ["-inf", "nan", "-inf"], "loss": ["nan", "nan", "inf"], "nonfinite": ["val", "loss", "val, loss"]}),
            ("a metric of that name", (curve("nonfinite", (1000, 5.0)), codes),
             {"nonfinite (metric)": [5, "nan"], "loss": ["nan", "inf"], "nonfinite": ["loss", "loss"]}),
            ("none at last", (loss, curve("loss", isNonFinite=True)), {"loss": [4, 1]}),
        )  # fmt: skip
        for name, curves, want in cases:
            with self.subTest(name), warnings.catch_warnings():
                warnings.simplefilter("error")
                frame = self.job("a", *curves).metrics()
                self.assertEqual((list(frame.columns), frame.index.name), (list(want), "time"))
                texts = frame.pop("nonfinite") if "nonfinite" in frame else []
                self.assertEqual(list(texts), want.pop("nonfinite", []))
                for column, values in want.items():
                    self.assertEqual([str(one) for one in frame[column]], [str(float(one)) for one in values], column)
        # A line has numbers only.
        job = self.job("a", loss, codes, steps)
        self.assertEqual(milepost.compare(job, metric="loss")["ns/a"].to_dict(), {10: 4, 40: 1})
        with self.assertRaisesRegex(milepost.MetricNotFound, "ns/a has reported no finite numbers"):
            self.job("a", curve("loss"), codes).plot()

    def test_a_metric_that_is_pushed_seldom_has_the_step_at_which_it_was_pushed(self) -> None:
        loss = curve("loss", (0, 9.0), (1000, 8.0), (2000, 7.0))
        steps = curve("step", (0, 90), (1000, 190), (2000, 290), isStep=True)
        val = {"name": "val/loss", "points": [[0, 5, 6, 5, 50], [1000, 4, 4, 4, 190], [2000, 3, 3, 3, 200]]}
        job = self.job("a", loss, val, {**val, "name": "val/acc"}, steps)
        frame = job.metrics()
        self.assertEqual(list(frame["step"]), [50, 90, 190, 200, 290])
        self.assertEqual(frame["val/loss"].dropna().to_list(), [5, 4, 3])
        self.assertEqual(frame.set_index("step")["val/acc"].dropna().to_dict(), {50: 5, 190: 4, 200: 3})
        self.assertEqual(frame.set_index("step")["loss"].dropna().to_dict(), {90: 9, 190: 8, 290: 7})
        compared = milepost.compare(job, metric="val/loss")["ns/a"]
        self.assertEqual(compared.to_dict(), {50: 5, 190: 4, 200: 3})

    def test_jobs_are_compared_over_steps_where_all_have_some(self) -> None:
        a = self.job("a", curve("loss", (1000, 8.0), (2000, 6.0)), curve("step", (1000, 0), (2000, 100), isStep=True))
        b = self.job("b", curve("loss", (0, 5.0), (50_000, 1.0)), curve("step", (0, 50), (50_000, 150), isStep=True))
        plain = self.job("plain", curve("loss", (7000, 3.0), (9000, 2.0)))
        late = self.job("late", curve("step", (1, 1), isStep=True))
        at = pandas.to_datetime([0, 1000, 2000, 50_000], unit="ms", utc=True)
        cases: list[tuple[tuple[Job, ...], Over | None, str, list[Any], list[Any]]] = [
            ((a, b), None, "step", [0, 50, 100, 150], [8, 7, 6, None]),
            ((a, b, late), None, "step", [0, 50, 100, 150], [8, 7, 6, None]),
            ((late, a), None, "step", [0, 100], [8, 6]),
            ((a, b), "step", "step", [0, 50, 100, 150], [8, 7, 6, None]),
            ((a, b), "time", "seconds", [0, 1, 50], [8, 6, None]),
            ((a, plain), None, "seconds", [0, 1, 2], [8, 6, None]),
            ((a, b, late), "wall clock", "time", list(at), [None, 8, 6, None]),
        ]
        for jobs, over, name, places, values in cases:
            with self.subTest(jobs=jobs, over=over):
                frame = milepost.compare(*jobs, metric="loss", over=over)
                self.assertEqual((frame.index.name, list(frame.index)), (name, places))
                self.assertEqual([None if pandas.isna(one) else one for one in frame["ns/a"]], values)
                self.assertEqual(list(frame.columns), [f"ns/{job.name}" for job in jobs])
        with self.assertRaisesRegex(milepost.MetricNotFound, '^ns/plain has pushed no steps: give over="time"$'):
            milepost.compare(a, plain, metric="loss", over="step")
        odd: Any = "epoch\x1b"
        with self.assertRaisesRegex(milepost.BadName, r"^over is 'step', 'time', 'wall clock', and not 'epoch\\+x1b'$"):
            milepost.compare(a, metric="loss", over=odd)
        self.job("none", curve("loss", (1000, None)), curve("step", (1000, 1), isStep=True))
        self.assertTrue(milepost.compare(Job("ns/none", api=client.ApiClient()), metric="loss").empty)

    def test_steps_that_came_again_are_those_of_the_newest_run(self) -> None:
        for name, steps, want in (
            ("restarted at a checkpoint", [0, 50, 100, 60, 80], {0: 0, 50: 1, 60: 3, 80: 4}),
            ("begun anew", [10, 20, 0, 5], {0: 2, 5: 3}),
            ("the same again", [10, 20, 20, 30], {10: 0, 20: 2, 30: 3}),
            ("without one, between and after", [10, None, 20, None], {10: 0, 15: 1, 20: 3}),
            ("without one before", [None, 10, 20], {10: 1, 20: 2}),
        ):
            known = [(at, step) for at, step in enumerate(steps) if step is not None]
            job = self.job("a", curve("loss", *enumerate(range(len(steps)))), curve("step", *known, isStep=True))
            with self.subTest(name):
                self.assertEqual(milepost.compare(job, metric="loss")["ns/a"].to_dict(), want)

    def test_jobs_of_a_list_are_compared_whatever_their_kind(self) -> None:
        self.job("a", curve("loss", (1000, 8.0)))
        listed = ListedJob("ns", "a", "pytorchjobs.kubeflow.org", "Running", metrics={"loss": 8.0})
        with mock.patch("milepost.reading.job.default_api", client.ApiClient):
            self.assertEqual(list(milepost.compare(listed, metric="loss").columns), ["ns/a"])
            self.assertEqual(milepost.job(listed).kind, "pytorchjobs.kubeflow.org")
        self.assertEqual(pandas.DataFrame([listed])["metrics"][0], {"loss": 8.0})


class NotebookTest(unittest.TestCase):
    def test_an_error_is_one_line(self) -> None:
        error = client.ApiException(status=404)
        found = {"items": [{"metadata": {"name": "softmax"}}]}
        shell = InteractiveShell.instance()
        out = io.StringIO()
        with (
            mock.patch.object(client.CustomObjectsApi, "get_namespaced_custom_object", side_effect=error),
            mock.patch.object(client.CustomObjectsApi, "list_namespaced_custom_object", return_value=found),
            contextlib.redirect_stdout(out), contextlib.redirect_stderr(out),
        ):  # fmt: skip
            shell.run_cell("import milepost, kubernetes.client\nmilepost.job('ns/softmx', api=kubernetes.client.ApiClient())")
        plain = re.sub(r"\x1b\[[\d;]*m", "", out.getvalue()).strip()
        self.assertEqual(plain, "JobNotFound: no TrainJob softmx in ns; did you mean softmax?")

    def test_the_extra_brings_what_reading_imports(self) -> None:
        packages = {"IPython": "ipython", "websocket": "websocket-client", "_typeshed": ""}
        names: set[str] = {"matplotlib"}
        for file in (ROOT / "src/milepost/reading").glob("*.py"):
            for node in ast.walk(ast.parse(file.read_text())):
                if isinstance(node, ast.Import):
                    names |= {alias.name.split(".")[0] for alias in node.names}
                elif isinstance(node, ast.ImportFrom) and node.level == 0:
                    names.add(str(node.module).split(".")[0])
        needed = {packages.get(name, name) for name in names - set(sys.stdlib_module_names)} - {""}
        said = re.search(r"optional-dependencies\.notebook = \[(.*)\]", (ROOT / "pyproject.toml").read_text())
        assert said is not None
        self.assertEqual({re.split(r"[><=\"]", one.strip(' "'))[0] for one in said[1].split(",")}, needed)


if __name__ == "__main__":
    unittest.main()
