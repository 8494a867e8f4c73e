/** Writer of what pruners decided into the records of one search, batched, and written again until it is there. */
import type { Clock } from "../../platform/base/clock.ts";
import { type Backoff, backoffMs } from "../../platform/base/backoff.ts";
import type { KubeClient } from "../../platform/kube/client.ts";
import { hasChanged } from "../../platform/kube/rereading.ts";
import { getOrUndefined } from "../../platform/kube/upsert.ts";
import { KINDS } from "../../crds/kinds.ts";
import {
  ownerOfRecords,
  type PruningRecord,
  pruningRecordText,
  readTrialRecords,
  recordKeys,
  trialRecordsName,
} from "../../crds/trial_records.ts";

/** From one write to the next, in milliseconds. */
const INTERVAL_MS = 100;
/** Most bytes of the ConfigMap with values, which a log may have, too: what else it may hold is the controller's. */
const VALUES_BYTES = 512 * 1024;
/** Pauses after writes that failed. */
const RETRY: Backoff = { firstMs: 250, longestMs: 15_000 };

/** Options of {@link createRecordWriter}. */
export interface RecordWriterOptions {
  /** Its writes are fenced by the lease. */
  readonly client: Pick<KubeClient, "get" | "patch">;
  readonly clock: Clock;
  /** Returns a number from 0 up to 1. */
  readonly random: () => number;
  /** Deadline of each call, in milliseconds. */
  readonly deadlineMs: number;
  /** The OptimizationJob. */
  readonly search: { readonly namespace: string; readonly name: string; readonly uid: string };
  /** Called with records that are written, before those who wait for that go on. */
  readonly onWritten: (records: ReadonlyMap<number, PruningRecord>) => Promise<void>;
  readonly onFailure: (error: unknown) => void;
  /** Ends it. */
  readonly over: AbortSignal;
}

type ConfigMap = ReturnType<typeof KINDS.configMap.parse>;
type TrialRecords = ReturnType<typeof readTrialRecords>;

/** The writer of one search. */
export type RecordWriter = ReturnType<typeof createRecordWriter>;

const bytesOf = (text: string): number => new TextEncoder().encode(text).length;

/** Creates the writer. */
export function createRecordWriter(options: RecordWriterOptions) {
  const { client, clock, random, deadlineMs, search, onWritten, onFailure, over } = options;
  const key = { namespace: search.namespace, name: trialRecordsName(search.name) };
  const bounds = { deadlineMs, signal: over };
  const unwritten = new Map<number, PruningRecord>();
  /** UID of the ConfigMap, once it is known, and the bytes of its texts, by their keys. */
  let uid: string | undefined;
  let bytes = new Map<string, number>();
  let failures = 0;
  let isRunning = false;
  /** Settles with the next attempt. */
  let attempted = Promise.withResolvers<void>();

  function note(map: ConfigMap | undefined): void {
    uid = map?.metadata?.uid;
    bytes = new Map(Object.entries(map?.data ?? {}).map(([key, text]) => [key, bytesOf(text)]));
  }

  /** Reads the records. Rejects if a ConfigMap of their name is not of this search. */
  async function recorded(): Promise<TrialRecords> {
    const found = await getOrUndefined(client, KINDS.configMap, key, bounds);
    const owner = ownerOfRecords(found?.metadata, search);
    // That of a former search of the name is about to go, and this one has none yet.
    const map = owner === "former" ? undefined : found;
    if (map !== undefined && owner !== "search") {
      throw new Error(
        `ConfigMap "${key.name}" is not controlled by OptimizationJob "${search.name}"`,
      );
    }
    note(map);
    return readTrialRecords(map?.data);
  }

  /** Returns the texts of records: without values where these have no room. */
  function textsOf(batch: ReadonlyMap<number, PruningRecord>): Record<string, string> {
    const all = new Map(bytes);
    const sum = () => all.values().reduce((sum, it) => sum + it, 0);
    return Object.fromEntries([...batch].map(([index, { values, ...record }]) => {
      const key = recordKeys.pruning(index);
      const whole = pruningRecordText({ ...record, ...(values && { values }) });
      all.set(key, bytesOf(whole));
      const text = sum() <= VALUES_BYTES ? whole : pruningRecordText(record);
      all.set(key, bytesOf(text));
      return [key, text];
    }));
  }

  async function write(batch: ReadonlyMap<number, PruningRecord>): Promise<void> {
    if (uid === undefined) await recorded();
    if (uid === undefined) throw new Error(`there is no ConfigMap "${key.name}"`);
    const patch = { type: "merge", body: { metadata: { uid }, data: textsOf(batch) } } as const;
    try {
      note(await client.patch(KINDS.configMap, key, patch, bounds));
    } catch (error) {
      if (hasChanged(error)) uid = undefined;
      throw error;
    }
  }

  /** Writes what there is now. Returns the pause before the next write. */
  async function attempt(): Promise<number> {
    const batch = new Map(unwritten);
    const told = attempted;
    attempted = Promise.withResolvers();
    const beganMs = clock.monotonic();
    try {
      await write(batch);
      for (const [index, it] of batch) if (unwritten.get(index) === it) unwritten.delete(index);
      failures = 0;
      await onWritten(batch);
      return INTERVAL_MS - (clock.monotonic() - beganMs);
    } catch (error) {
      failures += 1;
      if (!over.aborted) onFailure(error);
      return backoffMs(failures, RETRY, random);
    } finally {
      told.resolve();
    }
  }

  async function run(): Promise<void> {
    isRunning = true;
    while (unwritten.size > 0 && !over.aborted) await clock.sleep(await attempt(), over);
    isRunning = false;
    attempted.resolve();
    attempted = Promise.withResolvers();
  }

  return {
    /** Resolves with what is recorded. Rejects if that is not known now. */
    recorded,
    /** Resolves with what is recorded, or is to be. Rejects if that is not known now. */
    async load(): Promise<TrialRecords> {
      const own = new Map(unwritten);
      const { trials, pruning } = await recorded();
      return { trials, pruning: new Map([...pruning, ...own]) };
    },
    /** Writes these records; resolves when they are written, or could not be written: then they are later. */
    write(records: ReadonlyMap<number, PruningRecord>): Promise<void> {
      for (const [index, record] of records) unwritten.set(index, record);
      const written = failures > 0 ? Promise.resolve() : attempted.promise;
      if (!isRunning) void run();
      return written;
    },
  };
}
