"""Training on two nodes that wait for each other in each step, as processes that share gradients do: if one hangs, both make no step."""
import os, time

import milepost

STEPS, SAVE_STEPS = int(os.environ.get("STEPS", "20000")), 50
FOLDER = os.environ.get("CHECKPOINTS", "/checkpoints")
rank, nodes = int(os.environ["JOB_COMPLETION_INDEX"]), 2


def put(name, number):
    with open(f"{FOLDER}/{name}.new", "w") as file:
        file.write(str(number))
    os.replace(f"{FOLDER}/{name}.new", f"{FOLDER}/{name}")


def number(name):
    try:
        with open(f"{FOLDER}/{name}") as file:
            return int(file.read())
    except FileNotFoundError:
        return 0


resumption = milepost.resume()
run_number = resumption.restart if resumption else 0  # What the nodes say of an earlier run is none of this one's.
step = number("checkpoint")
print(f"run {run_number} begins after step {step}", flush=True)
with milepost.Run(total=STEPS) as run:
    run.phase("training")
    while step < STEPS:
        step += 1
        put(f"node-{run_number}-{rank}", step)
        while any(number(f"node-{run_number}-{other}") < step for other in range(nodes)):
            time.sleep(0.01)
        time.sleep(0.05)
        run.push(step=step, loss=1 / step)
        if step % SAVE_STEPS == 0 and rank == 0:
            put("checkpoint", step)
            run.checkpoint(step, f"{FOLDER}/checkpoint")
