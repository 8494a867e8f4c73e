/**
 * Bounds of a job's pods and of the texts that name each of them (docs/decisions/0066). Pure. Every controller asks here
 * before it makes anything for each pod: counts come from whoever writes the object, and may be 2³¹-1.
 */
import { type FieldProblem, invalid } from "../crds/field_problem.ts";
import { JOB_LIMITS } from "../crds/job_limits.ts";

/** A number that asks for pods. */
export interface PodCount {
  /** Where the number is, and what stands there. */
  readonly field: string;
  readonly value: unknown;
  /** What the number counts, if the field does not say it. */
  readonly of?: string;
  readonly pods: number;
}

/** Returns the problem of a job that asks for more pods than it may have; a negative number asks for none. */
export function podCountProblem(
  counts: readonly PodCount[],
  maxPods: number,
): FieldProblem | undefined {
  const total = counts.reduce((sum, { pods }) => sum + Math.max(0, pods), 0);
  const [largest] = counts.toSorted((one, other) => other.pods - one.pods);
  // What is no number is not within the bound either.
  if (largest === undefined || total <= maxPods) return undefined;
  const { field, value, of } = largest;
  const message = `${of === undefined ? "" : `${of} `}makes ${total} pods of the job, at most ` +
    `${maxPods} are allowed: ask for fewer, or have --max-pods-per-job of the manager raised`;
  return invalid(field, value, message);
}

/** A text that names every pod of a job. */
export interface PodList {
  /** Where the number is that makes it long, and what stands there. */
  readonly field: string;
  readonly value: unknown;
  /** As messages name the text. */
  readonly name: string;
  /** The text, piece by piece. */
  readonly pieces: Iterable<string>;
  readonly maxBytes: number;
}

const encoder = new TextEncoder();

/** Returns the problem of a text that is too long; it reads no further than the bound, and makes no text. */
export function podListProblem(
  { field, value, name, pieces, maxBytes }: PodList,
): FieldProblem | undefined {
  let bytes = 0;
  for (const piece of pieces) {
    // A piece may be long itself: its characters are bytes at least.
    bytes += piece.length > maxBytes ? piece.length : encoder.encode(piece).length;
    if (bytes <= maxBytes) continue;
    const message =
      `makes ${name} longer than ${maxBytes} bytes, which is the bound: ask for fewer ` +
      "pods, or use shorter names";
    return invalid(field, value, message);
  }
  return undefined;
}

/** Returns how many bytes the value of a variable may have of which an object has so many copies. */
export function variableBytes(name: string, copies: number): number {
  const { variableBytes, variablesBytes } = JOB_LIMITS;
  return Math.min(
    variableBytes - name.length - 1,
    Math.floor(variablesBytes / Math.max(1, copies)),
  );
}
