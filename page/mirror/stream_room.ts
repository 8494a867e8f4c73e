/** Room of a stream from the manager: its jobs, namespaces and length of its path, counted as jobs come and go. Pure. */
import type { JobRef } from "../../crds/job_kind.ts";
import { CURVE_LIMITS } from "../../crds/wire/view_limits.ts";
import { LIST_LIMITS } from "../../crds/wire/list_query.ts";
import { queryText, streamParameters, streamPath } from "./manager_news.ts";

/** Longest path of a stream: servers bound the header of a request. */
const PATH_CHARACTERS = 12_000;

/** The parameters that a job needs in the path. */
const partsOf = (job: JobRef) =>
  streamParameters([job]).map(([name, value]) => ({ name, text: queryText([[name, value]]) }));

/** What the jobs of one stream take of its bounds. */
export class StreamRoom {
  #jobs = 0;
  #namespaces = 0;
  #characters = streamPath([]).length;
  /** How many jobs need each parameter of the path, by its text. */
  readonly #needed = new Map<string, number>();

  /** Length of the path. */
  get characters(): number {
    return this.#characters;
  }

  hasRoomFor(job: JobRef): boolean {
    if (this.#jobs >= CURVE_LIMITS.jobs) return false;
    const added = partsOf(job).filter(({ text }) => !this.#needed.has(text));
    const namespaces = added.filter(({ name }) => name === "namespace").length;
    const characters = added.reduce((sum, { text }) => sum + text.length + 1, 0);
    return this.#namespaces + namespaces <= LIST_LIMITS.namespaces &&
      this.#characters + characters <= PATH_CHARACTERS;
  }

  add(job: JobRef): void {
    this.#jobs++;
    for (const part of partsOf(job)) {
      const before = this.#needed.get(part.text) ?? 0;
      this.#needed.set(part.text, before + 1);
      if (before === 0) this.#count(part, 1);
    }
  }

  remove(job: JobRef): void {
    this.#jobs--;
    for (const part of partsOf(job)) {
      const left = (this.#needed.get(part.text) ?? 1) - 1;
      this.#needed.set(part.text, left);
      if (left > 0) continue;
      this.#needed.delete(part.text);
      this.#count(part, -1);
    }
  }

  #count({ name, text }: ReturnType<typeof partsOf>[number], sign: 1 | -1): void {
    this.#characters += sign * (text.length + 1);
    if (name === "namespace") this.#namespaces += sign;
  }
}
