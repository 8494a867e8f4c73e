"""Training that goes on where it was: it begins with its last checkpoint, and saves one every few steps and when it is told to end."""
import json, os, random, signal, sys, time

import milepost

STEPS, SAVE_STEPS = int(os.environ.get("STEPS", "2000")), int(os.environ.get("SAVE_STEPS", "100"))
PATH = os.path.join(os.environ.get("CHECKPOINTS", "/checkpoints"), "last.json")
is_ending = False


def end(*_):
    """Remembers that the pod is to end: it has its grace period, 30 seconds unless the runtime says another."""
    global is_ending
    is_ending = True


def load():
    try:
        with open(PATH) as file:
            return json.load(file)
    except FileNotFoundError:
        return {"step": 0, "weight": 0.0, "bias": 0.0}


def save(state):
    # A pod that is killed here leaves the old checkpoint or the new one, and never half of one.
    with open(PATH + ".new", "w") as file:
        json.dump(state, file)
        file.flush()
        os.fsync(file.fileno())
    os.replace(PATH + ".new", PATH)


def train(state):
    """One step towards y = 3 x + 2. Returns the loss."""
    x = random.uniform(-1, 1)
    error = state["weight"] * x + state["bias"] - (3 * x + 2)
    state["weight"] -= 0.05 * error * x
    state["bias"] -= 0.05 * error
    time.sleep(float(os.environ.get("STEP_SECONDS", "0.01")))
    return error * error


signal.signal(signal.SIGTERM, end)
state = load()
print(f"begins after step {state['step']}", flush=True)
with milepost.Run(total=STEPS) as run:
    while state["step"] < STEPS:
        loss = train(state)
        state["step"] += 1
        must_end = is_ending or run.stop is not None
        if must_end or state["step"] % SAVE_STEPS == 0 or state["step"] == STEPS:
            save(state)
        run.push(step=state["step"], loss=loss)
        if must_end:
            print(f"saved step {state['step']}, and ends", flush=True)
            # Not 0: a pod that exits with 0 has succeeded, also while it is deleted, and is not made again.
            sys.exit(143)
print(f"done at step {state['step']}: y = {state['weight']:.2f} x + {state['bias']:.2f}", flush=True)
