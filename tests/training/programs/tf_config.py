"""Reads TF_CONFIG as TensorFlow does, and trains with it what needs nothing but Python: the chief, or worker 0, adds up."""
import json, os, runpy

config = json.loads(os.environ["TF_CONFIG"])
cluster, task = config["cluster"], config["task"]
order = [(kind, index) for kind in ("chief", "worker") for index in range(len(cluster.get(kind, [])))]
first_kind, first_index = order[0]
host, port = cluster[first_kind][first_index].rsplit(":", 1)
rank = order.index((task["type"], task["index"]))
os.environ.update(
    PET_NODE_RANK=str(rank), PET_NNODES=str(len(order)), PET_MASTER_ADDR=host, PET_MASTER_PORT=port,
)
runpy.run_path(os.path.join(os.path.dirname(os.path.abspath(__file__)), "train.py"), run_name="__main__")
if rank == 0:
    print(f"TF_CONFIG: {task['type']} {task['index']} of {len(order)} at {host}:{port} is done")
