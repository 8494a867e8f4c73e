/** Marks on the curves of a job: restarts, suspensions, changes of pod, the rule that stopped it, gaps. */
import type { CurveMark } from "../../crds/wire/shown_curves.ts";
import { boundedText } from "./bounded_text.ts";

/** Most marks of a job, and bytes of their texts. */
export const MARK_LIMITS = { marks: 64, textBytes: 1_024 } as const;

/** Why points may be missing. */
export const GAP_TEXTS = {
  restarted: "Milepost restarted here; points before it may be missing",
  short: "Memory was short; points before it may be missing",
  reading: "The log is still being read; points after it come later",
  gone: "What the job pushed is not kept any more",
} as const;

/** Bytes of the objects of a list, and of one mark, as measured (`deno task bench page`). */
const LIST_BYTES = 56;
const MARK_BYTES = 112;

const secondOf = (timeMs: number) => Math.floor(timeMs / 1000);

/** Shared by the lists that are empty: most are. */
const NONE: readonly never[] = [];

/** The marks of a job by time. Where there are too many, the oldest change of pod gives way, else the oldest mark. */
export class MarkList {
  #marks: readonly CurveMark[] = NONE;
  #bytes = LIST_BYTES;

  get all(): readonly CurveMark[] {
    return this.#marks;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /**
   * Returns the mark as it is kept; undefined if it is there already, perhaps at another moment of its second: who sees
   * a condition later knows only that. A job is stopped once: of two such marks the earlier one is that of the
   * report that decided it, the other that of the condition.
   */
  add({ timeMs, kind, text: whole }: CurveMark): CurveMark | undefined {
    const stop = kind === "stopped" ? this.#marks.find((it) => it.kind === kind) : undefined;
    if (stop !== undefined && stop.timeMs <= timeMs) return undefined;
    this.remove(stop);
    const { text, bytes } = boundedText(whole, MARK_LIMITS.textBytes);
    const isKnown = this.#marks.some((it) =>
      secondOf(it.timeMs) === secondOf(timeMs) && it.kind === kind && it.text === text
    );
    if (isKnown) return undefined;
    const mark = { timeMs, kind, text };
    const later = this.#marks.findIndex((it) => it.timeMs > timeMs);
    this.#marks = this.#marks.toSpliced(later < 0 ? this.#marks.length : later, 0, mark);
    this.#bytes += MARK_BYTES + bytes;
    if (this.#marks.length > MARK_LIMITS.marks) {
      const pod = this.#marks.findIndex((it) => it.kind === "pod");
      this.remove(this.#marks[Math.max(pod, 0)]);
    }
    return mark;
  }

  /** Returns whether there were any. */
  removeAll(kind: CurveMark["kind"]): boolean {
    const all = this.#marks.filter((it) => it.kind === kind);
    all.forEach((it) => this.remove(it));
    return all.length > 0;
  }

  remove(mark: CurveMark | undefined): void {
    if (mark === undefined || !this.#marks.includes(mark)) return;
    this.#marks = this.#marks.filter((it) => it !== mark);
    this.#bytes -= MARK_BYTES + boundedText(mark.text, MARK_LIMITS.textBytes).bytes;
  }
}
