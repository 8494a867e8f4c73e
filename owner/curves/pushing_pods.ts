/** Pods that push for a job, and changes among them. */
import { RANDOM_END } from "../../platform/base/random_suffix.ts";
import { boundedText } from "./bounded_text.ts";

/** A pod by what identifies it. */
export interface PushingPod {
  readonly name: string;
  readonly uid: string;
}

/**
 * - `same`: nothing has changed.
 * - `replaced`: a pod of that name was another one before, apart from the random end of the name.
 * - `joined`: a pod of a name that has not pushed before. Either it took the place of the one before, or both push.
 * - `returned`: a known pod pushes after others did: so those that joined push beside it.
 */
export type PodChange = "same" | "replaced" | "joined" | "returned";

/** Most pods of a job that are told apart, and bytes of a name and a UID. */
const LIMITS = { pods: 64, textBytes: 256 } as const;

/** Bytes of the objects of a list, and of one pod, as measured (`deno task bench page`). */
const LIST_BYTES = 56;
const POD_BYTES = 104;

interface KnownPod {
  /** Its name without the random end. */
  readonly role: string;
  uid: string;
}

/** The pods that have pushed for one job. */
export class PushingPods {
  #known: readonly KnownPod[] = [];
  #last: KnownPod | undefined;
  #bytes = LIST_BYTES;

  get bytes(): number {
    return this.#bytes;
  }

  has(uid: string): boolean {
    return this.#known.some((it) => it.uid === uid);
  }

  /** Takes note of a push. The first pod of a job is no change, nor are those for which there is no room. */
  pushed({ name, uid }: PushingPod): PodChange {
    if (this.#last?.uid === uid) return "same";
    const role = name.replace(RANDOM_END, "");
    const known = this.#known.find((it) => it.role === role);
    if (known === undefined) return this.#join(role, uid);
    this.#last = known;
    if (known.uid === uid) return "returned";
    known.uid = boundedText(uid, LIMITS.textBytes).text;
    return "replaced";
  }

  #join(role: string, uid: string): PodChange {
    if (this.#known.length >= LIMITS.pods) return "same";
    const [name, id] = [boundedText(role, LIMITS.textBytes), boundedText(uid, LIMITS.textBytes)];
    const isFirst = this.#known.length === 0;
    this.#last = { role: name.text, uid: id.text };
    // Not push(), which would reserve room for some twenty more.
    this.#known = [...this.#known, this.#last];
    this.#bytes += POD_BYTES + name.bytes + id.bytes;
    return isFirst ? "same" : "joined";
  }
}
