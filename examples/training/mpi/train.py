"""Softmax regression on handwritten digits with mpi4py: each process has a part of the images. Rank 0 reports."""
import os, time

import numpy as np
from mpi4py import MPI

from report import report

epochs = int(os.environ.get("EPOCHS", "60"))
world = MPI.COMM_WORLD
rank, size = world.Get_rank(), world.Get_size()

with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "digits.txt")) as file:
    rows = np.array([[int(figure, 17) for figure in line.strip()] for line in file])[rank::size]
pixels = np.hstack([rows[:, :64] / 16, np.ones((len(rows), 1))])
labels = rows[:, 64]
weights = np.zeros((65, 10))
began = time.monotonic()
for epoch in range(1, epochs + 1):
    scores = pixels @ weights
    shares = np.exp(scores - scores.max(1, keepdims=True))
    shares /= shares.sum(1, keepdims=True)
    own = shares[np.arange(len(labels)), labels]
    sums = np.array([-np.log(own).sum(), (scores.argmax(1) == labels).sum(), len(labels)])
    gradient = pixels.T @ (shares - np.eye(10)[labels])
    world.Allreduce(MPI.IN_PLACE, sums)
    world.Allreduce(MPI.IN_PLACE, gradient)
    weights -= gradient / sums[2]
    if rank == 0:
        left = (time.monotonic() - began) * (epochs / epoch - 1)
        report(100 * epoch / epochs, left, epoch, loss=sums[0] / sums[2], accuracy=sums[1] / sums[2])
hosts = world.gather(MPI.Get_processor_name())
if rank == 0:
    library = MPI.Get_library_version().split(",")[0].split("\n")[0]
    print(f"{library}, {size} processes on {', '.join(hosts)}: accuracy {sums[1] / sums[2]:.4f}", flush=True)
