"""DistributedDataParallel over gloo, which hangs at a step as its variables say; torchrun starts one process in each pod."""
import os, time
from datetime import timedelta

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

import milepost
from loader import batches, wait_for_storage

STEPS, STEP_SECONDS = 100_000, 0.04
folder, hang, hang_step = os.environ["FOLDER"], os.environ.get("HANG", ""), int(os.environ.get("HANG_STEP", "-1"))


def hung():
    """Says when this process has begun to hang."""
    with open(f"{folder}/hung-{rank}.new", "w") as file:
        file.write(str(time.time()))
    os.replace(f"{folder}/hung-{rank}.new", f"{folder}/hung-{rank}")


torch.set_num_threads(1)
dist.init_process_group("gloo", timeout=timedelta(hours=1))
rank = dist.get_rank()
with open(f"{folder}/process-{rank}", "w") as file:
    file.write(str(os.getpid()))
hang_in_data = hang in ("loader", "worker")
is_stuck = hang_in_data and rank == int(os.environ["HANG_RANK"])
data = batches(STEPS, 1 if hang == "worker" else 0, hang_step if is_stuck else -1, hung)

torch.manual_seed(0)
model = DistributedDataParallel(torch.nn.Linear(64, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
with milepost.Run(total=STEPS) as run:
    run.phase("training")
    for step, (pixels, classes) in enumerate(data):
        time.sleep(STEP_SECONDS)
        loss = torch.nn.functional.cross_entropy(model(pixels), classes)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        run.push(step=step, loss=loss.item())
        if step == hang_step and not hang_in_data:
            hung()
            if hang == "storage":
                wait_for_storage()
            elif hang == "store":
                dist.distributed_c10d._get_default_store().wait(["never"], timedelta(hours=1))
            # Else somebody else does something to a process.
