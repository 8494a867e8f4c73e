/** Cache of the jobs of one kind over the places where one user may list them: everywhere, or some namespaces. */
import type { AnyJob } from "../../crds/job_kind.ts";
import { type Change, type Informer, tell } from "../../platform/kube/watching/informer.ts";
import type { ObjectKey } from "../../platform/kube/resource.ts";
import type { JobCache } from "../api/job_view.ts";

/** All namespaces at once. */
export const EVERYWHERE = "";

type Listener = (change: Change<AnyJob>) => void;
type JobInformer = Pick<
  Informer<AnyJob>,
  "get" | "list" | "onChange" | "synced" | "whenSynced" | "run"
>;

interface Member {
  readonly informer: JobInformer;
  readonly stop: AbortController;
}

/** The cache. Its places come and go with rights, and with what is looked at. */
export class KindCache implements JobCache {
  readonly #members = new Map<string, Member>();
  readonly #listeners = new Set<Listener>();
  readonly #running = new Set<Promise<void>>();
  #isPlanned = false;
  /** Whether the API server does not serve the kind. */
  resting = false;

  constructor(
    private readonly kind: string,
    /** Creates the informer of a place. */
    private readonly informerOf: (place: string) => JobInformer,
  ) {}

  get(key: ObjectKey | string): AnyJob | undefined {
    for (const { informer } of this.#members.values()) {
      const job = informer.get(key);
      if (job !== undefined) return job;
    }
    return undefined;
  }

  list(namespace?: string): AnyJob[] {
    return [...this.#members.values()].flatMap(({ informer }) => informer.list(namespace));
  }

  onChange(listener: Listener): () => void {
    this.#listeners.add(listener);
    for (const object of this.list()) tell(this.kind, listener, { type: "added", object });
    return () => void this.#listeners.delete(listener);
  }

  /** Whether it was found out what the user may list, and that was listed. */
  get synced(): boolean {
    return this.#isPlanned && [...this.#members.values()].every(({ informer }) => informer.synced);
  }

  /** Returns whether the jobs of a place are held, or about to be. */
  has(place: string): boolean {
    return this.#members.has(EVERYWHERE) || this.#members.has(place);
  }

  /** Holds these places, and no others. */
  set(places: readonly string[]): void {
    for (const place of [...this.#members.keys()]) {
      if (!places.includes(place)) this.remove(place);
    }
    for (const place of places) this.add(place);
    this.#isPlanned = true;
  }

  /** Holds one more place. */
  add(place: string): void {
    if (this.#members.has(place)) return;
    const informer = this.informerOf(place);
    const stop = new AbortController();
    this.#members.set(place, { informer, stop });
    informer.onChange((change) => {
      for (const listener of [...this.#listeners]) tell(this.kind, listener, change);
    });
    const running: Promise<void> = informer.run(stop.signal)
      .finally(() => this.#running.delete(running));
    this.#running.add(running);
  }

  /** Resolves when the first list of a place is there, or `signal` aborts. */
  async whenHeld(place: string, signal: AbortSignal): Promise<void> {
    const member = this.#members.get(EVERYWHERE) ?? this.#members.get(place);
    await member?.informer.whenSynced(signal);
  }

  /** Holds nothing any more; resolves when nothing runs. */
  async close(): Promise<void> {
    for (const place of [...this.#members.keys()]) this.remove(place);
    await Promise.all(this.#running);
  }

  /** Holds a place no more. */
  remove(place: string): void {
    const member = this.#members.get(place);
    if (member === undefined) return;
    this.#members.delete(place);
    member.stop.abort();
    for (const object of member.informer.list()) {
      for (const listener of [...this.#listeners]) {
        tell(this.kind, listener, { type: "left", object });
      }
    }
  }
}
