"""Softmax regression on handwritten digits with DistributedDataParallel; torchrun starts it on each node. Rank 0 reports."""
import os, time

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from report import report

epochs = int(os.environ.get("EPOCHS", "40"))
gpu = torch.cuda.is_available()
dist.init_process_group("nccl" if gpu else "gloo")
rank, world = dist.get_rank(), dist.get_world_size()
device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if gpu else torch.device("cpu")

with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "digits.txt")) as file:
    rows = torch.tensor([[int(figure, 17) for figure in line.strip()] for line in file])[rank::world]
pixels, labels = rows[:, :64].float().div(16).to(device), rows[:, 64].to(device)

torch.manual_seed(0)
model = DistributedDataParallel(torch.nn.Linear(64, 10).to(device), device_ids=[device.index] if gpu else None)
optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
began = time.monotonic()
for epoch in range(1, epochs + 1):
    scores = model(pixels)
    loss = torch.nn.functional.cross_entropy(scores, labels)
    optimizer.zero_grad()
    loss.backward()  # averages the gradients of all processes
    optimizer.step()
    sums = torch.stack([loss.detach() * len(labels), (scores.argmax(1) == labels).sum(), torch.tensor(len(labels), device=device)])
    dist.all_reduce(sums)
    if rank == 0:
        mean_loss, accuracy = (sums[:2] / sums[2]).tolist()
        left = (time.monotonic() - began) * (epochs / epoch - 1)
        report(100 * epoch / epochs, left, epoch, loss=mean_loss, accuracy=accuracy)
if rank == 0:
    print(f"torch {torch.__version__}, {dist.get_backend()}, {world} processes: accuracy {accuracy:.4f}")
dist.destroy_process_group()
