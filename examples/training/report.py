"""Client that reports the progress of a training run to Milepost. Copy it: it needs nothing but the injected variables."""
import json, os, ssl, sys, time, urllib.request
from datetime import datetime, timezone

url = os.environ.get("KUBEFLOW_TRAINER_STATUS_URL")
container = os.environ.get("KUBEFLOW_TRAINER_STATUS_CONTAINER")
pause = float(os.environ.get("REPORT_PAUSE_MS", "200")) / 1000
_reported_at = 0.0


def report(progress, seconds_left, step, **metrics):
    """Reports progress in percent, the seconds that are left, and metrics of a step; at most five times a second
    (or after each REPORT_PAUSE_MS), but for the last one. Training goes on whether it works or not."""
    global _reported_at
    if not url or (progress < 100 and time.monotonic() - _reported_at < pause):
        return
    _reported_at = time.monotonic()
    body = {"trainerStatus": {
        "progressPercentage": int(progress),
        "estimatedRemainingSeconds": max(0, round(seconds_left)),
        "metrics": [{"name": name, "value": f"{value:.4f}"} for name, value in metrics.items()],
        "step": step,
        "lastUpdatedTime": datetime.now(timezone.utc).isoformat(),
    }}
    if container:
        body["container"] = container
    try:
        # Both files are renewed while the pod runs, so they are read each time.
        with open(os.environ["KUBEFLOW_TRAINER_STATUS_TOKEN"]) as file:
            headers = {"Authorization": f"Bearer {file.read()}", "Content-Type": "application/json"}
        trust = ssl.create_default_context(cafile=os.environ["KUBEFLOW_TRAINER_STATUS_CA_CERT"])
        request = urllib.request.Request(url, json.dumps(body).encode(), headers, method="POST")
        urllib.request.urlopen(request, timeout=5, context=trust).close()
    except OSError as error:
        print(f"progress was not taken: {error}", file=sys.stderr)
