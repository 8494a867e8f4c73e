"""Softmax regression on handwritten digits with jax.distributed, data parallel over all devices of all processes. Process 0 reports."""
import os, time

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from report import report

epochs = int(os.environ.get("EPOCHS", "40"))
# The runtime gives each pod JAX_COORDINATOR_ADDRESS, JAX_NUM_PROCESSES and JAX_PROCESS_ID.
address, processes = os.environ["JAX_COORDINATOR_ADDRESS"], int(os.environ["JAX_NUM_PROCESSES"])
rank = int(os.environ["JAX_PROCESS_ID"])
jax.distributed.initialize(address, processes, rank)

with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "digits.txt")) as file:
    rows = np.array([[int(figure, 17) for figure in line.strip()] for line in file])
count = len(rows) // jax.device_count() * jax.device_count()
mine = rows[:count][rank * count // processes:(rank + 1) * count // processes]
data = NamedSharding(Mesh(jax.devices(), ("data",)), PartitionSpec("data"))
pixels = jax.make_array_from_process_local_data(data, mine[:, :64].astype(np.float32) / 16)
labels = jax.make_array_from_process_local_data(data, mine[:, 64])


@jax.jit
def step(weights, pixels, labels):
    def loss_of(weights):
        scores = pixels @ weights[:64] + weights[64]
        loss = -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(scores), labels[:, None], axis=1))
        return loss, jnp.mean(scores.argmax(1) == labels)

    (loss, accuracy), gradient = jax.value_and_grad(loss_of, has_aux=True)(weights)
    return weights - gradient, loss, accuracy


weights = jnp.zeros((65, 10))
began = time.monotonic()
for epoch in range(1, epochs + 1):
    weights, loss, accuracy = step(weights, pixels, labels)
    if rank == 0:
        left = (time.monotonic() - began) * (epochs / epoch - 1)
        report(100 * epoch / epochs, left, epoch, loss=float(loss), accuracy=float(accuracy))
if rank == 0:
    print(f"jax {jax.__version__}, {jax.process_count()} processes, {jax.device_count()} devices: accuracy {accuracy:.4f}")
