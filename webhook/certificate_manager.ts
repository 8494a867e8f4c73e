/**
 * Keeps CA and serving certificate in a Secret that all replicas share: made once, renewed in time,
 * made again when the Secret is deleted or broken. Replicas race; the API server decides who won.
 */
import { getLogger } from "@logtape/logtape";
import { KINDS } from "../crds/kinds.ts";
import type { Secret } from "../platform/kube/kubernetes.ts";
import { MANAGER } from "../crds/names.ts";
import type { Clock } from "../platform/base/clock.ts";
import { createListeners } from "../platform/base/listeners.ts";
import { type ObjectStore, upsert } from "../platform/kube/upsert.ts";
import { createAuthority, issueServingCertificate } from "./certificate_authority.ts";
import { certificateFacts } from "../platform/base/certificates.ts";
import type { ReplicaTls } from "../platform/http/replicas/calls.ts";
import {
  CERTIFICATE_POLICY,
  type CertificateAction,
  type CertificatePolicy,
  decideCertificates,
} from "./certificate_decision.ts";
import {
  bundleOf,
  type CertificateSet,
  type CompleteCertificateSet,
  decodeSecret,
  encodeSecret,
  isComplete,
  observe,
} from "./certificate_secret.ts";
import { type ServingAddress, servingNames } from "./serving_names.ts";
import { type ChangeSource, runSteadyLoop } from "./steady_loop.ts";

const log = getLogger(["milepost", "webhook"]);

/** Steps of one pass: more than any state needs. */
const STEPS = 8;

/** Certificates for servers and clients of the manager; all PEM. */
export interface ServingCertificates {
  readonly cert: string;
  readonly key: string;
  /** Every CA that is trusted, for webhook configurations and ConfigMaps. */
  readonly caBundle: string;
  /** By which this replica shows another who it is; only of this process, never stored. */
  readonly replica: ReplicaTls;
  /** End of the serving certificate and of its CA, in milliseconds since the epoch. */
  readonly expiry: { readonly serving: number; readonly authority: number };
}

/** The set after one step. */
async function applyAction(
  action: CertificateAction,
  set: CertificateSet,
  hosts: readonly string[],
  now: number,
): Promise<CertificateSet> {
  const { authority, next, older } = set;
  if (action === "publish-next") return { ...set, next: await createAuthority(now) };
  if (action === "forget-older") return { ...set, older: [] };
  if (action === "reissue" && authority !== undefined) {
    return { ...set, serving: await issueServingCertificate(authority, hosts, now) };
  }
  if (action === "promote-next" && next !== undefined) {
    const serving = await issueServingCertificate(next, hosts, now);
    const trusted = authority === undefined ? older : [authority.certificate, ...older];
    return { authority: next, serving, older: trusted };
  }
  const made = await createAuthority(now);
  return { authority: made, older, serving: await issueServingCertificate(made, hosts, now) };
}

/** Creates the manager of the Secret; it does nothing before `ensure` or `run`. */
export function createCertificateManager(options: {
  readonly store: ObjectStore<Secret>;
  readonly address: ServingAddress;
  readonly clock: Clock;
  readonly policy?: CertificatePolicy;
  /** Says when the Secret may have changed, such as an informer's `onChange`. */
  readonly changes?: ChangeSource;
  /**
   * Whether this replica may change what is stored. One that may not adopts what it finds, whatever
   * its age; only where nothing usable is stored and it holds nothing it makes a start. Default: it may.
   */
  readonly mayChange?: () => boolean;
  /** Called with each change that this replica made to the Secret, for example to record an event. */
  readonly rotated?: (message: string) => void;
}) {
  const { store, address, clock, policy = CERTIFICATE_POLICY } = options;
  const key = { namespace: address.namespace, name: MANAGER.certificateSecret };
  const wanted = servingNames(address);
  const listeners = createListeners();
  let held: CompleteCertificateSet | undefined;
  let current: ServingCertificates | undefined;
  let askAgainAt = 0;
  const { mayChange = () => true } = options;

  /**
   * Returns the certificates after the steps that were due. Where the Secret is lost but this replica still holds
   * good certificates, they are the start: so nobody loses trust. The next CA follows at once, since the old key may
   * have been taken away.
   */
  async function advance(stored: CertificateSet) {
    const lost = stored.authority === undefined && held !== undefined;
    let set: CertificateSet = lost && held !== undefined ? held : stored;
    const steps = lost ? ["restored what this replica holds"] : [];
    if (lost && set.next === undefined) {
      set = await applyAction("publish-next", set, wanted, clock.now());
      steps.push("publish-next: the Secret was lost");
    }
    for (let step = 0; step < STEPS; step++) {
      const now = clock.now();
      const observed = await observe(set);
      const decision = decideCertificates(observed, wanted, now, policy);
      askAgainAt = decision.askAgainAt;
      if (decision.action === "keep") break;
      steps.push(`${decision.action}: ${decision.reason}`);
      const hosts = [...new Set([...wanted, ...observed.serving?.hosts ?? []])];
      set = await applyAction(decision.action, set, hosts, now);
    }
    if (!isComplete(set)) throw new Error("certificates: no step led to a complete set");
    return { set, steps };
  }

  /** This replica's own certificate by the CA: the one that it has, or a new one in good time. */
  async function replicaOf({ authority }: CompleteCertificateSet, ca: string): Promise<ReplicaTls> {
    const now = clock.now();
    const old = current?.replica;
    if (old !== undefined && held?.authority.certificate === authority.certificate) {
      if (now < certificateFacts(old.cert).notAfter - policy.servingRenewalMs) {
        return { ...old, ca };
      }
    }
    const names = [MANAGER.replicaCertificateName];
    const { certificate: cert, key } = await issueServingCertificate(authority, names, now);
    return { cert, key, ca };
  }

  async function adopt(set: CompleteCertificateSet): Promise<void> {
    const caBundle = bundleOf(set);
    const { certificate: cert, key: privateKey } = set.serving;
    const replica = await replicaOf(set, caBundle);
    held = set;
    const isNews = current?.cert !== cert || current.key !== privateKey ||
      current.caBundle !== caBundle || current.replica.key !== replica.key;
    if (!isNews) return;
    const { serving, authority } = await observe(set);
    const expiry = { serving: serving?.notAfter ?? 0, authority: authority?.notAfter ?? 0 };
    current = { cert, key: privateKey, caBundle, replica, expiry };
    listeners.notify();
  }

  /** Takes over the stored certificates if they are usable. Returns false if there are none to continue with. */
  async function follow(stored: CertificateSet): Promise<boolean> {
    askAgainAt = Infinity;
    if (isComplete(stored)) await adopt(stored);
    return held !== undefined;
  }

  async function ensure(signal?: AbortSignal): Promise<void> {
    let advanced: Awaited<ReturnType<typeof advance>> | undefined;
    const { outcome } = await upsert(store, KINDS.secret, key, async (existing) => {
      const stored = await decodeSecret(existing);
      advanced = !mayChange() && await follow(stored) ? undefined : await advance(stored);
      return advanced?.steps.length ? encodeSecret(advanced.set, key, existing) : undefined;
    }, { signal });
    if (advanced === undefined) return;
    const { set, steps } = advanced;
    if (outcome !== "unchanged") {
      log.info("certificates changed", { secret: key, steps });
      options.rotated?.(steps.join("; "));
    }
    await adopt(set);
  }

  return {
    /** Makes sure that valid certificates are stored and held. Throws `KubeError` if it cannot. */
    ensure,
    /** The certificates now. Throws before the first `ensure` succeeded. */
    current(): ServingCertificates {
      if (current === undefined) throw new Error("certificates: call ensure() before current()");
      return current;
    },
    /** Calls `listener` after each change of `current`; returns a function that ends the calls. */
    onChange: listeners.add,
    /** Ensures again and again until `signal` aborts. */
    run: (signal: AbortSignal): Promise<void> =>
      runSteadyLoop({
        name: "certificates",
        clock,
        changes: options.changes,
        pass: async (signal) => {
          await ensure(signal);
          return askAgainAt - clock.now();
        },
      }, signal),
  };
}
