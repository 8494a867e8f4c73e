"""Trains a line with Lightning, until Milepost says stop."""

import pytorch_lightning as lightning
import torch
from milepost.lightning import MilepostCallback

# Debian's torch 1.13 cannot import its sharded tensors in Python 3.11.
lightning.LightningModule._register_sharded_tensor_state_dict_hooks_if_available = lambda self: None


class Line(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(1, 1)

    def training_step(self, batch, _):
        x, y = batch
        loss = torch.nn.functional.mse_loss(self.layer(x), y)
        self.log("loss", loss)
        return loss

    def validation_step(self, batch, _):
        x, y = batch
        self.log("val/loss", torch.nn.functional.mse_loss(self.layer(x), y))

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.01)


x = torch.linspace(-1, 1, 64).unsqueeze(1)
data = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, 3 * x + 0.5), batch_size=8)
trainer = lightning.Trainer(
    max_epochs=1_000_000, accelerator="cpu", logger=False, enable_checkpointing=False, log_every_n_steps=2,
    enable_progress_bar=False, enable_model_summary=False, callbacks=[MilepostCallback()],
)  # fmt: skip
trainer.fit(Line(), data, data)
print(f"stopped after {trainer.global_step} steps: {trainer.callbacks[0].run.stop}", flush=True)
