/** Leadership of a replica: whether it leads, and where the leader is; by a Lease, or always here. */
import { onAbort } from "../../base/aborted.ts";
import { createListeners } from "../../base/listeners.ts";
import { type Fence, FencedError } from "./fence.ts";
import { DEFAULT_TIMES } from "./election_times.ts";
import {
  createLeaderElector,
  type LeaderElector,
  type LeaderElectorOptions,
} from "./leader_election.ts";

/** Location of the leader. */
export type LeaderLocation =
  | { readonly kind: "here" }
  | {
    readonly kind: "elsewhere";
    /** The address that the leader published on the Lease. */
    readonly address: string;
    /** The number of the Lease's changes of hands under which that leader leads. */
    readonly transitions: number;
  }
  | { readonly kind: "nowhere" };

/** A part of the leader's work; it goes on until its signal aborts. */
export type LeaderWork = (signal: AbortSignal) => Promise<void>;

/** Options of a replica's leadership. */
export interface Candidacy {
  /** Address at which other replicas reach this one while it leads; undefined if they need not. */
  readonly address?: string | undefined;
  /** Makes the work of one term. If one part fails, all of them end. */
  readonly works: () => readonly LeaderWork[];
}

/** The one source of what a replica knows of leadership. */
export type Leadership = ReturnType<typeof createLeadership>;

/** The part of {@link Leadership} by which requests find the leader. */
export type LeaderLocator = Pick<Leadership, "locate" | "refresh">;

/** How replicas elect their leader. */
export interface ElectionOptions
  extends Omit<LeaderElectorOptions, "annotations" | "onStarted" | "onStopped" | "onLeader"> {
  /** Annotation of the Lease that carries the leader's address. */
  readonly addressAnnotation: string;
}

/** Share of the time between the renew deadline and the end of the lease that acts of a leader may take. */
const GRACE_SHARE = 0.8;

/**
 * Creates the leadership of this replica. Without an election it leads as long as it runs, because there
 * is no other replica.
 */
export function createLeadership(election: ElectionOptions | undefined) {
  const { leaseMs = DEFAULT_TIMES.leaseMs, renewMs = DEFAULT_TIMES.renewMs } = election ?? {};
  const graceMs = election === undefined ? Infinity : (leaseMs - renewMs) * GRACE_SHARE;
  const listeners = createListeners();
  let elector: LeaderElector | undefined;
  let ownAddress: string | undefined;
  let leadsAlone = false;
  let withoutElection = AbortSignal.abort(new FencedError());
  let known = false;
  let inTerm = false;

  const isLeading = () => elector?.leading ?? leadsAlone;
  const fence: Fence = {
    get stands() {
      return isLeading();
    },
    get signal() {
      return elector?.term ?? withoutElection;
    },
  };
  const isActive = () => inTerm && isLeading();

  function setInTerm(value: boolean): void {
    if (inTerm === value) return;
    inTerm = value;
    listeners.notify();
  }

  /** Runs all works until `signal` aborts or one of them fails. Throws the first failure. */
  async function runTerm(works: readonly LeaderWork[], signal: AbortSignal): Promise<void> {
    const failed = new AbortController();
    const any = AbortSignal.any([signal, failed.signal]);
    const end = () => setInTerm(false);
    onAbort(any, end);
    setInTerm(!any.aborted);
    const running = works.map((work) =>
      work(any).catch((error) => {
        failed.abort();
        throw error;
      })
    );
    await Promise.allSettled(running);
    end();
    await Promise.all(running);
  }

  return {
    /**
     * Whether this replica leads and has renewed its Lease in time by the monotonic clock. Ask before each
     * act of a leader. It stays true while the work of an aborted term is ending.
     */
    get leading(): boolean {
      return isLeading();
    },
    /** The fence of what only the leader may do. */
    fence,
    /** Whether this replica leads and its term has not begun to end: whether it takes new work. */
    get active(): boolean {
      return isActive();
    },
    /** The highest number of the Lease's changes of hands that was seen: a fencing token, it never falls. */
    get transitions(): number {
      return elector?.view.transitions ?? 0;
    },
    /** Whether a leader was ever seen. */
    get known(): boolean {
      return known;
    },
    /**
     * Returns the deadline for an act of the leader, at most `mostMs`, in milliseconds: an act that begins
     * while this replica leads ends before the next one can lead.
     */
    deadlineMs: (mostMs: number): number => Math.min(mostMs, graceMs),
    /** Where requests for the leader belong; "here" only while {@link active}. */
    locate(): LeaderLocation {
      if (isActive()) return { kind: "here" };
      const { leader, lease } = elector?.view ?? {};
      const address = lease?.metadata?.annotations?.[election?.addressAnnotation ?? ""];
      // Its own name or address on a Lease leads nowhere: it held the Lease, or the process before it in
      // its container did.
      const isOwn = leader === election?.identity || address === ownAddress;
      if (leader === undefined || address === undefined || isOwn) return { kind: "nowhere" };
      // Its own number, also if it is lower than one that was seen before the Lease was deleted.
      return { kind: "elsewhere", address, transitions: lease?.spec?.leaseTransitions ?? 0 };
    },
    /** Reads the Lease soon, because a request found no leader. */
    refresh: (): void => elector?.refresh(),
    /** Calls the listener when a term of this replica begins and when it begins to end. Returns a function that stops this. */
    onChange: listeners.add,
    /** Competes until `signal` aborts; releases the Lease after the term has ended. Call it once. */
    async run({ address, works }: Candidacy, signal: AbortSignal): Promise<void> {
      if (election === undefined) {
        const over = new AbortController();
        known = leadsAlone = true;
        withoutElection = over.signal;
        return await runTerm(works(), signal).finally(() => {
          leadsAlone = false;
          over.abort(new FencedError());
        });
      }
      ownAddress = address;
      const { addressAnnotation, ...options } = election;
      elector = createLeaderElector({
        ...options,
        annotations: address === undefined ? {} : { [addressAnnotation]: address },
        onStarted: (signal) => runTerm(works(), signal),
        onLeader: () => known = true,
      });
      await elector.run(signal);
    },
  };
}
