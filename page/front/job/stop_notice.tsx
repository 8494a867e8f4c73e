/** Notice of a stop: its grace counting down, and what came of it. */
import type { JobDetails } from "./job_details.ts";
import { Hostile, Moment } from "../marks_and_signs.tsx";
import { now } from "../page_state.ts";
import { durationText } from "../readable_text.ts";
import { podsWords, stopPhase } from "./stop_words.ts";
import type { Row } from "../feed/view_answers_read.ts";

/** Who asked for it, and why. */
function Why({ stop }: { stop: NonNullable<JobDetails["stop"]> }) {
  return (
    <>
      <code>
        <Hostile text={stop.reason} />
      </code>
      {stop.message !== "" && (
        <>
          : <Hostile text={stop.message} />
        </>
      )} {stop.user !== "" && !stop.message.endsWith(`by ${stop.user}`) && (
        <span class="quiet">
          (requested by <Hostile text={stop.user} />)
        </span>
      )}
    </>
  );
}

/** The notice; nothing if nobody has stopped the job. */
export function StopNotice(
  { row, details }: { row: Row | undefined; details: JobDetails | undefined },
) {
  const stop = details?.stop;
  if (stop === undefined) return null;
  const { pods, conditions } = details ?? { pods: [], conditions: [] };
  const phase = stopPhase({
    stop,
    state: row?.state ?? "",
    pods,
    conditions,
    reportedMs: row?.updatedMs,
  }, now.value);
  if (phase.phase === "stopped") {
    return (
      <p class="grace" role="status">
        <b>{stop.graceSeconds === 0 ? "Stopped immediately" : "Stopped early"}</b>
        {stop.graceSeconds === 0 && " (no grace period)"}
        {stop.graceSeconds > 0 && phase.tookSeconds !== undefined &&
          ` after ${durationText(phase.tookSeconds)} of ${durationText(stop.graceSeconds)} grace`}:
        {" "}
        <Why stop={stop} />
      </p>
    );
  }
  if (phase.phase === "ended") {
    return (
      <p class="grace" role="status">
        A stop was requested at <Moment timeMs={stop.timeMs} />; the job ended by itself first:{" "}
        <Why stop={stop} />
      </p>
    );
  }
  return (
    <p class="grace" role="timer">
      <b>Stopping</b>: <Why stop={stop} /> {phase.phase === "grace"
        ? (
          <>
            Its pods have <span class="number">{durationText(phase.leftSeconds)}</span>{" "}
            left to save their work.
          </>
        )
        : "The grace period is over; its pods are being stopped."} {podsWords(phase)}
    </p>
  );
}
