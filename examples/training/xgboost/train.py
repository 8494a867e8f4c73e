"""Gradient-boosted trees on handwritten digits: each worker has a part of the images. Worker 0 runs the tracker and reports."""
import os, socket, time

import numpy as np
import xgboost
from xgboost import collective
from xgboost.tracker import RabitTracker

from report import report

rounds = int(os.environ.get("ROUNDS", "10"))
# The runtime gives each pod DMLC_TRACKER_URI, DMLC_TRACKER_PORT, DMLC_TASK_ID and DMLC_NUM_WORKER.
uri, port = os.environ["DMLC_TRACKER_URI"], int(os.environ["DMLC_TRACKER_PORT"])
task, workers = int(os.environ["DMLC_TASK_ID"]), int(os.environ["DMLC_NUM_WORKER"])


class Report(xgboost.callback.TrainingCallback):
    began = time.monotonic()

    def after_iteration(self, model, epoch, evals_log):
        if collective.get_rank() == 0:
            metrics = {name: values[-1] for name, values in evals_log["train"].items()}
            left = (time.monotonic() - self.began) * (rounds / (epoch + 1) - 1)
            report(100 * (epoch + 1) / rounds, left, epoch + 1, loss=metrics["mlogloss"], accuracy=1 - metrics["merror"])
        return False


tracker = None
if task == 0:
    tracker = RabitTracker(n_workers=workers, host_ip=socket.gethostbyname(uri), port=port, sortby="task")
    tracker.start()
with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "digits.txt")) as file:
    rows = np.array([[int(figure, 17) for figure in line.strip()] for line in file])[task::workers]
with collective.CommunicatorContext(
    dmlc_communicator="rabit", dmlc_tracker_uri=uri, dmlc_tracker_port=port, dmlc_task_id=f"{task:04}", dmlc_retry=30,
):
    images = xgboost.DMatrix(rows[:, :64], rows[:, 64])
    parameters = {"objective": "multi:softprob", "num_class": 10, "max_depth": 4, "eval_metric": ["mlogloss", "merror"]}
    history = {}
    xgboost.train(
        parameters, images, rounds, [(images, "train")], evals_result=history, verbose_eval=False, callbacks=[Report()],
    )
    if collective.get_rank() == 0:
        accuracy = 1 - history["train"]["merror"][-1]
        print(f"xgboost {xgboost.__version__}, {collective.get_world_size()} workers: accuracy {accuracy:.4f}")
if tracker:
    tracker.wait_for()
