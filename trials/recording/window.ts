/** Compact window of the samples that were recorded last, by which retries are recognized. Pure. */

/** Fewest samples that are remembered: more than a history holds, so that a whole one can be retried. */
export const REMEMBERED_MIN = 1536;
/** Entries in a pack. */
const PACK = 64;

/** A sample that is in the log. */
export interface Entry {
  /** The time that it was pushed with; for a replayed sample the latest possible one. */
  readonly pushed: bigint;
  /** The time that it is recorded with. */
  readonly recorded: bigint;
  /** A digest of content, pod and sequence; for a replayed sample only of content. */
  readonly digest: number;
  /** Whether it was read from the log, so that only the rows of its push are known. */
  readonly isReplayed: boolean;
}

/** Packed entries, 25 bytes each. */
type Pack = Readonly<ReturnType<typeof pack>>;

/** The newest samples, oldest first. */
export interface Window {
  readonly packs: readonly Pack[];
  /** The newest entries, fewer than a pack. */
  readonly loose: readonly Entry[];
}

export const EMPTY_WINDOW: Window = { packs: [], loose: [] };

function pack(entries: readonly Entry[]) {
  return {
    pushed: BigInt64Array.from(entries, (entry) => entry.pushed),
    recorded: BigInt64Array.from(entries, (entry) => entry.recorded),
    digest: Float64Array.from(entries, (entry) => entry.digest),
    isReplayed: Uint8Array.from(entries, (entry) => entry.isReplayed ? 1 : 0),
  };
}

function entryAt(pack: Pack, index: number): Entry {
  return {
    pushed: pack.pushed[index] ?? 0n,
    recorded: pack.recorded[index] ?? 0n,
    digest: pack.digest[index] ?? 0,
    isReplayed: pack.isReplayed[index] === 1,
  };
}

const unpack = (pack: Pack): Entry[] => Array.from(pack.digest, (_, index) => entryAt(pack, index));

/** Adds an entry; entries older than the newest {@link REMEMBERED_MIN} may be dropped. */
export function remember({ packs, loose }: Window, entry: Entry): Window {
  const entries = [...loose, entry];
  if (entries.length < PACK) return { packs, loose: entries };
  const all = [...packs, pack(entries)];
  return { packs: all.slice(-REMEMBERED_MIN / PACK), loose: [] };
}

/** Replaces an entry by another one. */
export function exchange({ packs, loose }: Window, entry: Entry, by: Entry): Window {
  const isSame = (one: Entry) =>
    one.recorded === entry.recorded && one.digest === entry.digest &&
    one.isReplayed === entry.isReplayed;
  const exchanged = (entries: readonly Entry[]) => entries.map((one) => isSame(one) ? by : one);
  if (loose.some(isSame)) return { packs, loose: exchanged(loose) };
  return {
    packs: packs.map((one) => unpack(one).some(isSame) ? pack(exchanged(unpack(one))) : one),
    loose,
  };
}

/** Maps all entries. */
export function changed({ packs, loose }: Window, change: (entry: Entry) => Entry): Window {
  return { packs: packs.map((one) => pack(unpack(one).map(change))), loose: loose.map(change) };
}

/** Returns the newest entry that passes the test. */
export function newest(
  { packs, loose }: Window,
  test: (entry: Entry) => boolean,
): Entry | undefined {
  const found = loose.findLast(test);
  if (found !== undefined) return found;
  for (const one of packs.toReversed()) {
    for (let index = one.digest.length - 1; index >= 0; index--) {
      const entry = entryAt(one, index);
      if (test(entry)) return entry;
    }
  }
  return undefined;
}
