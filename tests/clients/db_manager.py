"""Katib's DB manager and its clients, made of the stubs that Katib publishes (kubeflow-katib).

serve PORT FILE DROP_EVERY   keeps every row that is reported, as often as it is, in a file; each
                             DROP_EVERY-th reply is lost after the write
read ADDRESS                 reads logs as Katib's clients do: a line of JSON a question on standard
                             input, a line of JSON an answer on standard output
"""

import importlib.util
import json
import sys
import threading
import time
import types
from concurrent import futures

import grpc

# The package's own start imports the whole client of Kubernetes: only the stubs are wanted.
for name in ("kubeflow", "kubeflow.katib"):
    package = types.ModuleType(name)
    package.__path__ = list(importlib.util.find_spec(name).submodule_search_locations)
    sys.modules[name] = package

from kubeflow.katib import katib_api_pb2 as pb  # noqa: E402
from kubeflow.katib import katib_api_pb2_grpc as pb_grpc  # noqa: E402


class DBManager(pb_grpc.DBManagerServicer):
    def __init__(self, file, drop_every):
        self.file = open(file, "a+", encoding="utf-8")
        self.file.seek(0)
        lines = self.file.readlines()
        # What a kill cut in the middle was not answered.
        self.rows = [json.loads(line) for line in lines if line.endswith("\n")]
        if lines and not lines[-1].endswith("\n"):
            self.file.truncate(sum(len(line.encode()) for line in lines[:-1]))
        self.drop_every = drop_every
        self.reports = 0
        self.lock = threading.Lock()

    def ReportObservationLog(self, request, context):
        with self.lock:
            for row in request.observation_log.metric_logs:
                entry = [request.trial_name, row.time_stamp, row.metric.name, row.metric.value]
                self.rows.append(entry)
                self.file.write(json.dumps(entry) + "\n")
            self.file.flush()
            self.reports += 1
            lost = self.drop_every > 0 and self.reports % self.drop_every == 0
            silent = lost and self.reports % (2 * self.drop_every) == 0
        if silent:
            time.sleep(4)
        if lost:
            context.abort(grpc.StatusCode.UNAVAILABLE, "the reply was lost")
        return pb.ReportObservationLogReply()

    def GetObservationLog(self, request, context):
        with self.lock:
            rows = [row for row in self.rows if row[0] == request.trial_name]
        key = sortable
        found = [
            row
            for row in rows
            if request.metric_name in ("", row[2])
            and (not request.start_time or key(row[1]) >= key(request.start_time))
            and (not request.end_time or key(row[1]) <= key(request.end_time))
        ]
        logs = [
            pb.MetricLog(time_stamp=row[1], metric=pb.Metric(name=row[2], value=row[3]))
            for row in sorted(found, key=lambda row: key(row[1]))
        ]
        return pb.GetObservationLogReply(observation_log=pb.ObservationLog(metric_logs=logs))


def sortable(text):
    """A time in UTC, with six digits of fraction."""
    whole, _, fraction = text.rstrip("Z").partition(".")
    return f"{whole}.{fraction:0<6}"


def serve(port, file, drop_every):
    server = grpc.server(futures.ThreadPoolExecutor(max_workers=16))
    pb_grpc.add_DBManagerServicer_to_server(DBManager(file, int(drop_every)), server)
    server.add_insecure_port(f"127.0.0.1:{port}")
    server.start()
    print("ready", flush=True)
    server.wait_for_termination()


def read(address):
    with grpc.insecure_channel(address) as channel:
        stub = pb_grpc.DBManagerStub(channel)
        for line in sys.stdin:
            request = pb.GetObservationLogRequest(**json.loads(line))
            reply = stub.GetObservationLog(request, timeout=60)
            rows = [
                [row.time_stamp, row.metric.name, row.metric.value]
                for row in reply.observation_log.metric_logs
            ]
            print(json.dumps(rows), flush=True)


if __name__ == "__main__":
    {"serve": serve, "read": read}[sys.argv[1]](*sys.argv[2:])
