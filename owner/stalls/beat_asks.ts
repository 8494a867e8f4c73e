/** Heartbeats on their way to the owner: those of a second in one question, the newest of each pod. */
import { z } from "zod";
import type { JobKinds } from "../../crds/job_kinds.ts";
import { jobMessage, jobMessageSchema } from "../../crds/wire/job_message.ts";
import { heartbeatSchema } from "../../crds/wire/heartbeat.ts";
import { nameSchema, uidSchema } from "../../crds/wire/message_fields.ts";
import type { Beat, TakeBeat } from "../../crds/wire/push.ts";
import type { Clock } from "../../platform/base/clock.ts";
import type { AskOwner } from "../../platform/http/replicas/owner_router.ts";
import type { AskKind } from "../ask_kind.ts";
import { ASK_MAX_BYTES } from "../replicas/forward_asks.ts";

/** Pods whose heartbeats wait; more are dropped. */
const MAX_PODS = 20_000;
/** From one question to the next, in milliseconds. */
const INTERVAL_MS = 1_000;
/** Heartbeats of one question, and bytes that it has beside them. */
const [BEATS, REST_BYTES] = [64, 512];

/** Heartbeats that go together. */
export interface BeatsAsk {
  readonly beats: readonly Beat[];
}

/** Heartbeats of pods, on any replica. */
export function beatAsks(kinds: JobKinds): AskKind<BeatsAsk, { taken: number }> {
  const beat = heartbeatSchema.extend({
    job: jobMessageSchema(kinds),
    pod: z.object({ name: nameSchema, uid: uidSchema }),
  });
  return {
    name: "beats",
    write: ({ beats }) => ({ beats: beats.map((it) => ({ ...it, job: jobMessage(it.job) })) }),
    schemas: {
      ask: z.object({ beats: z.array(beat).max(BEATS) }),
      answer: z.object({ taken: z.number() }),
    },
    answer({ stalls }, { beats }) {
      beats.forEach(stalls.beat);
      return Promise.resolve({ taken: beats.length });
    },
  };
}

const encoder = new TextEncoder();

/** Creates the way of heartbeats from this replica: to its own term at once, to another replica's once a second. */
export function createBeatOutbox({ here, ask, clock }: {
  /** The owner's own, if this replica is the owner. */
  readonly here: () => TakeBeat | undefined;
  readonly ask: AskOwner<BeatsAsk, { taken: number }>;
  readonly clock: Pick<Clock, "sleep">;
}) {
  const waiting = new Map<string, Beat>();

  /** Takes the next ones that fit into a question. */
  function takeSome(beats: Beat[]): Beat[] {
    let bytes = REST_BYTES;
    const end = beats.findIndex((beat, index) => {
      bytes += encoder.encode(JSON.stringify({ ...beat, job: jobMessage(beat.job) })).length + 1;
      return index === BEATS || bytes > ASK_MAX_BYTES;
    });
    return beats.splice(0, end < 0 ? beats.length : Math.max(1, end));
  }

  async function send(signal: AbortSignal): Promise<void> {
    const beats = [...waiting.values()];
    waiting.clear();
    while (beats.length > 0 && !signal.aborted) {
      const answer = await ask({ beats: takeSome(beats) }, signal);
      // What an owner that does not answer is not told now would be old: the next heartbeats make up for it.
      if (!("taken" in answer)) return;
    }
  }

  return {
    take(beat: Beat): void {
      const own = here();
      if (own !== undefined) return own(beat);
      if (waiting.size < MAX_PODS || waiting.has(beat.pod.uid)) waiting.set(beat.pod.uid, beat);
    },
    /** Sends what waits until `signal` aborts. */
    async run(signal: AbortSignal): Promise<void> {
      while (!signal.aborted) {
        await clock.sleep(INTERVAL_MS, signal);
        if (waiting.size > 0) await send(signal);
      }
    },
  };
}
