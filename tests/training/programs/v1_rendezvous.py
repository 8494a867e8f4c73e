"""Prints which process of how many it is, and where the master is, from the variables of a v1 job; then trains with program.py."""
import json, os, runpy, socket, time

if "TF_CONFIG" in os.environ:
    config = json.loads(os.environ["TF_CONFIG"])
    cluster, task = config["cluster"], config["task"]
    order = [(kind, index) for kind in ("chief", "worker") for index in range(len(cluster.get(kind, [])))]
    rank, world = order.index((task["type"], task["index"])), len(order)
    host, port = cluster[order[0][0]][order[0][1]].rsplit(":", 1)
    role = f"{task['type']} {task['index']} of {', '.join(f'{len(hosts)} {kind}' for kind, hosts in cluster.items())}"
else:
    rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    host, port = os.environ["MASTER_ADDR"], os.environ["MASTER_PORT"]
    role = "variables"


def address():
    """The master's name is known once its pod has started."""
    for _ in range(100):
        try:
            return socket.gethostbyname(host)
        except OSError:
            time.sleep(0.2)
    return socket.gethostbyname(host)


print("seen " + json.dumps({"rank": rank, "world": world, "master": address(), "port": int(port), "role": role}), flush=True)
# The names by which the examples know the same: those of torchrun, and of Rabit's tracker.
os.environ.update(PET_NODE_RANK=str(rank), PET_NNODES=str(world), PET_MASTER_ADDR=host, PET_MASTER_PORT=port)
os.environ.update(DMLC_TASK_ID=str(rank), DMLC_NUM_WORKER=str(world), DMLC_TRACKER_URI=host, DMLC_TRACKER_PORT=port)
runpy.run_path(os.path.join(os.path.dirname(os.path.abspath(__file__)), "program.py"), run_name="__main__")
