/** Whether this replica leads, and where the one is that does: by a Lease, or always here. */
import { MANAGER } from "../../crds/names.ts";
import type { KubeClient } from "../../kube/client.ts";
import type { Clock } from "../../kube/clock.ts";
import { createLeaderElector } from "../../kube/leader_election.ts";
import type { OwnerPlace } from "../../status/replicas/owner.ts";
import type { ManagerConfiguration } from "../configuration/configuration.ts";

/** What a term of leadership is: work that goes on until its signal aborts. */
export type Term = (signal: AbortSignal) => Promise<void>;

/** This replica's part in leadership. */
export interface Leadership {
  /** Whether it leads and renewed in time: asked before each act of an owner (design, decision 7). */
  readonly leading: boolean;
  /** How often the lease changed hands, as last seen; grows with every owner. */
  readonly transitions: number;
  /** Whether somebody was ever seen to lead. */
  readonly known: boolean;
  /** Where the owner is. */
  place(): OwnerPlace;
  /** Somebody misses the owner. */
  lookAgain(): void;
  /** Competes until `signal` aborts; lets go when the term has ended. May be called once. */
  run(signal: AbortSignal): Promise<void>;
}

/** Options of {@link createLeadership}. */
export interface LeadershipOptions {
  readonly client: KubeClient;
  readonly configuration: Pick<
    ManagerConfiguration,
    "leaderElect" | "namespace" | "leaseDuration" | "renewDeadline" | "retryPeriod"
  >;
  readonly clock: Clock;
  /** Unique to this process. */
  readonly identity: string;
  /** `<ip>:<port>` where pushes are forwarded to; undefined where none are taken. */
  readonly forwardAddress: string | undefined;
  /** Run once a term. */
  readonly term: Term;
}

/** Leads for as long as it runs. */
function alwaysLeading(term: Term): Leadership {
  let leading = false;
  return {
    get leading() {
      return leading;
    },
    transitions: 0,
    get known() {
      return leading;
    },
    place: () => leading ? { kind: "here" } : { kind: "nowhere" },
    lookAgain() {},
    async run(signal) {
      leading = true;
      await term(signal).finally(() => leading = false);
    },
  };
}

/** Creates {@link Leadership}: by the Lease of the manager's namespace, or without one. */
export function createLeadership(options: LeadershipOptions): Leadership {
  const { client, configuration, clock, identity, forwardAddress, term } = options;
  if (!configuration.leaderElect) return alwaysLeading(term);
  const annotation = MANAGER.forwardAddressAnnotation;
  let known = false;
  const elector = createLeaderElector({
    client,
    namespace: configuration.namespace,
    name: MANAGER.lease,
    identity,
    annotations: forwardAddress === undefined ? {} : { [annotation]: forwardAddress },
    onStarted: term,
    onLeader: () => known = true,
    clock,
    leaseMs: configuration.leaseDuration,
    renewMs: configuration.renewDeadline,
    retryMs: configuration.retryPeriod,
  });
  return {
    get leading() {
      return elector.leading;
    },
    get transitions() {
      return elector.transitions;
    },
    get known() {
      return known;
    },
    place() {
      if (elector.leading) return { kind: "here" };
      const address = elector.lease?.metadata?.annotations?.[annotation];
      const { leader, transitions } = elector;
      // Its own name on a lease that it does not hold any more is nobody's.
      if (leader === undefined || leader === identity || address === undefined) {
        return { kind: "nowhere" };
      }
      return { kind: "elsewhere", address, transitions };
    },
    lookAgain: () => elector.lookAgain(),
    run: (signal) => elector.run(signal),
  };
}
