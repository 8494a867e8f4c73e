"""Parts of a run: who sends what this process has to say, which depends on its place in the job."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from .clock import Clock, SystemClock
from .echo import EchoEndpoint, print_sample
from .endpoint import Endpoint, HttpsEndpoint
from .heart import Heart
from .intake import Intake
from .notices import Notices
from .pod_folder import PodFolder
from .samples import Estimate
from .sender import Sender
from .surroundings import Place, local_rank_of, rank_of
from .whereabouts import Whereabouts
from .worker import Worker

# How long the end of a process may wait that has nothing to push: only for the request that is under way.
_PATIENCE_S = 0.2


@dataclass(frozen=True)
class Parts:
    """What works for a run."""

    intake: Intake
    sender: Sender
    worker: Worker
    # Whether its samples are those of the job.
    pushes: bool
    # None: nobody is told where this process is.
    whereabouts: Whereabouts | None


@dataclass(frozen=True)
class Wishes:
    """What the program said of its run."""

    total: int | None
    echo: bool
    rank: int | None
    patience: float
    heartbeat: bool
    endpoint: Endpoint | None
    clock: Clock | None
    chance: Callable[[], float] | None


def parts_of(wishes: Wishes, environ: Mapping[str, str], place: Place | None, notices: Notices) -> Parts | None:
    """Begins the parts of a run; None if this process has nothing to say to anybody."""
    clock, chance = wishes.clock or SystemClock(), wishes.chance or random.random
    rank = rank_of(environ) if wishes.rank is None else int(wishes.rank)
    pushes, is_first = rank == 0, rank == 0 or local_rank_of(environ) == 0
    beats = wishes.heartbeat and (place is not None or wishes.endpoint is not None)
    folder = _folder_of(place, rank, clock, is_first=is_first) if beats and place is not None else None
    # The first process of a pod speaks for the others.
    endpoint = (wishes.endpoint or _endpoint_of(place, wishes.echo and pushes)) if is_first else folder
    if endpoint is None or not (pushes or beats):
        return None
    intake, whereabouts, heart = Intake(clock), None, None
    if beats:
        whereabouts = Whereabouts(rank, clock)
        heart = Heart(
            whereabouts, folder, pushes=pushes, is_first=is_first, random=chance, now=clock.monotonic()
        )
    sender = Sender(
        intake,
        endpoint,
        clock=clock,
        random=chance,
        estimate=Estimate(wishes.total),
        notices=notices,
        container="" if place is None else place.container,
        echo=print_sample if wishes.echo else None,
        heart=heart,
    )
    patience = wishes.patience if pushes else min(wishes.patience, _PATIENCE_S)
    worker = Worker(intake, sender, endpoint, clock=clock, chance=chance, notices=notices, patience=patience)
    return Parts(intake, sender, worker, pushes, whereabouts)


def _folder_of(place: Place, rank: int, clock: Clock, *, is_first: bool) -> PodFolder | None:
    """Returns the folder of this pod; None where nothing can be written, and each process is by itself."""
    try:
        folder = PodFolder(place, rank, clock)
        if is_first:
            folder.begin()
    except (OSError, AttributeError):  # Only POSIX has users with numbers.
        return None
    return folder


def _endpoint_of(place: Place | None, echo: bool) -> Endpoint | None:
    if place is not None:
        return HttpsEndpoint(place)
    return EchoEndpoint() if echo else None
