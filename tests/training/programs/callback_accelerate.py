"""Trains a line with accelerate, until Milepost says stop."""

import torch
from accelerate import Accelerator
from milepost.accelerate import MilepostTracker

tracker = MilepostTracker(total=10_000_000)
accelerator = Accelerator(cpu=True, log_with=tracker)
accelerator.init_trackers("line")
x = torch.linspace(-1, 1, 64).unsqueeze(1)
layer = torch.nn.Linear(1, 1)
layer, optimizer = accelerator.prepare(layer, torch.optim.SGD(layer.parameters(), lr=0.01))
step = 0
while not tracker.should_stop(accelerator):
    loss = torch.nn.functional.mse_loss(layer(x), 3 * x + 0.5)
    optimizer.zero_grad()
    accelerator.backward(loss)
    optimizer.step()
    step += 1
    accelerator.log({"loss": loss, "val/loss": loss, "text": "no number"}, step=step)
accelerator.end_training()
print(f"stopped after {step} steps: {tracker.run.stop}", flush=True)
