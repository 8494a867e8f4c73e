"""Scenes of jobs in a notebook, with Kubernetes' client, pandas and IPython themselves."""

import ast
import contextlib
import io
import re
import sys
import unittest
from pathlib import Path
from typing import Any
from unittest import mock

import pandas
from IPython.core.interactiveshell import InteractiveShell
from kubernetes import client

import milepost
from milepost.reading.job import Job

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
        job = self.job("a", curve("loss", (0, 1.0), (2000, 3.0)), curve("val", (1000, 5.0)), curve("s", (0, 1), isStep=True))
        self.assertEqual(list(job.metrics().columns), ["loss", "val"])
        self.assertEqual(int(job.metrics().isna().sum().sum()), 3)
        drawn = {line.get_label(): list(line.get_ydata()) for line in job.plot().get_lines()}
        self.assertEqual(drawn["loss"], [1.0, 2.0, 3.0])
        with self.assertRaisesRegex(milepost.MetricNotFound, "ns/none has reported no metrics"):
            self.job("none").plot()


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
