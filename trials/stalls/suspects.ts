/** Suspects of a stall: the pods that are silent, or whose processes are elsewhere than those of the others. Pure. */
import { type JobStall, STALL_LIMITS } from "../../crds/job_stall.ts";
import { HEARTBEAT_LIMITS } from "../../crds/wire/heartbeat.ts";
import { compact } from "../../platform/base/json.ts";
import { rfc3339 } from "../../platform/base/timestamps.ts";

/** Where a process is. */
export interface RankPlace {
  readonly rank: number;
  readonly step: number;
  readonly place: string | undefined;
}

/** A pod of the job, as it was last heard of. */
export interface HeardPod {
  readonly name: string;
  readonly node: string | undefined;
  /** Of its containers, in words; undefined if that is not known. */
  readonly state?: string | undefined;
  /** Wall clock, in milliseconds since the epoch; undefined if this owner has not heard of it. */
  readonly heardMs: number | undefined;
  /** For how long it has said nothing, in milliseconds. */
  readonly silentMs: number;
  /** Empty: it sends no heartbeats. */
  readonly ranks: readonly RankPlace[];
}

/** Silence of a pod that makes it one that is silent: a heartbeat is missing. */
const SILENT_MS = 1.5 * HEARTBEAT_LIMITS.intervalMs;

/** What is said of the pods of a stall. */
export interface Suspects {
  readonly pods: NonNullable<JobStall["pods"]>;
  /** A text for people; empty if there is nothing to say. */
  readonly words: string;
}

const keyOf = ({ step, place }: RankPlace) => `${step} ${place ?? ""}`;
const placeText = ({ step, place }: RankPlace) =>
  place ? `step ${step} in ${place}` : `step ${step}`;
const clockText = (ms: number | undefined) => ms === undefined ? "before" : rfc3339(ms);

const podOf = ({ name, node, state, heardMs }: HeardPod, at?: RankPlace) =>
  compact({
    name,
    node,
    state,
    step: at?.step,
    place: at?.place,
    lastHeard: heardMs === undefined ? undefined : rfc3339(heardMs),
  });

/** A pod's name, with the state of its containers where that is no usual one. */
const nameOf = ({ name, state = "Running" }: HeardPod) =>
  state === "Running" ? name : `${name} (${state})`;

/** The place where more than half of the processes are, else their step: those of one step may wait in several lines. */
const commonPlace = (ranks: readonly RankPlace[]) =>
  most(ranks) ?? most(ranks.map((it) => ({ ...it, place: undefined })));

/** The first of more than half of the processes that are alike. */
function most(ranks: readonly RankPlace[]): RankPlace | undefined {
  const groups = Map.groupBy(ranks, keyOf);
  const [largest = []] = [...groups.values()].toSorted((one, other) => other.length - one.length);
  return largest.length * 2 > ranks.length ? largest[0] : undefined;
}

/** The process of a pod that is elsewhere: the one that is furthest behind. */
function elsewhere({ ranks }: HeardPod, common: RankPlace): RankPlace | undefined {
  const { step, place } = common;
  return ranks.filter((it) => it.step !== step || (place && it.place !== place))
    .toSorted((one, other) => one.step - other.step)[0];
}

/** Says how many processes are where, if none differs, or nobody can say which. */
function togetherText(ranks: readonly RankPlace[]): string {
  const [first] = ranks;
  if (first === undefined) return "";
  const places = [...new Set(ranks.map(placeText))];
  if (places.length > 1) return `ranks at ${places.slice(0, 4).join(", at ")}`;
  return ranks.length === 1
    ? `at ${placeText(first)}`
    : `all ${ranks.length} ranks at ${placeText(first)}`;
}

/** Returns which pods stand out, and what is said of them. */
export function suspectsOf(pods: readonly HeardPod[]): Suspects {
  const beating = pods.filter(({ ranks }) => ranks.length > 0);
  const heard = beating.filter(({ silentMs }) => silentMs < SILENT_MS);
  const silent = beating.filter(({ silentMs }) => silentMs >= SILENT_MS);
  if (silent.length > 0 && heard.length > 0) {
    const some = silent.slice(0, STALL_LIMITS.pods);
    const texts = some.map((it) => `${nameOf(it)} not heard of since ${clockText(it.heardMs)}`);
    return { pods: some.map((it) => podOf(it, it.ranks[0])), words: texts.join(", ") };
  }
  if (silent.length > 0) {
    // Where each said it was at another time: nobody can be told from the others, nor is now where it was.
    const lastMs = Math.max(...silent.map(({ heardMs = 0 }) => heardMs));
    return { pods: [], words: `none of its pods heard of since ${clockText(lastMs)}` };
  }
  const ranks = beating.flatMap((it) => it.ranks);
  const common = commonPlace(ranks);
  const others = common === undefined ? [] : beating.flatMap((pod) => {
    const at = elsewhere(pod, common);
    return at === undefined ? [] : [{ pod, at }];
  }).slice(0, STALL_LIMITS.pods);
  if (common === undefined || others.length === 0) return { pods: [], words: togetherText(ranks) };
  const texts = others.map(({ pod, at }) => `${nameOf(pod)} at ${placeText(at)}`);
  return {
    pods: others.map(({ pod, at }) => podOf(pod, at)),
    words: `${texts.join(", ")}, where others are at ${placeText(common)}`,
  };
}
