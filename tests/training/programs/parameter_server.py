"""Reads the cluster from the arguments of a TFJob of 2018. A parameter server says its name; workers ask each of them, and train with program.py."""
import argparse, os, runpy, socket, time

parser = argparse.ArgumentParser()
for name in ("worker_hosts", "ps_hosts", "job_name"):
    parser.add_argument(f"--{name}", required=True)
parser.add_argument("--task_index", required=True, type=int)
flags = parser.parse_args()
workers, servers = ([host.rsplit(":", 1) for host in hosts.split(",")] for hosts in (flags.worker_hosts, flags.ps_hosts))
me = f"{flags.job_name} {flags.task_index}"


def ask(host, port):
    """The name of a parameter server is known once its pod has started, and answers a moment later."""
    for last in [False] * 150 + [True]:
        try:
            with socket.create_connection((host, int(port)), timeout=5) as server:
                return server.makefile().readline().strip()
        except OSError:
            if last:
                raise
            time.sleep(0.2)


if flags.job_name == "ps":
    host, port = servers[flags.task_index]
    listener = socket.create_server((host, int(port)))
    while True:
        with listener.accept()[0] as peer:
            peer.sendall(f"{me}\n".encode())

print(f"{me} of {len(workers)} knows {', '.join(ask(*server) for server in servers)}", flush=True)
host, port = workers[0]
os.environ.update(PET_NODE_RANK=str(flags.task_index), PET_NNODES=str(len(workers)), PET_MASTER_ADDR=host, PET_MASTER_PORT=port)
runpy.run_path(os.path.join(os.path.dirname(os.path.abspath(__file__)), "program.py"), run_name="__main__")
