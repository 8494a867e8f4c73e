"""The same with PyTorch on several processes, which torchrun starts: all of them leave at the same step, and rank 0 saves."""
import os, signal, sys, time

import milepost
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

STEPS, SAVE_STEPS = int(os.environ.get("STEPS", "2000")), int(os.environ.get("SAVE_STEPS", "100"))
PATH = os.path.join(os.environ.get("CHECKPOINTS", "/checkpoints"), "last.pt")
is_ending = False


def end(*_):
    global is_ending
    is_ending = True


signal.signal(signal.SIGTERM, end)  # torchrun hands the signal on to its processes.
gpu = torch.cuda.is_available()
dist.init_process_group("nccl" if gpu else "gloo")
rank = dist.get_rank()
device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if gpu else torch.device("cpu")
model = DistributedDataParallel(torch.nn.Linear(8, 1).to(device), device_ids=[device.index] if gpu else None)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
step = 0
if os.path.exists(PATH):  # Every process reads what rank 0 has written: the volume is that of all pods.
    saved = torch.load(PATH, map_location=device)
    model.module.load_state_dict(saved["model"])
    optimizer.load_state_dict(saved["optimizer"])
    step = saved["step"]
if rank == 0:
    print(f"begins after step {step}", flush=True)


def save():
    state = {"step": step, "model": model.module.state_dict(), "optimizer": optimizer.state_dict()}
    torch.save(state, PATH + ".new")
    os.replace(PATH + ".new", PATH)


with milepost.Run(total=STEPS) as run:  # Only the process with rank 0 pushes, and hears a stop.
    while step < STEPS:
        inputs = torch.randn(32, 8, device=device)
        loss = (model(inputs) - inputs.sum(1, keepdim=True)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
        time.sleep(float(os.environ.get("STEP_SECONDS", "0")))
        # One process hears it before the others. None may leave alone: the others would wait for its gradients.
        heard = torch.tensor(float(is_ending or run.stop is not None), device=device)
        dist.all_reduce(heard)
        must_end = heard.item() > 0
        if rank == 0:
            if must_end or step % SAVE_STEPS == 0 or step == STEPS:
                save()
            run.push(step=step, loss=loss)
        if must_end:
            if rank == 0:
                print(f"saved step {step}, and ends", flush=True)
            sys.exit(143)  # Not 0: a pod that exits with 0 has succeeded, and is not made again.
if rank == 0:
    print(f"done at step {step}: loss {loss.item():.6f}", flush=True)
dist.destroy_process_group()
