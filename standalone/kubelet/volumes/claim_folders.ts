/** PersistentVolumeClaims as folders of this machine: one for each claim, until it and its pods are gone. */
import { getLogger } from "@logtape/logtape";
import { KINDS } from "../../../crds/kinds.ts";
import type { PersistentVolumeClaim } from "../../../platform/kube/kubernetes.ts";
import { POD_REASONS } from "../../../crds/pod_names.ts";
import type { KubeClient } from "../../../platform/kube/client.ts";
import type { Clock } from "../../../platform/base/clock.ts";
import { messageOf } from "../../../platform/kube/errors.ts";
import { createInformer } from "../../../platform/kube/watching/informer.ts";
import { getOrUndefined } from "../../../platform/kube/upsert.ts";
import { ConfigProblem } from "../containers/field_refs.ts";
import type { EventText } from "../../../platform/kube/event_object.ts";
import { removeAllBut } from "../processes/removal.ts";

const logger = getLogger(["milepost", "standalone"]);

/** Deadline of one call, in milliseconds. */
const CALL_MS = 10_000;

/** The folders of claims. */
export type ClaimFolders = ReturnType<typeof createClaimFolders>;

/** Returns the fields of a claim that an empty folder cannot fulfil. */
function unsupportedFields({ spec = {} }: PersistentVolumeClaim): string[] {
  const { volumeMode, volumeName, selector, dataSource, dataSourceRef } = spec;
  const fields = {
    "spec.volumeMode: Block": volumeMode === "Block",
    "spec.volumeName": Boolean(volumeName),
    "spec.selector": selector !== undefined,
    "spec.dataSource": dataSource !== undefined,
    "spec.dataSourceRef": dataSourceRef !== undefined,
  };
  return Object.entries(fields).filter(([, isSet]) => isSet).map(([field]) => field);
}

/** The status of a claim that has all that it asks for; a folder has no size. */
function boundStatus({ spec }: PersistentVolumeClaim) {
  const { accessModes, resources } = spec ?? {};
  return {
    phase: "Bound",
    ...(accessModes && { accessModes }),
    ...(resources?.requests && { capacity: resources.requests }),
  };
}

/** The folders of claims below one folder. */
export function createClaimFolders(
  { client, clock, folder, signal, recordEvent }: {
    readonly client: KubeClient;
    readonly clock: Clock;
    /** Folder of the claims' folders, which are named by the UIDs of the claims. */
    readonly folder: string;
    /** Aborts when the kubelet stops: calls end with it. */
    readonly signal: AbortSignal;
    /** Records an event about a claim. */
    readonly recordEvent: (claim: PersistentVolumeClaim, event: EventText) => void;
  },
) {
  const kind = KINDS.persistentVolumeClaim;
  const claims = createInformer({ client, clock, kind });
  /** UIDs of pods by the UIDs of the claims that they use. */
  const users = new Map<string, Set<string>>();
  /** UIDs of claims that were opened before the informer saw them. */
  const unseen = new Set<string>();

  async function bind(claim: PersistentVolumeClaim): Promise<void> {
    if (claim.status?.phase === "Bound") return;
    const { namespace, name = "", uid } = claim.metadata ?? {};
    const body = { metadata: { uid }, status: boundStatus(claim) };
    const options = { subresource: "status", deadlineMs: CALL_MS, signal } as const;
    await client.patch(kind, { namespace, name }, { type: "merge", body }, options);
    recordEvent(claim, {
      type: "Normal",
      reason: POD_REASONS.notEnforced,
      message:
        "the claim is a folder of this machine: its size, access modes and storage class are " +
        "not enforced",
    });
  }

  async function sweep(): Promise<void> {
    const live = new Set(claims.list().map(({ metadata }) => metadata?.uid));
    await removeAllBut(folder, (uid) => live.has(uid) || users.has(uid) || unseen.has(uid));
  }

  /** One sweep at a time. */
  let sweeping = Promise.resolve();
  function sweepSoon(): void {
    if (!claims.synced || signal.aborted) return;
    sweeping = sweeping.then(sweep).catch((error) =>
      logger.warn("Cannot remove the folders of deleted claims", { error: messageOf(error) })
    );
  }

  return {
    /**
     * Returns the folder of a claim for the pod of that UID, and makes it at its first use, from when on the
     * claim is Bound. Throws a `ConfigProblem` if there is no such claim or if it asks for more than an empty folder,
     * and errors of the client.
     */
    async open(namespace: string, name: string, podUid: string): Promise<string> {
      const options = { deadlineMs: CALL_MS, signal };
      const claim = await getOrUndefined(client, kind, { namespace, name }, options);
      const uid = claim?.metadata?.uid;
      if (claim === undefined || uid === undefined) {
        throw new ConfigProblem(`persistentvolumeclaim "${name}" not found`);
      }
      const unsupported = unsupportedFields(claim);
      if (unsupported.length > 0) {
        throw new ConfigProblem(
          `persistentvolumeclaim "${name}": ${
            unsupported.join(", ")
          } cannot be fulfilled, because ` +
            "a claim is an empty folder of this machine; remove it from the claim",
        );
      }
      if (claims.get({ namespace, name })?.metadata?.uid !== uid) unseen.add(uid);
      const pods = users.get(uid) ?? new Set();
      users.set(uid, pods.add(podUid));
      await Deno.mkdir(`${folder}/${uid}`, { recursive: true, mode: 0o700 });
      await bind(claim);
      return `${folder}/${uid}`;
    },
    /** Ends the use by a pod. */
    release(podUid: string): void {
      for (const [claim, pods] of users) {
        if (pods.delete(podUid) && pods.size === 0) users.delete(claim);
      }
      sweepSoon();
    },
    /** Removes the folders of claims that are gone and that no pod uses, until `signal` aborts. */
    async run(signal: AbortSignal): Promise<void> {
      const stop = claims.onChange(({ type, object }) => {
        unseen.delete(object.metadata?.uid ?? "");
        if (type === "deleted") sweepSoon();
      });
      const ended = claims.run(signal);
      if (await claims.whenSynced(signal)) sweepSoon();
      await ended;
      stop();
      await sweeping;
    },
  };
}
