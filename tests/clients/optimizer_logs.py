"""What a user of the Kubeflow SDK sees of a trial's log: by OptimizerClient, then by TrainerClient."""

import sys

from kubeflow.optimizer import KubernetesBackendConfig, OptimizerClient
from kubeflow.trainer import TrainerClient

trial = sys.argv[1]
config = KubernetesBackendConfig(namespace="default")
try:
    print("optimizer", *OptimizerClient(config).get_job_logs("any", trial_name=trial))
except RuntimeError as error:
    print("optimizer", error, getattr(error.__cause__, "body", error.__cause__))
print("trainer", *TrainerClient(config).get_job_logs(trial))
