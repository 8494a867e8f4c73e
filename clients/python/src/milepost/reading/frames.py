"""Curves of jobs as pandas frames: over the time, over the steps of the training, and several as lines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from ..errors import BadName, MetricNotFound, needs

# What lines are over, in the words of the page: the steps, the seconds since a job's first report, or times.
Over = Literal["step", "time", "wall clock"]
_INDEX_NAMES: dict[Over, str] = {"step": "step", "time": "seconds", "wall clock": "time"}
# Columns beside those of metrics.
_STEP, _NON_FINITE = "step", "nonfinite"


def is_metric(curve: dict[str, Any]) -> bool:
    """Returns whether a curve is of a metric's numbers: progress, step, and when it was none, come as curves, too."""
    return not any(curve.get(it) for it in ("isProgress", "isStep", "isNonFinite"))


@dataclass(frozen=True)
class Lines:
    """Metrics of a job by time: `values` is a frame with a column for each, `steps` a series, empty if pods push none.

    `own` is a frame like `values` with the step of a value where that may be another than the last one of its time.
    `codes` and `own_of_codes` are the same of when a metric was no finite number: 0 for NaN, 1 and -1 for the infinities.
    """

    job: str
    values: Any
    steps: Any
    own: Any
    codes: Any
    own_of_codes: Any

    @classmethod
    def of(cls, job: str, curves: Sequence[dict[str, Any]]) -> Lines:
        """Returns the lines of the curves of a job, which errors call so. Raises `NotInstalled` without pandas."""
        pandas = _pandas()

        def series(curve: dict[str, Any], place: int) -> Any:
            points = curve["points"]
            times = pandas.to_datetime([point[0] for point in points], unit="ms", utc=True)
            return pandas.Series([point[place] if place < len(point) else None for point in points], index=times, dtype=float)

        of_metrics = [curve for curve in curves if is_metric(curve)]
        of_codes = [curve for curve in curves if curve.get("isNonFinite") and curve["points"]]
        values, own, codes, own_of_codes = (
            pandas.DataFrame({curve["name"]: series(curve, place) for curve in chosen})
            for chosen in (of_metrics, of_codes) for place in (3, 4)
        )  # fmt: skip
        steps: dict[str, Any] = next((curve for curve in curves if curve.get("isStep")), {"points": []})
        return cls(job, values, series(steps, 3), own, codes, own_of_codes)

    @property
    def has_steps(self) -> bool:
        """Whether pods push the step of the training."""
        return len(self.steps) > 0

    def frame(self) -> Any:
        """Returns the metrics, behind the step of each row if there are steps: those of one time may have several.

        If a metric was ever NaN or infinite, the last column names those that were so in a row. Of one that had a number at
        the same time and step, too, the row has the number.
        """
        pandas = _pandas()
        before, behind = [_STEP] if self.has_steps else [], [] if self.codes.empty else [_NON_FINITE]
        names = [*self.values, *self.codes]
        column = {name: f"{name} (metric)" if name in [*before, *behind] else name for name in names}

        def rows(name: str, values: Any, own: Any) -> Any:
            known = values.dropna()
            steps = own.reindex(known.index).fillna(self.steps.reindex(known.index))
            return pandas.DataFrame({_STEP: steps, column[name]: known})

        made = [rows(name, values, self.own[name]) for name, values in self.values.items()]
        for name, codes in self.codes.items():
            # Of 0, 1 and -1 these are NaN and the infinities.
            of_codes = rows(name, codes, self.own_of_codes[name])
            made.append(of_codes.assign(**{column[name]: of_codes[column[name]] / 0, _NON_FINITE: column[name]}))
        frame = pandas.concat([pandas.DataFrame({_STEP: self.steps}).iloc[:0], *made])
        places = frame.groupby([frame.index, _STEP], dropna=False)
        frame = places.first()
        for one in behind:
            frame[one] = places[one].agg(lambda names: ", ".join(names.dropna()))
        frame = frame.reset_index(_STEP)[[*before, *column.values(), *behind]]
        frame.index.name = "time"
        return frame

    def line(self, metric: str, over: Over) -> Any:
        """Returns the values of a metric at their places. Raises `MetricNotFound` if steps are asked for and there are none."""
        values = self.values[metric].dropna()
        if over == "wall clock":
            return values
        if over == "time":
            return values.set_axis((values.index - self.values.index.min()).total_seconds())
        if not self.has_steps:
            raise MetricNotFound(f'{self.job} has pushed no steps: give over="time"')
        # A value without a step is between those before and after it; before the first step it has no place.
        steps = self.steps.reindex(self.steps.index.union(values.index)).interpolate(method="index").reindex(values.index)
        steps = self.own[metric].reindex(values.index).fillna(steps)
        # What was trained again after a restart replaces what came before, from its first step on.
        is_newest = steps <= steps[::-1].cummin()[::-1]
        return values[is_newest].set_axis(steps[is_newest]).groupby(level=0).last()


def lines_over(columns: Mapping[str, tuple[Lines, str]], over: Over) -> Any:
    """Returns metrics of jobs as columns without gaps: values between those of each are on its line.

    A job that has no such metric has an empty column. Raises `MetricNotFound` if one has no steps and they are asked for.
    """
    pandas = _pandas()
    if over not in get_args(Over):
        raise BadName(f"over is {', '.join(map(repr, get_args(Over)))}, and not {over!r}")
    made = {column: lines.line(metric, over) for column, (lines, metric) in columns.items() if metric in lines.values}
    frame = pandas.DataFrame(made, dtype=float).sort_index().interpolate(method="index", limit_area="inside")
    # Those without values come now: an index of another kind would make that of all one of mere objects.
    frame = frame.reindex(columns=list(columns))
    frame.index.name = _INDEX_NAMES[over]
    return frame


def _pandas() -> Any:
    try:
        import pandas
    except ImportError as error:
        raise needs(error) from None
    return pandas
