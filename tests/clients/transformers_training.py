"""Trains a line by gradient descent, and tells the callbacks that Transformers itself chooses what its
Trainer would tell them: the hooks in their order, with Transformers' own state, control and handler.
"""

import time
from types import SimpleNamespace

import numpy
from transformers.integrations.integration_utils import get_reporting_integration_callbacks
from transformers.trainer_callback import (
    CallbackHandler,
    DefaultFlowCallback,
    TrainerControl,
    TrainerState,
)

STEPS = 14
SECONDS_PER_STEP = 0.5  # the callback leaves 5 s between two pushes

x = numpy.linspace(-1.0, 1.0, 64)
y = 3.0 * x + 0.5
weights = numpy.zeros(2)

args = SimpleNamespace(
    logging_first_step=True,
    logging_strategy="steps",
    eval_strategy="no",
    save_strategy="no",
    eval_delay=0,
)
callbacks = get_reporting_integration_callbacks("all")
print("callbacks:", ", ".join(callback.__name__ for callback in callbacks))
handler = CallbackHandler([DefaultFlowCallback, *callbacks], None, None, None, None)
state = TrainerState(
    max_steps=STEPS,
    num_train_epochs=1,
    logging_steps=1,
    eval_steps=STEPS + 1,
    save_steps=STEPS + 1,
)
state.is_local_process_zero = state.is_world_process_zero = True
control = handler.on_train_begin(args, state, TrainerControl())
control = handler.on_epoch_begin(args, state, control)
for step in range(STEPS):
    control = handler.on_step_begin(args, state, control)
    error = weights[0] * x + weights[1] - y
    weights -= 0.5 * numpy.array([(error * x).mean(), error.mean()])
    time.sleep(SECONDS_PER_STEP)
    state.global_step = step + 1
    state.epoch = (step + 1) / STEPS
    control = handler.on_step_end(args, state, control)
    if control.should_log:
        logs = {"loss": round(float((error**2).mean()), 4), "learning_rate": 0.5}
        state.log_history.append({**logs, "step": state.global_step})
        control = handler.on_log(args, state, control, logs)
control = handler.on_epoch_end(args, state, control)
handler.on_train_end(args, state, control)
print("trained")
