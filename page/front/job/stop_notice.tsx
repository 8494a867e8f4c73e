/** Notice of a stop: its grace counting down, and what came of it. */
import type { JobDetails } from "./job_details.ts";
import { Hostile, Moment } from "../marks_and_signs.tsx";
import { now } from "../page_state.ts";
import { durationText } from "../readable_text.ts";
import { podsWords, stoppedWords, stopPhase, whyWords } from "./stop_words.ts";
import type { Row } from "../feed/view_answers_read.ts";

/** The notice; nothing if nobody has stopped the job. */
export function StopNotice(
  { row, details }: { row: Row | undefined; details: JobDetails | undefined },
) {
  const stop = details?.stop;
  if (stop === undefined) return null;
  const { pods, conditions } = details ?? { pods: [], conditions: [] };
  const job = { stop, state: row?.state ?? "", pods, conditions, reportedMs: row?.updatedMs };
  const phase = stopPhase(job, now.value);
  const isOver = phase.phase === "stopped" || phase.phase === "ended";
  return (
    <p class="grace" role={isOver ? "status" : "timer"}>
      {phase.phase === "ended"
        ? (
          <>
            A stop was requested at <Moment timeMs={stop.timeMs} />; the job ended by itself first
          </>
        )
        : <b>{phase.phase === "stopped" ? stoppedWords(stop, phase.tookSeconds) : "Stopping"}</b>}
      : <Hostile text={whyWords(stop)} /> {phase.phase === "grace" && (
        <>
          Its pods have <span class="number">{durationText(phase.leftSeconds)}</span>{" "}
          left to save their work.
        </>
      )}
      {phase.phase === "late" && "The grace period is over; its pods are being stopped."}{" "}
      {(phase.phase === "grace" || phase.phase === "late") && podsWords(phase)}
    </p>
  );
}
