"""What a user of the Kubeflow SDK does to search for good parameters. Prints the Experiment's name."""

from kubeflow.optimizer import (
    KubernetesBackendConfig,
    Objective,
    OptimizerClient,
    RandomSearch,
    Search,
    TrainJobTemplate,
    TrialConfig,
)
from kubeflow.trainer import CustomTrainer


def train(lr: str, layers: str):
    print(f"lr={lr} layers={layers} loss={float(lr) * int(layers)}")


client = OptimizerClient(KubernetesBackendConfig(namespace="default"))
print(
    client.optimize(
        TrainJobTemplate(runtime="sdk", trainer=CustomTrainer(func=train, num_nodes=2)),
        search_space={
            "lr": Search.loguniform(0.01, 0.1),
            "layers": Search.choice([2, 4]),
        },
        objectives=[Objective(metric="loss", direction="minimize"), Objective(metric="accuracy")],
        trial_config=TrialConfig(num_trials=5, parallel_trials=2, max_failed_trials=1),
        algorithm=RandomSearch(random_state=7),
    )
)
