"""Benchmark of `push`: how long a training loop is held up, while all it pushes is sent over TLS.

Prints one line of JSON. The endpoint is another process, so that it takes no time of the training's interpreter.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import milepost

_SERVER = """
import json, sys
from pathlib import Path
from tests.tls_server import TlsServer
server = TlsServer(Path(sys.argv[1]))
print(json.dumps(server.environ), flush=True)
sys.stdin.read()
print(json.dumps([len(server.taken), server.steps()[-1]]), flush=True)
server.stop()
"""


def loop(run: milepost.Run, pushes: int, step_s: float) -> list[int]:
    """Pushes so many times, with work in between. Returns the nanoseconds of each push."""
    times = []
    loss = 2.0
    for step in range(pushes):
        until = time.perf_counter() + step_s
        while time.perf_counter() < until:
            loss = loss * 0.999999 + 1e-9
        began = time.perf_counter_ns()
        run.push(step=step, loss=loss, accuracy=0.5, lr=0.001)
        times.append(time.perf_counter_ns() - began)
    return sorted(times)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--pushes", type=int, default=20_000)
    arguments.add_argument("--step-ms", type=float, default=0.5)
    given = arguments.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        server = subprocess.Popen(
            [sys.executable, "-c", _SERVER, folder],
            cwd=Path(__file__).parent.parent,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert server.stdin is not None and server.stdout is not None
        environ = json.loads(server.stdout.readline())
        # The same loop without a job: what the machine itself does to it.
        beside = loop(milepost.Run(environ={}), given.pushes, given.step_ms / 1000)
        with milepost.Run(total=given.pushes, environ=environ) as run:
            times = loop(run, given.pushes, given.step_ms / 1000)
        server.stdin.close()
        samples, last = json.loads(server.stdout.readline())
        server.wait(30)
    result: dict[str, float] = {"samples": samples, "last": last, "pushes": len(times)}
    for name, sorted_times in (("push", times), ("beside", beside)):
        for quantile in (0.5, 0.99, 0.999):
            result[f"{name}_p{100 * quantile:g}_us"] = sorted_times[int(len(sorted_times) * quantile)] / 1000
    print(json.dumps(result))


if __name__ == "__main__":
    main()
