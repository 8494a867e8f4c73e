/** Commands of exec probes and preStop hooks, run to their end within a deadline. */
import type { Clock } from "../../../platform/base/clock.ts";
import { answerInTime } from "../../../platform/base/deadline.ts";
import { type Processes, type ProcessSpec, StartProblem } from "./processes.ts";

/** Output beyond this many bytes is dropped. */
const OUTPUT_BYTES = 16_384;

/**
 * Runs the command and returns its exit code and output. A command that cannot start, or is killed
 * because it takes too long, has failed; the output says why.
 */
export async function runCommand(
  { spec, processes, clock, timeoutMs }: {
    readonly spec: Omit<ProcessSpec, "onOutput">;
    readonly processes: Processes;
    readonly clock: Clock;
    readonly timeoutMs: number;
  },
): Promise<{ exitCode: number; output: string }> {
  const decoder = new TextDecoder();
  let output = "";
  try {
    const process = processes.start({
      ...spec,
      onOutput: (_stream, chunk) => {
        if (output.length < OUTPUT_BYTES) output += decoder.decode(chunk, { stream: true });
      },
    });
    const exitCode = await answerInTime(clock, timeoutMs, undefined, () => process.ended);
    if (exitCode !== undefined) return { exitCode, output };
    await process.stop(0);
    return { exitCode: 1, output: `command took longer than ${timeoutMs} ms` };
  } catch (error) {
    if (error instanceof StartProblem) return { exitCode: 126, output: error.message };
    throw error;
  }
}
