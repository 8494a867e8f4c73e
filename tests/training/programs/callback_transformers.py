"""Trains a line, and tells Transformers' callbacks what its Trainer would, until Milepost says stop.

Transformers' own handler, state, control and callbacks; its Trainer needs a newer PyTorch than Debian's.
"""

from types import SimpleNamespace

import numpy
from milepost.transformers import MilepostCallback
from transformers.integrations.integration_utils import get_reporting_integration_callbacks
from transformers.trainer_callback import CallbackHandler, DefaultFlowCallback, TrainerControl, TrainerState

args = SimpleNamespace(
    logging_first_step=True, logging_strategy="steps", eval_strategy="no", save_strategy="no", eval_delay=0,
    world_size=1,
)  # fmt: skip
own = get_reporting_integration_callbacks("kubeflow")
callback = MilepostCallback()
handler = CallbackHandler([DefaultFlowCallback, *own, callback], None, None, None, None)
state = TrainerState(max_steps=100_000_000, num_train_epochs=1, logging_steps=1, eval_steps=0, save_steps=0)
state.is_local_process_zero = state.is_world_process_zero = True
x = numpy.linspace(-1.0, 1.0, 64)
weights = numpy.zeros(2)
control = handler.on_train_begin(args, state, TrainerControl())
while not control.should_training_stop:
    control = handler.on_step_begin(args, state, control)
    error = weights[0] * x + weights[1] - (3.0 * x + 0.5)
    weights -= 0.01 * numpy.array([(error * x).mean(), error.mean()])
    state.global_step += 1
    control = handler.on_step_end(args, state, control)
    if control.should_log:
        control = handler.on_log(args, state, control, {"loss": float((error**2).mean())})
handler.on_train_end(args, state, control)
print(f"stopped after {state.global_step} steps: {callback.run.stop}", flush=True)
