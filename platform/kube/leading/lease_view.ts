/** View of the Lease as one candidate has seen it: its holder, for how long that may lead, and what a claim looks like. */
import { getLogger } from "@logtape/logtape";
import { rfc3339Micro } from "../../base/timestamps.ts";
import type { Clock } from "../../base/clock.ts";
import type { Lease } from "../kubernetes.ts";

/** Options of {@link LeaseView}. */
export interface LeaseViewOptions {
  readonly namespace: string;
  /** Name of the Lease. */
  readonly name: string;
  /** Identity of this candidate, unique to this process. */
  readonly identity: string;
  /** Put on the Lease by its holder. */
  readonly annotations: Readonly<Record<string, string>>;
  /** Time without a renewal after which any candidate may take the Lease, in milliseconds. */
  readonly leaseMs: number;
  readonly clock: Clock;
  /** Called when another leader was seen. */
  readonly onLeader?: (identity: string) => void;
}

/** A Lease as it was read, with the local time: the holder's own times are not used. */
interface Observation {
  readonly record: string;
  readonly at: number;
}

/** Whether this candidate leads, and has renewed in time. */
interface OwnLease {
  readonly held: boolean;
  readonly fresh: boolean;
}

const logger = getLogger(["milepost", "kube", "leader_election"]);

/** The view of one candidate. */
export class LeaseView {
  /** Identity of the holder, as last seen. */
  leader: string | undefined;
  /** The highest number of changes of hands that was seen: a fence. It never falls, also if the Lease is deleted. */
  transitions = 0;
  /** The Lease as last seen. */
  lease: Lease | undefined;
  #observed: Observation | undefined;
  /** While the Lease is gone: when whoever held it has stopped leading. */
  #goneUntil: number | undefined;

  constructor(private readonly options: LeaseViewOptions) {}

  /** The lease duration, as last seen and at least its own, in milliseconds. */
  #durationMs(): number {
    const seconds = this.lease?.spec?.leaseDurationSeconds ?? 0;
    return Math.max(seconds * 1000, this.options.leaseMs);
  }

  /**
   * Notes that the Lease is gone. Its holder renewed it last before this, and leads for less than one
   * lease duration from now on, unless it puts the Lease back.
   */
  observeGone(held: boolean): void {
    if (this.#goneUntil !== undefined) return;
    const { clock, namespace, name } = this.options;
    this.#goneUntil = clock.monotonic() + this.#durationMs();
    if (!held) {
      logger.warn("found no Lease; waiting because its holder may still lead", { namespace, name });
    }
  }

  observe(lease: Lease, held: boolean): void {
    const holder = lease.spec?.holderIdentity || undefined;
    const isAnother = this.lease !== undefined &&
      this.lease.metadata?.uid !== lease.metadata?.uid;
    if (holder !== undefined) this.#goneUntil = undefined;
    else if (isAnother) this.observeGone(held);
    const record = JSON.stringify(lease.spec ?? {});
    if (this.#observed?.record !== record) {
      this.#observed = { record, at: this.options.clock.monotonic() };
    }
    this.transitions = Math.max(this.transitions, lease.spec?.leaseTransitions ?? 0);
    this.lease = lease;
    if (holder === this.leader) return;
    this.leader = holder;
    if (holder !== undefined) this.options.onLeader?.(holder);
  }

  /** Milliseconds for which another one still holds the lease, or may; 0 if it can be taken. */
  takenForMs({ held, fresh }: OwnLease): number {
    const now = this.options.clock.monotonic();
    if (this.#goneUntil !== undefined) {
      return held && fresh ? 0 : Math.max(0, this.#goneUntil - now);
    }
    if (this.leader === undefined || this.leader === this.options.identity) return 0;
    return Math.max(0, (this.#observed?.at ?? 0) + this.#durationMs() - now);
  }

  /** The lease as this one would hold it. If there is none, it is put back as it was last seen. */
  claim(old: Lease | undefined, held: boolean): Lease {
    const { clock, identity, namespace, name, annotations, leaseMs } = this.options;
    const now = rfc3339Micro(clock.now());
    const isRenewal = held || (this.#goneUntil === undefined && this.leader === identity);
    const { labels, annotations: others } = this.lease?.metadata ?? {};
    const { spec } = this.lease ?? {};
    return {
      metadata: {
        ...(old?.metadata ?? (labels && { labels })),
        name,
        namespace,
        annotations: { ...others, ...annotations },
      },
      spec: {
        ...spec,
        holderIdentity: identity,
        leaseDurationSeconds: Math.ceil(leaseMs / 1000),
        acquireTime: isRenewal ? spec?.acquireTime ?? now : now,
        renewTime: now,
        leaseTransitions: isRenewal ? this.transitions : this.transitions + 1,
      },
    };
  }
}
