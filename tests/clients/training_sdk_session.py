"""What a user of the SDK kubeflow-training does with a job of each kind that it has.

Prints one JSON object a kind.
"""

import json

from kubeflow.training import (
    KubeflowOrgV1JAXJob,
    KubeflowOrgV1JAXJobSpec,
    KubeflowOrgV1MPIJob,
    KubeflowOrgV1MPIJobSpec,
    KubeflowOrgV1PaddleJob,
    KubeflowOrgV1PaddleJobSpec,
    KubeflowOrgV1PyTorchJob,
    KubeflowOrgV1PyTorchJobSpec,
    KubeflowOrgV1TFJob,
    KubeflowOrgV1TFJobSpec,
    KubeflowOrgV1XGBoostJob,
    KubeflowOrgV1XGBoostJobSpec,
    TrainingClient,
)
from kubeflow.training.models import KubeflowOrgV1ReplicaSpec, KubeflowOrgV1RunPolicy
from kubernetes.client import V1Container, V1ObjectMeta, V1PodSpec, V1PodTemplateSpec

# The model and its spec, the key of its replicas, the container, the replicas, those whose logs are read.
KINDS = {
    "TFJob": (KubeflowOrgV1TFJob, KubeflowOrgV1TFJobSpec, "tf", "tensorflow", {"Worker": 2}),
    "PyTorchJob": (
        KubeflowOrgV1PyTorchJob,
        KubeflowOrgV1PyTorchJobSpec,
        "pytorch",
        "pytorch",
        {"Master": 1, "Worker": 1},
    ),
    "XGBoostJob": (
        KubeflowOrgV1XGBoostJob,
        KubeflowOrgV1XGBoostJobSpec,
        "xgb",
        "xgboost",
        {"Master": 1, "Worker": 1},
    ),
    "MPIJob": (KubeflowOrgV1MPIJob, KubeflowOrgV1MPIJobSpec, "mpi", "mpi", {"Launcher": 1}),
    "PaddleJob": (
        KubeflowOrgV1PaddleJob,
        KubeflowOrgV1PaddleJobSpec,
        "paddle",
        "paddle",
        {"Worker": 2},
    ),
    "JAXJob": (KubeflowOrgV1JAXJob, KubeflowOrgV1JAXJobSpec, "jax", "jax", {"Worker": 2}),
}


def job_of(kind, name, labels=None):
    model, spec, key, container, replicas = KINDS[kind]
    command = ["sh", "-c", f"sleep 1; echo trained by {kind}"]
    template = V1PodTemplateSpec(
        spec=V1PodSpec(containers=[V1Container(name=container, image="none", command=command)])
    )
    replica_specs = {
        type_: KubeflowOrgV1ReplicaSpec(replicas=count, restart_policy="Never", template=template)
        for type_, count in replicas.items()
    }
    return model(
        api_version="kubeflow.org/v1",
        kind=kind,
        metadata=V1ObjectMeta(name=name, namespace="default", labels=labels),
        spec=spec(
            run_policy=KubeflowOrgV1RunPolicy(clean_pod_policy="None"),
            **{f"{key}_replica_specs": replica_specs},
        ),
    )


for kind in KINDS:
    client = TrainingClient(namespace="default", job_kind=kind)
    name = f"sdk-{kind.lower()}"
    client.create_job(job_of(kind, name))
    created = client.wait_for_job_conditions(
        name, expected_conditions={"Created"}, wait_timeout=60, polling_interval=1
    )
    client.update_job(job_of(kind, name, labels={"seen": "yes"}), name)
    ended = client.wait_for_job_conditions(
        name, expected_conditions={"Succeeded"}, wait_timeout=90, polling_interval=1
    )
    conditions = client.get_job_conditions(name)
    logs, _ = client.get_job_logs(name)
    followed, _ = client.get_job_logs(name, follow=True)
    _, events = client.get_job_logs(name, verbose=True)
    has_workers = "Worker" in KINDS[kind][4]
    pods = client.get_job_pod_names(name)
    workers = client.get_job_pod_names(name, replica_type="worker") if has_workers else []
    report = {
        "kind": kind,
        "created": created.metadata.name,
        "ended": ended.metadata.name,
        "conditions": {one.type: one.status for one in conditions},
        "is": [
            client.is_job_created(name),
            client.is_job_running(name),
            client.is_job_restarting(name),
            client.is_job_succeeded(name),
            client.is_job_failed(name),
        ],
        "got": client.get_job(name).metadata.name,
        "labels": client.get_job(name).metadata.labels,
        "listed": [job.metadata.name for job in client.list_jobs()],
        "pods": sorted(pods),
        "workers": sorted(workers),
        "masters": sorted(client.get_job_pod_names(name, is_master=True)),
        "logs": logs,
        "followed": followed,
        "events": [name for name, texts in events.items() if texts],
    }
    client.delete_job(name)
    print(json.dumps(report), flush=True)
