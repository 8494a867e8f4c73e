/** This machine as a Node object, kept alive by a Lease. */
import { getLogger } from "@logtape/logtape";
import { KINDS } from "../../crds/kinds.ts";
import type { Node } from "../../platform/kube/kubernetes.ts";
import { NODES } from "../../crds/pod_names.ts";
import type { KubeClient } from "../../platform/kube/client.ts";
import { rfc3339, rfc3339Micro } from "../../platform/base/timestamps.ts";
import type { Clock } from "../../platform/base/clock.ts";
import { setCondition } from "../../platform/kube/conditions.ts";
import { ignoring, isAlreadyExists, isNotFound, messageOf } from "../../platform/kube/errors.ts";

const logger = getLogger(["milepost", "standalone"]);

/** Facts of the machine. */
export interface MachineFacts {
  readonly name: string;
  readonly hostIP: string;
  readonly cpu: number;
  readonly memoryBytes: number;
  /** Size of the file system that has the pods' folders. */
  readonly diskBytes: number;
  /** Most pods at a time. */
  readonly mostPods: number;
  /** GPUs for pods; undefined on a machine without NVIDIA's driver. */
  readonly gpus?: number;
  /** Version that `kubectl get nodes` shows. */
  readonly version: string;
  /** Port of the log endpoint, on `hostIP`. */
  readonly endpointPort?: number;
}

/** Keeps the Node registered until `signal` aborts. */
export type NodeKeeper = ReturnType<typeof createNodeKeeper>;

const LEASE_SECONDS = 40;
const RENEW_MS = 10_000;
/** Longest time between two writes of the status, in milliseconds. */
const STATUS_MS = 300_000;
const RETRY_MS = 2000;
const CALL = { deadlineMs: 10_000 };

/** Labels of the node. */
export function nodeLabels({ name }: MachineFacts): Record<string, string> {
  const arch = Deno.build.arch === "x86_64" ? "amd64" : "arm64";
  return {
    [NODES.hostnameLabel]: name,
    [NODES.osLabel]: "linux",
    [NODES.archLabel]: arch,
  };
}

/** The conditions of every healthy node. */
const CONDITIONS = [
  ["MemoryPressure", "False", "KubeletHasSufficientMemory", "memory is not watched"],
  ["DiskPressure", "False", "KubeletHasNoDiskPressure", "disk is not watched"],
  ["PIDPressure", "False", "KubeletHasSufficientPID", "process ids are not watched"],
  ["Ready", "True", "KubeletReady", "kubelet runs containers as plain processes"],
] as const;

const kibibytes = (bytes: number) => `${Math.floor(bytes / 1024)}Ki`;

/** The resources of the node. The number of GPUs stays, as 0, after the last has gone. */
function capacityOf(facts: MachineFacts, before: Node["status"]): Record<string, string> {
  const { cpu, memoryBytes, diskBytes, mostPods, gpus = 0 } = facts;
  const hasGpus = gpus > 0 || before?.capacity?.[NODES.gpu] !== undefined;
  return {
    cpu: String(cpu),
    memory: kibibytes(memoryBytes),
    [NODES.disk]: kibibytes(diskBytes),
    pods: String(mostPods),
    ...hasGpus ? { [NODES.gpu]: String(gpus) } : {},
  };
}

/** `status` of the Node. Pure. */
function nodeStatus(
  facts: MachineFacts,
  before: Node["status"],
  now: number,
): NonNullable<Node["status"]> {
  const capacity = capacityOf(facts, before);
  let conditions = before?.conditions ?? [];
  for (const [type, status, reason, message] of CONDITIONS) {
    conditions = setCondition(conditions, { type, status, reason, message }, rfc3339(now));
  }
  return {
    capacity,
    allocatable: capacity,
    addresses: [
      { type: "InternalIP", address: facts.hostIP },
      { type: "Hostname", address: facts.name },
    ],
    conditions: conditions.map((condition) => ({
      ...condition,
      lastHeartbeatTime: rfc3339(now),
    })),
    ...facts.endpointPort === undefined
      ? {}
      : { daemonEndpoints: { kubeletEndpoint: { Port: facts.endpointPort } } },
    nodeInfo: {
      architecture: nodeLabels(facts)[NODES.archLabel] ?? "",
      bootID: "",
      containerRuntimeVersion: NODES.processRuntime,
      kernelVersion: Deno.osRelease(),
      kubeProxyVersion: "",
      kubeletVersion: facts.version,
      machineID: "",
      operatingSystem: "linux",
      osImage: "Linux",
      systemUUID: "",
    },
  };
}

/** A keeper of the Node that `facts` describes. */
export function createNodeKeeper(
  { client, clock, facts }: { client: KubeClient; clock: Clock; facts: MachineFacts },
) {
  const key = { name: facts.name };
  const leaseKey = { namespace: NODES.leaseNamespace, name: facts.name };

  async function writeStatus(before: Node["status"]): Promise<void> {
    const body = { status: nodeStatus(facts, before, clock.now()) };
    const options = { ...CALL, subresource: "status" };
    await client.patch(KINDS.node, key, { type: "merge", body }, options);
  }

  async function register(): Promise<void> {
    const labels = nodeLabels(facts);
    try {
      await client.create(KINDS.node, { metadata: { name: facts.name, labels } }, CALL);
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
      const body = { metadata: { labels } };
      await client.patch(KINDS.node, key, { type: "merge", body }, CALL);
    }
    const node = await client.get(KINDS.node, key, CALL);
    await writeStatus(node.status);
  }

  function leaseSpec() {
    return {
      holderIdentity: facts.name,
      leaseDurationSeconds: LEASE_SECONDS,
      renewTime: rfc3339Micro(clock.now()),
    };
  }

  async function createLease(): Promise<void> {
    const lease = { metadata: leaseKey, spec: leaseSpec() };
    try {
      await client.create(KINDS.lease, lease, CALL);
    } catch (error) {
      if (!isNotFound(error)) throw error;
      await client.create(KINDS.namespace, { metadata: { name: NODES.leaseNamespace } }, CALL);
      await client.create(KINDS.lease, lease, CALL);
    }
  }

  async function renew(): Promise<void> {
    const body = { spec: leaseSpec() };
    const renewed = await client.patch(KINDS.lease, leaseKey, { type: "merge", body }, CALL)
      .catch(ignoring(isNotFound));
    if (renewed === undefined) await createLease();
  }

  return {
    /** Creates or updates the Node. Throws errors of the client. */
    register,
    async run(signal: AbortSignal): Promise<void> {
      let statusAt = clock.monotonic() + STATUS_MS;
      while (!signal.aborted) {
        let waitMs = RENEW_MS;
        try {
          await renew();
          if (clock.monotonic() >= statusAt) {
            await register();
            statusAt = clock.monotonic() + STATUS_MS;
          }
        } catch (error) {
          waitMs = RETRY_MS;
          logger.warn("Cannot renew the node's lease", { error: messageOf(error) });
        }
        await clock.sleep(waitMs, signal);
      }
    },
  };
}
