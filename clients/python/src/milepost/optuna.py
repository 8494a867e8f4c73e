"""Optuna: a study whose trials are jobs, pruned while they train."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal

from .errors import SearchError, TrialFailed, needs

if TYPE_CHECKING:
    import optuna

__all__ = ["SearchError", "TrialFailed", "optimize"]


def optimize(
    study: optuna.Study,
    *,
    job: Any,
    space: Callable[[Any], Mapping[str, object] | None],
    objective: str = "loss",
    n_trials: int | None = None,
    parallel: int = 1,
    timeout: float | None = None,
    catch: type[Exception] | Iterable[type[Exception]] = (TrialFailed,),
    callbacks: Iterable[Callable[[Any, Any], None]] | None = None,
    on_interrupt: Literal["stop", "keep"] = "stop",
    namespace: str | None = None,
    api: Any = None,
    address: str | None = None,
    ca: str | None = None,
) -> None:
    """Optimizes a study as `Study.optimize` does, with a job in the cluster as each trial. Needs `milepost[optuna]`.

    `job` is a TrainJob or a job of the v1 kinds: a file, a dict, or an object of the Kubeflow SDK or of Kubernetes' client.
    `space` is called with each trial, suggests its parameters, and returns variables of its trainer by their names; each
    parameter of the study is the variable `KUBEFLOW_TRAINER_OPT_<NAME>` besides. What the pods push as `objective` is
    reported to the trial as it comes, with the step that they push, else counted from 1 in each pod; of a step the first
    value counts. A trial that the study's pruner does not want is stopped; one that completes has its last value.

    At most `parallel` jobs run at a time, made with the rights of the kubeconfig's user. `n_trials` counts the trials of
    this study's jobs, also those of calls before: called again after an interruption, it goes on where it was, follows the
    jobs that run, and makes what is missing. Without it, trials are made until `timeout` seconds have passed or `study.stop()` is called;
    what runs then is waited for. One process at a time may do so for a study, whose storage has no heartbeats.

    A trial fails if its job fails, is deleted, or ends without a value: such a `TrialFailed` is raised unless it is one of
    `catch`, as it is by default. `callbacks` are those of `Study.optimize`. After Ctrl-C, or an error of `space` or of a callback,
    jobs are stopped and their trials fail; with `on_interrupt="keep"` both go on, for the next call. `namespace` is that of the jobs, by default that of `job`, else of the
    kubeconfig; `api`, `address` and `ca` are as those of `milepost.job`. Raises `SearchError` or another `ReadingError` that says
    what to do; after one of these, too, jobs go on.
    """
    try:
        from .search.cluster import Cluster
        from .search.loop import JOBS_MAX, Search
        from .search.study import objective_of
        from .search.template_source import template_of
        from .search.trial_jobs import TrialJobs
    except ImportError as error:
        raise needs(error, "optimizing a study", "optuna") from None
    if parallel < 1 or not 0 <= (n_trials or 0) <= JOBS_MAX or on_interrupt not in ("stop", "keep"):
        raise SearchError(f'parallel is 1 or more, n_trials 0 to {JOBS_MAX}, and on_interrupt "stop" or "keep"')
    trials = JOBS_MAX if n_trials is None else n_trials
    caught = (catch,) if isinstance(catch, type) else tuple(catch)
    jobs = TrialJobs(template_of(job), objective_of(study, objective))
    search = Search(study, jobs, Cluster(jobs, namespace, api, address, ca), objective)
    end = math.inf if timeout is None else timeout
    search.run(space, trials, parallel, end, caught, callbacks or (), keeps=on_interrupt == "keep")
