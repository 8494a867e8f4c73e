"""Tests of which job is read and where, beside a stand-in of Kubernetes' client."""

import importlib
import json
import os
import ssl
import sys
import tempfile
import threading
import types
import unittest
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from unittest import mock

import milepost

from .test_drawing import HOSTILE, Elements
from .tls_server import make_authority


class ApiException(Exception):
    def __init__(self, status: int, body: str = "") -> None:
        super().__init__(f"({status})")
        self.status = status
        self.reason = "of HTTP"
        self.body = body


class ConfigException(Exception):
    pass


@dataclass
class SdkTrainJob:
    """As `kubeflow.trainer.types.TrainJob` of the Kubeflow SDK 0.5.0: it has no namespace, and its status is a word."""

    name: str
    runtime: Any = None
    steps: "list[Any]" = field(default_factory=list)
    num_nodes: int = 1
    creation_timestamp: Any = None
    status: str = "Running"


class ReadingTest(unittest.TestCase):
    def setUp(self) -> None:
        self.context: Any = {"cluster": "c", "namespace": "team"}
        self.slices: Any = []
        self.read: list[tuple[Any, ...]] = []
        self.status: Any = {"trainerStatus": {"progressPercentage": 45}}
        self.annotations: Any = None
        client: Any = types.ModuleType("kubernetes.client")
        client.ApiException = ApiException
        client.ApiClient = object
        client.CustomObjectsApi = lambda api: types.SimpleNamespace(
            get_namespaced_custom_object=self.get, list_namespaced_custom_object=self.list_jobs
        )
        self.there: Any = None
        client.DiscoveryV1Api = lambda api: types.SimpleNamespace(
            list_namespaced_endpoint_slice=lambda *_, **__: self.list()
        )
        self.published: Any = {"ca.crt": "ca"}
        self.asked: list[tuple[str, str]] = []
        client.CoreV1Api = lambda api: types.SimpleNamespace(read_namespaced_config_map=self.config_map)
        config: Any = types.ModuleType("kubernetes.config")
        config.ConfigException = ConfigException
        config.list_kube_config_contexts = self.contexts
        kubernetes: Any = types.ModuleType("kubernetes")
        kubernetes.client, kubernetes.config = client, config
        modules = {"kubernetes": kubernetes, "kubernetes.client": client, "kubernetes.config": config}
        # Beside forward_scenes.py, which has the real ones.
        modules["websocket"] = mock.Mock(WebSocketBadStatusException=OSError, WebSocketException=OSError)
        patched = mock.patch.dict(sys.modules, modules)
        patched.start()
        self.addCleanup(patched.stop)
        for name in ("job", "listing", "manager", "forward"):
            sys.modules.pop(f"milepost.reading.{name}", None)
        self.job = importlib.import_module("milepost.reading.job")
        self.manager = importlib.import_module("milepost.reading.manager")
        self.listing = importlib.import_module("milepost.reading.listing")

    def get(self, *path: Any, **_: Any) -> Any:
        self.read.append(path)
        if isinstance(self.there, Exception):
            raise self.there
        if self.there is not None:
            raise ApiException(404)
        return {"status": self.status, "metadata": {"annotations": self.annotations}}

    def list_jobs(self, *_: Any, **__: Any) -> Any:
        if isinstance(self.there, Exception):
            raise self.there
        if isinstance(self.there, int):
            raise ApiException(self.there)
        return {"items": [{"metadata": {"name": name}} for name in self.there]}

    def config_map(self, name: str, namespace: str, **_: Any) -> Any:
        self.asked.append((namespace, name))
        if isinstance(self.published, Exception):
            raise self.published
        return types.SimpleNamespace(data=self.published)

    def list(self) -> Any:
        if isinstance(self.slices, Exception):
            raise self.slices
        return types.SimpleNamespace(items=self.slices)

    def contexts(self) -> Any:
        if self.context is None:
            raise ConfigException
        return [], {"name": "n", "context": self.context}

    def named(self, name: Any, **options: Any) -> str:
        job = self.job.Job(name, api=object(), **options)
        group, version, namespace, plural, found = self.read[-1]
        self.assertEqual((group, version, plural), ("trainer.kubeflow.org", "v1alpha1", "trainjobs"))
        self.assertEqual((namespace, found), (job.namespace, job.name))
        return f"{namespace}/{found}"

    def test_a_job_is_in_the_namespace_of_the_context(self) -> None:
        self.assertEqual(self.named("job"), "team/job")
        self.assertEqual(self.named("other/job"), "other/job")
        self.assertEqual(self.named("job", namespace="third"), "third/job")
        self.context = {"cluster": "c"}
        self.assertEqual(self.named("job"), "default/job")

    def test_in_a_pod_a_job_is_in_its_namespace(self) -> None:
        self.context = None
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "namespace"
            with mock.patch.object(self.job, "_NAMESPACE_OF_POD", file):
                self.assertEqual(self.named("job"), "default/job")
                file.write_text("of-pod\n")
                self.assertEqual(self.named("job"), "of-pod/job")

    def test_one_word_stands_for_a_state_whatever_the_kind_calls_it(self) -> None:
        words = {
            (): "Created", ("Created",): "Created", ("Created", "Running"): "Running", ("Restarting",): "Running",
            ("Suspended",): "Suspended", ("Running", "Succeeded"): "Complete", ("Complete",): "Complete",
            ("Running", "Failed"): "Failed", ("EarlyStopped", "Succeeded"): "EarlyStopped",
        }
        for held, word in words.items():
            conditions = [{"type": one, "status": "True"} for one in held]
            self.status = {"conditions": [*conditions, {"type": "Failed", "status": "False"}]}
            job = self.job.Job("job", api=object())
            self.assertEqual((job.state, job.has_ended), (word, word in ("Complete", "Failed", "EarlyStopped")), held)
        self.status = {"state": "Suspended"}
        self.assertEqual(self.job.Job("job", api=object()).state, "Suspended")

    def test_a_train_job_of_the_sdk_has_its_trainer_status(self) -> None:
        self.assertEqual(self.named(SdkTrainJob("job")), "team/job")
        self.assertEqual(self.named(SdkTrainJob("job"), namespace="other"), "other/job")
        self.assertEqual(self.job.Job(SdkTrainJob("job"), api=object()).status, {"progressPercentage": 45})
        # One that is read already names itself.
        self.context = None
        self.assertEqual(self.named(self.job.Job("other/job", api=object())), "other/job")

    def test_a_job_that_is_not_there_is_told_in_a_line_with_the_one_that_was_meant(self) -> None:
        train_jobs = "trainjobs.trainer.kubeflow.org"
        for there, name, kind, want in (
            (["softmax", "paused"], "softmx", train_jobs, "JobNotFound: no TrainJob softmx in team; did you mean softmax?"),
            (["a-1", "a-2", "b"], "a-3", train_jobs, "JobNotFound: no TrainJob a-3 in team; did you mean a-2 or a-1?"),
            (["softmax"], "other/x", train_jobs, "JobNotFound: no TrainJob x in other; there is softmax"),
            ([], "x", "pytorchjobs.kubeflow.org", "JobNotFound: no PyTorchJob x in team; that namespace has none"),
            ([f"j{at}" for at in range(10)], "none", "widgets.example.org",
             "JobNotFound: no widgets none in team; there are j0, j1, j2, j3, j4, j5, j6, j7 and 2 more"),
            (403, "x\x1b[2J", train_jobs, r"JobNotFound: no TrainJob x\x1b[2J in team"),
            (404, "x", train_jobs, "Unreachable: the cluster has no kind trainjobs.trainer.kubeflow.org: "
             "is it the right cluster, and Milepost installed?"),
            (ApiException(403, '{"message": "may not get"}'), "x", train_jobs,
             "Unreachable: the API server refuses: 403 may not get"),
            (ApiException(500), "x", train_jobs, "Unreachable: the API server refuses: 500 of HTTP"),
            (ApiException(401), "x", train_jobs,
             "Unreachable: the API server does not know this user: is the kubeconfig's token still valid?"),
            (OSError("refused"), "x", train_jobs, "Unreachable: the API server https://api does not answer: OSError: refused"),
        ):  # fmt: skip
            self.there = there
            api = types.SimpleNamespace(configuration=types.SimpleNamespace(host="https://api"))
            with self.subTest(want=want), self.assertRaises(milepost.ReadingError) as raised:
                self.job.Job(name, api=api, kind=kind)
            self.assertEqual(raised.exception._render_traceback_(), [want])
            # A script shows no other exception above it.
            self.assertIsNone(raised.exception.__cause__)
            self.assertTrue(raised.exception.__suppress_context__)

    def test_what_names_no_job_is_refused(self) -> None:
        for name in ("", " ", "/", "team/", "/job", "..", "../job", "team/.."):
            with self.subTest(name=name), self.assertRaisesRegex(milepost.BadName, "names no job: give NAMESPACE/NAME"):
                self.job.Job(name, api=object())
        for odd in (None, 7, types.SimpleNamespace(name=None)):
            with self.subTest(name=odd), self.assertRaisesRegex(ValueError, "a job is a name, or an object that has one"):
                self.job.Job(odd, api=object())
        self.assertEqual(self.read, [])

    def test_without_kubernetes_client_a_line_says_what_to_install(self) -> None:
        sys.modules.pop("milepost.reading.job")
        del sys.modules["milepost.reading"].__dict__["job"]
        with mock.patch.dict(sys.modules, {"kubernetes": None}):
            for ask in (lambda: milepost.job("x"), milepost.jobs, lambda: milepost.compare("x", metric="loss")):
                with self.assertRaises(milepost.NotInstalled) as raised:
                    ask()
                self.assertEqual(
                    str(raised.exception),
                    'reading jobs needs the package kubernetes: pip install "milepost[notebook]", from the first release on; '
                    'in a clone pip install "./clients/python[notebook]"',
                )

    def test_a_failure_is_told_in_a_line_and_has_no_time_left(self) -> None:
        report = {"progressPercentage": 40, "estimatedRemainingSeconds": 6}
        headline = "node-0 exited 1: ModuleNotFoundError: No module named 'tochr'"
        kept = {"headline": headline, "restarts": 4, "time": "2026-01-01T00:00:00Z"}
        history = {"restarts": 4, "time": "2026-01-01T00:00:00Z"}
        annotated = {"trainer.kubeflow.org/failure": json.dumps(kept)}
        odd = {"trainer.kubeflow.org/failure": "[" * 100_000}
        for failure, annotations, want in (
            (kept, {}, headline), (None, annotated, headline), (history, annotated, ""), (None, odd, ""), (None, None, ""), (7, {}, ""),
        ):  # fmt: skip
            with self.subTest(failure=failure, annotations=annotations):
                self.status = {"trainerStatus": report, "state": "Running", **({} if failure is None else {"failure": failure})}
                self.annotations = annotations
                job = self.job.Job("x", namespace="team", api=object())
                self.assertEqual(job.failure, want)
                self.assertEqual(job.remaining, None if want else 6)
                self.assertEqual(repr(job), f"<team/x Running 40 %{': ' if want else ''}{want}>")
                with mock.patch.object(self.job, "curves_of", return_value=[]):
                    self.assertEqual(want in "".join(Elements(job._repr_html_()).texts), True)

    def test_a_stop_says_why_from_its_decision_on(self) -> None:
        rule = "loss 10.5 is greater than 10, at report 4\x1b"
        condition = {"type": "EarlyStopped", "status": "True", "reason": "RulesMet", "message": rule}
        stop = {"reason": "StoppedByUser", "message": "asked for by admin", "user": "admin"}
        for state, conditions, decided, want in (
            ("Running", [], None, ""), ("Running", [], stop, "asked for by admin"),
            ("EarlyStopped", [condition], stop, r"loss 10.5 is greater than 10, at report 4\x1b"),
            ("EarlyStopped", [{**condition, "message": ""}], None, "RulesMet"),
            ("Complete", [{**condition, "status": "False"}], None, ""), ("Running", [], 7, ""),
        ):  # fmt: skip
            with self.subTest(state=state, decided=decided, conditions=conditions):
                self.status = {"state": state, "conditions": conditions, "stop": decided}
                job = self.job.Job("x", namespace="team", api=object())
                self.assertEqual(job.stopped, want)
                self.assertEqual(repr(job), f"<team/x {state}{': ' if want else ''}{want}>")
                with mock.patch.object(self.job, "curves_of", return_value=[]):
                    self.assertIn(want, "".join(Elements(job._repr_html_()).texts))

    def test_nothing_that_is_answered_is_markup(self) -> None:
        for text in HOSTILE:
            report = {"progressPercentage": text, "estimatedRemainingSeconds": text, "message": text}
            curve = {"name": text, "points": [[text, 1, 1, text], [0, 1, 1, 1], [1, 2, 2, 2]]}
            unreachable = self.manager.Unreachable(f"https://manager/{text}: {text}")
            for answer in ([curve], unreachable):
                self.status = {"trainerStatus": report, "conditions": [{"type": text, "status": "True"}]}
                with self.subTest(text=text, answer=str(answer)), mock.patch.object(self.job, "curves_of") as curves_of:
                    curves_of.side_effect = [answer]
                    seen = Elements(self.job.Job(text, namespace=text, api=object())._repr_html_())
                    self.assertEqual(seen.others, [])
                    want = {"div", "b", "progress", "i"} if answer is unreachable else {"div", "b", "progress", "svg", "polyline"}
                    self.assertEqual({tag for tag, _ in seen.elements}, want)
                    names = {name for _, attributes in seen.elements for name in attributes}
                    drawn = {"viewbox", "width", "height", "role", "points", "fill", "stroke", "stroke-width"}
                    self.assertLessEqual(names, {"max", "value"} | drawn)
                    self.assertGreaterEqual(seen.texts.count(text), 4)

    def slice(self, *endpoints: tuple[str, "str | None", "bool | None"], port: str = "status") -> Any:
        made = [
            types.SimpleNamespace(
                addresses=[address],
                conditions=None if ready is None else types.SimpleNamespace(ready=ready),
                target_ref=None if pod is None else types.SimpleNamespace(kind="Pod", name=pod),
            )
            for address, pod, ready in endpoints
        ]
        return types.SimpleNamespace(ports=[types.SimpleNamespace(name=port, port=1234)], endpoints=made)

    def test_where_the_manager_is(self) -> None:
        service = "kubeflow-trainer-controller-manager.kubeflow-system.svc"
        in_pod = {"KUBERNETES_SERVICE_HOST": "10.0.0.1"}
        own, ready, late = ("127.0.0.1", None, True), ("10.1.0.1", "m-1", True), ("10.1.0.0", "m-0", False)
        for slices, outside, inside in (
            ([], "no replica that is ready.*address=", (service, 8082, "")),
            ([self.slice(own)], ("127.0.0.1", 1234, ""), ("127.0.0.1", 1234, "")),
            ([self.slice(late), self.slice(ready)], (service, 1234, "m-1"), (service, 8082, "")),
            ([self.slice(("10.1.0.2", "m-2", None))], (service, 1234, "m-2"), (service, 8082, "")),
            # A pod that says it is at loopback is no standalone.
            ([self.slice(("127.0.0.1", "m-3", True))], (service, 1234, "m-3"), (service, 8082, "")),
            ([self.slice(ready, port="webhook")], "no replica that is ready", (service, 8082, "")),
            ([self.slice(("10.1.0.4", None, True))], "no replica that is ready", (service, 8082, "")),
            (ApiException(403), "no right to list endpointslices in kubeflow-system.*address=", (service, 8082, "")),
        ):
            self.slices = slices
            with self.subTest(outside=outside), mock.patch.dict("os.environ"):
                os.environ.pop("KUBERNETES_SERVICE_HOST", None)
                if isinstance(outside, str):
                    with self.assertRaisesRegex(self.manager.Unreachable, outside):
                        self.manager._place(None)
                else:
                    self.assertEqual(self.manager._place(None), outside)
                os.environ.update(in_pod)
                self.assertEqual(self.manager._place(None), inside)
        self.slices = ApiException(500)
        with self.assertRaises(ApiException):
            self.manager._place(None)

    def api(self, token: str = "Bearer t") -> Any:
        configuration = types.SimpleNamespace(auth_settings=lambda: {"BearerToken": {"value": token}})
        return types.SimpleNamespace(configuration=configuration)

    def test_the_ca_is_what_the_manager_publishes(self) -> None:
        self.assertEqual(self.manager._authority(None), "ca")
        # Tenants write in the namespaces of jobs, but not here.
        self.assertEqual(self.asked, [("kubeflow-system", "kubeflow-trainer-public")])
        for published in (None, {}, {"ca.crt": ""}, ApiException(403), ApiException(404)):
            self.published = published
            with self.assertRaisesRegex(self.manager.Unreachable, 'ca="FILE"'):
                self.manager._authority(None)
        self.published = ApiException(500)
        with self.assertRaises(ApiException):
            self.manager._authority(None)

    def test_a_redirection_is_an_error_and_gets_no_token(self) -> None:
        seen: list[str] = []

        class Elsewhere(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                seen.append(str(self.headers["Authorization"]))
                self.send_response(200)
                self.end_headers()

            def log_message(self, format: str, *args: Any) -> None:
                pass

        class Manager(Elsewhere):
            def do_GET(self) -> None:
                self.send_response(self.code)
                self.send_header("Location", f"http://127.0.0.1:{elsewhere.server_address[1]}/")
                self.send_header("Content-Length", "0")
                self.end_headers()

            code = 302

        with tempfile.TemporaryDirectory() as folder:
            ca = make_authority(Path(folder), "first")
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(Path(folder) / "first.pem", Path(folder) / "first.key")
            with (
                ThreadingHTTPServer(("127.0.0.1", 0), Elsewhere) as elsewhere,
                ThreadingHTTPServer(("127.0.0.1", 0), Manager) as manager,
            ):
                manager.socket = context.wrap_socket(manager.socket, server_side=True)
                for one in (elsewhere, manager):
                    threading.Thread(target=one.serve_forever, args=(0.02,), daemon=True).start()
                address = f"https://127.0.0.1:{manager.server_address[1]}"
                for Manager.code in (301, 302, 303, 307, 308):
                    with (
                        self.subTest(code=Manager.code),
                        self.assertRaisesRegex(self.manager.Unreachable, f"{Manager.code} .*http://127"),
                    ):
                        self.manager.curves_of(self.api(), "team", "job", "kind", address, str(ca))
                for one in (elsewhere, manager):
                    one.shutdown()
        self.assertEqual(seen, [])
        self.assertEqual(self.asked, [], "a CA that is given is the CA")

    def test_a_refusal_says_what_to_do(self) -> None:
        refusals = (
            (401, b"{}", "--read-with-api-tokens"),
            (403, b'{"message": "may not list trainjobs"}', "403 may not list trainjobs"),
            (502, b"<html>", "502 <html>"),
        )
        for code, body, want in refusals:
            with self.subTest(code=code), mock.patch("http.client.HTTPSConnection") as made:
                made.return_value.getresponse.return_value = mock.Mock(
                    status=code, headers={"Location": None}, read=mock.Mock(return_value=body)
                )
                with (
                    mock.patch("ssl.create_default_context"),
                    self.assertRaisesRegex(self.manager.Unreachable, want),
                ):
                    self.manager.curves_of(self.api(), "team", "job", "kind", "https://m")

    def test_jobs_are_read_in_windows_each_once_and_within_bounds(self) -> None:
        asked: list[dict[str, Any]] = []
        there = 450

        def answer(_api: Any, path: str, query: dict[str, Any], *_: Any) -> bytes:
            self.assertEqual(path, "jobs")
            asked.append(query)
            # A job that is new since the first window moves the others.
            at = query["offset"] - (1 if len(asked) > 1 else 0)
            rows = [
                {"uid": f"u{one}", "namespace": "team", "name": f"j{one}", "kind": "trainjobs.trainer.kubeflow.org",
                 "state": "Running", "configuration": [["lr", "0.1"]], "metrics": [{"name": "loss\x1b", "value": "0.5"}, {"name": "lr", "value": "one"}]}
                for one in range(at, min(at + query["limit"], there))
            ]  # fmt: skip
            return json.dumps({"rows": rows, "total": there}).encode()

        with mock.patch.object(self.listing, "answer_of", answer):
            found = milepost.jobs("team", state="Running", api=object())
            self.assertEqual([job.name for job in found], [f"j{one}" for one in range(len(found))])
            self.assertEqual((found[0].namespace, found[0].kind, found[0].state), ("team", "trainjobs.trainer.kubeflow.org", "Running"))
            self.assertEqual(repr(found[0].metrics), repr({"loss\x1b": 0.5, "lr": float("nan")}))
            self.assertEqual(asked[0], {"configuration": "true", "namespace": "team", "state": "Running", "offset": 0, "limit": 200})
            self.assertEqual(found[1].configuration, {"lr": "0.1"})
            for limit, there, want in ((450, 449, [200, 200, 50]), (7, 450, [7]), (0, 450, []), (10**6, 5000, [200] * 5), (9, 0, [9])):
                asked.clear()
                milepost.jobs(api=object(), limit=limit)
                self.assertEqual([query["limit"] for query in asked], want)
        for body in (b"no", b"[]", b"{}", b'{"rows": 1}', b'{"rows": [{}]}', b'{"rows": [{"uid": "u", "metrics": [1]}]}', b'{"rows": []}'):
            with self.subTest(body=body), mock.patch.object(self.listing, "answer_of", return_value=body):
                if body == b'{"rows": []}':
                    self.assertEqual(milepost.jobs(api=object()), [])
                    continue
                with self.assertRaisesRegex(milepost.Unreachable, "the manager's answer is no list of jobs"):
                    milepost.jobs(api=object())

    def test_a_kind_and_a_state_are_taken_as_people_say_them(self) -> None:
        train_jobs, pytorch_jobs = "trainjobs.trainer.kubeflow.org", "pytorchjobs.kubeflow.org"
        kinds = {
            "trainjob": train_jobs, "TrainJob": train_jobs, "trainjobs": train_jobs, train_jobs: train_jobs,
            "trainjob.trainer.kubeflow.org": train_jobs, "PYTORCHJOBS": pytorch_jobs, "PyTorchJob.kubeflow.org": pytorch_jobs,
            "tfjob": "tfjobs.kubeflow.org", "widgets.example.org": "widgets.example.org", "tfjobs.Example.org": "tfjobs.Example.org",
        }  # fmt: skip
        states = {"running": "Running", "FAILED": "Failed", "EarlyStopped": "EarlyStopped", "earlystopped": "EarlyStopped"}
        with mock.patch.object(self.listing, "answer_of", return_value=b'{"rows": []}') as answer_of:
            for kind, want in kinds.items():
                self.assertEqual(self.job.Job("x", kind=kind, api=object()).kind, want)
                milepost.jobs(kind=kind, api=object())
                self.assertEqual(answer_of.call_args.args[2]["kind"], want)
            for state, want in states.items():
                milepost.jobs(state=state, api=object())
                self.assertEqual(answer_of.call_args.args[2]["state"], want)
            answer_of.reset_mock()
            no_state = "^there is no state done; there are Created, Running, Suspended, Complete, Failed, EarlyStopped$"
            with self.assertRaisesRegex(ValueError, no_state):
                milepost.jobs(state="done", api=object())
            no_kind = (
                r"^there is no kind of job pod; known: jaxjob, mpijob, mxjob, paddlejob, pytorchjob, tfjob, trainjob, xgboostjob; "
                r"others are PLURAL\.GROUP$"
            )
            asks = lambda: milepost.jobs(kind="pod", api=object()), lambda: milepost.job("x", kind="pod", api=object())
            for ask in asks:
                with self.assertRaisesRegex(ValueError, no_kind):
                    ask()
            answer_of.assert_not_called()

    def test_the_configuration_of_a_job_is_that_of_its_row(self) -> None:
        kind = "trainjobs.trainer.kubeflow.org"
        rows = [
            {"uid": name, "namespace": "team", "name": name, "kind": kind, "state": "Running", "configuration": [["lr", name]]}
            for name in ("x", "x-2")
        ]
        with mock.patch.object(self.listing, "answer_of") as answer_of:
            answer_of.return_value = json.dumps({"rows": rows, "total": 2}).encode()
            self.assertEqual(self.job.Job("team/x-2", api=object()).configuration, {"lr": "x-2"})
            self.assertEqual(answer_of.call_args.args[2]["text"], "team/x-2")

    def test_no_token_goes_into_an_error_or_over_plain_http(self) -> None:
        for token in ("", "Bearer to\nken"):
            with self.assertRaisesRegex(self.manager.Unreachable, "this kubeconfig has none"):
                self.manager.curves_of(self.api(token), "team", "job", "kind", "https://m")
        for address in ("http://m", "m:8082", "https://"):
            with (
                self.subTest(address=address),
                mock.patch("ssl.create_default_context"),
                self.assertRaisesRegex(self.manager.Unreachable, f"{address} is no address"),
            ):
                self.manager.curves_of(self.api(), "team", "job", "kind", address)


if __name__ == "__main__":
    unittest.main()
