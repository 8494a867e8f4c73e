"""Lists the runtimes with the Kubeflow SDK, trains on one of them with a function that runs a program, and waits.

Arguments: runtime, program, number of nodes, variables as JSON. Prints one JSON object.
"""

import json
import sys

from kubeflow.trainer import CustomTrainer, KubernetesBackendConfig, TrainerClient


def train(program):
    import os, runpy, sys

    sys.path.insert(0, os.path.dirname(program))
    runpy.run_path(program, run_name="__main__")


wanted, program, nodes, env = sys.argv[1:]
client = TrainerClient(KubernetesBackendConfig(namespace="default"))
runtimes = {runtime.name: runtime for runtime in client.list_runtimes()}
trainer = CustomTrainer(func=train, func_args={"program": program}, num_nodes=int(nodes), env=json.loads(env))
name = client.train(runtime=runtimes[wanted], trainer=trainer)
print(f"started {name}", file=sys.stderr, flush=True)
job = client.wait_for_job_status(name, status={"Complete", "Failed"}, timeout=480, polling_interval=1)
listed = sorted([runtime.name, runtime.trainer.framework] for runtime in runtimes.values())
print(json.dumps({"runtimes": listed, "job": name, "status": job.status}))
