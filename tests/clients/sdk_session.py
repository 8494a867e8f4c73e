"""What a user of the Kubeflow SDK does with a TrainJob, from the list of runtimes to its deletion.

Prints one JSON object, waits for a line on standard input, prints what the SDK's TrainJob does not have, and deletes
the job.
"""

import json
import sys

import milepost
from kubeflow.trainer import CustomTrainer, KubernetesBackendConfig, TrainerClient


def train():
    from kubeflow.trainer import update_trainjob_status

    print("training")
    print("progress taken:", update_trainjob_status(100, 0, {"loss": 0.25}))


client = TrainerClient(KubernetesBackendConfig(namespace="default"))
runtimes = {runtime.name: runtime for runtime in client.list_runtimes()}
name = client.train(runtime=runtimes["sdk"], trainer=CustomTrainer(func=train, num_nodes=1))
job = client.wait_for_job_status(name, timeout=60, polling_interval=1)
print(
    json.dumps(
        {
            "runtimes": sorted(runtimes),
            "name": name,
            "waited": job.status,
            "status": client.get_job(name).status,
            "steps": [[step.name, step.status] for step in client.get_job(name).steps],
            "logs": list(client.get_job_logs(name)),
            "followed": list(client.get_job_logs(name, follow=True)),
            "events": [event.reason for event in client.get_job_events(name)],
            "jobs": [one.name for one in client.list_jobs()],
        }
    ),
    flush=True,
)
sys.stdin.readline()
shown = milepost.job(client.get_job(name))
print("shown:", shown.state, shown.status["metrics"], flush=True)
client.delete_job(name)
print("deleted", flush=True)
