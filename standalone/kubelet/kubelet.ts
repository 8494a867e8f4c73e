/** Kubelet: runs the pods that are bound to its node as processes of this machine. */
import { getLogger } from "@logtape/logtape";
import { KINDS } from "../../crds/kinds.ts";
import type { LogOptions } from "../../crds/log_options.ts";
import type { Pod } from "../../platform/kube/kubernetes.ts";
import { NODES } from "../../crds/pod_names.ts";
import { onAbort } from "../../platform/base/aborted.ts";
import { systemClock } from "../../platform/base/clock.ts";
import { createInformer, type Informer } from "../../platform/kube/watching/informer.ts";
import { createGpuPool } from "./gpus/gpu_pool.ts";
import { type AddressBook, createAddressBook, identityKey, identityOf } from "./names/addresses.ts";
import { namesByNamespace, nameTable } from "./names/cluster_names.ts";
import { createClaimFolders } from "./volumes/claim_folders.ts";
import { HostsFiles, machineFile } from "./names/hosts_file.ts";
import { subjectOf } from "../../platform/kube/event_object.ts";
import type { KubeletOptions } from "./kubelet_options.ts";
import {
  baseEnvironment,
  dataFolders,
  kubeletId,
  memoryFolder,
  refuseOtherSystems,
} from "./machine.ts";
import { LaunchAgent } from "./launch_agent/launch_agent.ts";
import { readLog } from "./logs/log_reader.ts";
import { logKeyOf, LogProblem, type PodRef } from "./logs/log_keys.ts";
import { createLogKeeper, type LogKeeper } from "./logs/log_keeper.ts";
import { createLogStore } from "./logs/logs.ts";
import {
  type MountNamespaces,
  type NoMountNamespaces,
  openMountNamespaces,
} from "./volumes/mount_namespace.ts";
import { machineFacts, nodeOffer } from "./node_facts.ts";
import { createNodeKeeper, type NodeKeeper } from "./node_status.ts";
import { CRASH_BACK_OFF } from "./pod_plan.ts";
import type { PodSurroundings } from "./pod_surroundings.ts";
import { PodWorkers } from "./pod_workers.ts";
import { hasEnded, restartsOf } from "../jobs/pods.ts";
import { createProcesses } from "./processes/processes.ts";
import type { NodeOffer } from "./scheduler.ts";
import { serviceVariables } from "./names/service_variables.ts";
import { removeAllBut, removeIfThere } from "./processes/removal.ts";

const logger = getLogger(["milepost", "standalone"]);

class RunningKubelet {
  /** The node as a scheduler needs it. */
  readonly node: NodeOffer;
  /** The reason why mount paths and Service names are rewritten; undefined if they are real. */
  readonly rewritingReason: string | undefined;
  readonly #pods: Informer<Pod>;
  readonly #keeper: NodeKeeper;
  readonly #around: PodSurroundings;
  readonly #logKeeper: LogKeeper | undefined;
  readonly #book: AddressBook;
  readonly #services;
  readonly #hosts: HostsFiles;
  readonly #workers: PodWorkers;
  readonly #stopped = new AbortController();
  /** Ends the pods if this process ends without `close()`, such as at a second Ctrl-C. */
  readonly #onExit = () => this.#around.processes.killAll();

  constructor(
    private readonly options: KubeletOptions,
    private readonly folders: ReturnType<typeof dataFolders>,
    mounting: MountNamespaces | NoMountNamespaces,
  ) {
    const { client, nodeName, clock = systemClock } = options;
    const id = kubeletId(folders);
    const markPrefix = `${id}/`;
    const inMemory = memoryFolder(id, folders);
    const logs = createLogStore({ folder: folders.logs, now: () => clock.now() });
    this.#book = createAddressBook(folders.root);
    const facts = machineFacts(options, folders.root);
    const { hostIP, cpu, memoryBytes: memory, diskBytes } = facts;
    const allocatable = { cpu, memory, [NODES.disk]: diskBytes };
    this.#keeper = createNodeKeeper({ client, clock, facts });
    this.node = nodeOffer(facts);
    const fieldSelector = `spec.nodeName=${nodeName}`;
    this.#pods = createInformer({ client, clock, kind: KINDS.pod, fieldSelector });
    this.#services = createInformer({ client, clock, kind: KINDS.service });
    const namesFor = (namespace: string) =>
      nameTable(
        namespace,
        this.#pods.list(namespace),
        this.#services.list(namespace),
        this.#book,
      );
    this.#hosts = new HostsFiles({
      folder: folders.hosts,
      names: () => namesByNamespace(this.#services.list(), this.#book, namesFor),
      machineHosts: () => machineFile("/etc/hosts"),
    });
    this.#logKeeper = options.logKeeping && createLogKeeper({
      ...options.logKeeping,
      clock,
      logs,
      pods: () => this.#pods.list(),
    });
    this.rewritingReason = "reason" in mounting ? mounting.reason : undefined;
    this.#around = {
      client,
      clock,
      processes: createProcesses({ clock, bookFolder: folders.book, markPrefix }),
      logs,
      releaseLogs: async (pod) => {
        if (await this.#logKeeper?.keep(pod, this.#stopped.signal)) return;
        await logs.remove(pod.metadata?.uid ?? "");
      },
      podsFolder: folders.pods,
      memoryFolder: inMemory,
      node: { hostIP, nodeName, allocatable },
      baseEnv: { ...baseEnvironment(folders, options.provideCommand), ...options.environment },
      services: options.apiServer === undefined ? {} : serviceVariables(options.apiServer),
      gpus: options.gpus && createGpuPool(options.gpus),
      claims: options.claimsAreFolders
        ? createClaimFolders({
          client,
          clock,
          folder: folders.claims,
          signal: this.#stopped.signal,
          recordEvent: (claim, event) =>
            options.events?.record(subjectOf(KINDS.persistentVolumeClaim, claim), event),
        })
        : undefined,
      launchAgent: new LaunchAgent({
        clock,
        programs: folders.bin,
        folders: [folders.root, inMemory],
      }),
      backOff: options.backOff ?? CRASH_BACK_OFF,
      refreshMs: options.refreshMs ?? 10_000,
      markPrefix,
      signal: this.#stopped.signal,
      namesFor,
      realPaths: "reason" in mounting ? undefined : {
        namespaces: mounting,
        hostsFile: (namespace) => this.#hosts.fileFor(namespace),
        kubeletFolder: folders.root,
      },
      recordEvent: (pod, event) => options.events?.record(subjectOf(KINDS.pod, pod), event),
    };
    const onEnd = () => this.#pruneAddresses();
    this.#workers = new PodWorkers({ book: this.#book, around: this.#around, onEnd });
  }

  /** Kills leftover processes of an earlier kubelet. */
  async prepare(): Promise<void> {
    const reason = this.rewritingReason;
    if (reason === undefined) logger.info("Pods run in mount namespaces");
    else logger.info("Mount paths and Service names of pods are rewritten", { reason });
    globalThis.addEventListener("unload", this.#onExit);
    const count = await this.#around.processes.endLeftovers();
    if (count > 0) {
      const what = "An earlier run was killed: ended the processes that its pods had left, which " +
        "have failed (exit code 137); jobs go on if they may restart them";
      logger.warn(what, { processes: count });
    }
    await this.#keeper.register();
  }

  /**
   * The log of a pod's container, of its present start or with `previous` of the one before.
   * Throws a `LogProblem` if there is none.
   */
  readLogs(
    ref: PodRef,
    container: string,
    options: LogOptions = {},
  ): ReadableStream<Uint8Array> {
    const present = this.#pods.get(ref);
    const isMeant = present && (ref.uid === undefined || present.metadata?.uid === ref.uid);
    const pod = isMeant ? present : this.gonePod(ref);
    if (pod === undefined) {
      throw new LogProblem(`pod "${ref.name}" is not known to node ${this.node.name}`, 404);
    }
    // A pod that was made again under its name has the run of the one before as its previous one.
    const former = options.previous && restartsOf(pod) === 0
      ? this.#logKeeper?.find(ref, pod.metadata?.uid ?? "")
      : undefined;
    const previous = former === undefined && (options.previous ?? false);
    const { logs, clock } = this.#around;
    const key = logKeyOf(former ?? pod, { container, previous, isGone: !isMeant }, logs);
    return readLog(logs, key, options, clock.now());
  }

  /** Returns a pod that is gone and whose logs can still be read. */
  gonePod(ref: PodRef): Pod | undefined {
    return this.#logKeeper?.find(ref);
  }

  /** Runs pods until `signal` aborts; ends all processes then. Call it once. */
  async run(signal: AbortSignal): Promise<void> {
    const ended = this.#stopped.signal;
    onAbort(signal, () => this.#stopped.abort());
    const loops = [
      this.#keeper.run(ended),
      this.#services.run(ended),
      this.#around.claims?.run(ended),
      this.#logKeeper?.run(ended),
      this.#pods.run(ended),
    ];
    await this.#services.whenSynced(ended);
    const isKnown = await this.#pods.whenSynced(ended) &&
      await (this.#logKeeper?.whenSynced(ended) ?? true);
    if (isKnown) {
      await this.#removeStale();
      this.#pods.onChange(({ type, object }) => {
        if (type === "deleted") this.#workers.remove(object);
        else this.#workers.take(object, ended);
        this.#hosts.changed();
        if (hasEnded(object)) this.#logKeeper?.wake();
      });
      this.#services.onChange(() => this.#hosts.changed());
    }
    await Promise.all(loops);
    await this.close();
  }

  /** Folders of pods that are not on this node any more. */
  async #removeStale(): Promise<void> {
    const live = new Set(this.#pods.list().map(({ metadata }) => metadata?.uid));
    const kept = live.union(this.#logKeeper?.uids() ?? new Set());
    await removeAllBut(this.folders.pods, (name) => live.has(name));
    await removeAllBut(this.folders.logs, (name) => kept.has(name));
  }

  /** Keeps addresses of pods that are there and of those that a subdomain still waits for. */
  #pruneAddresses(): void {
    const pods = this.#pods.list().map((pod) => identityOf(pod));
    const live = new Set(pods.map(identityKey));
    const subdomains = new Set(
      this.#services.list().map(({ metadata }) => `${metadata?.namespace}/${metadata?.name}`),
    );
    for (const { namespace, subdomain } of pods) subdomains.add(`${namespace}/${subdomain}`);
    this.#book.prune((identity) =>
      live.has(identityKey(identity)) ||
      (identity.subdomain !== "" && subdomains.has(`${identity.namespace}/${identity.subdomain}`))
    );
    this.#hosts.changed();
  }

  /** Ends what runs. Safe to call again. */
  async close(): Promise<void> {
    this.#stopped.abort();
    const { processes, launchAgent, memoryFolder } = this.#around;
    await processes.close(this.options.closeGraceMs ?? 2000);
    await launchAgent.close();
    await this.#workers.settled();
    globalThis.removeEventListener("unload", this.#onExit);
    await removeIfThere(memoryFolder, { recursive: true });
  }
}

/** A kubelet. */
export type Kubelet = Omit<RunningKubelet, "prepare">;

/** The machine's mount namespaces, unless the options do without. */
async function mountNamespacesOf(
  { mountNamespaces = true }: KubeletOptions,
  { root }: ReturnType<typeof dataFolders>,
): Promise<MountNamespaces | NoMountNamespaces> {
  if (!mountNamespaces) return { reason: "mount namespaces are turned off" };
  return await openMountNamespaces({
    folder: root,
    user: { uid: Deno.uid() ?? 0, gid: Deno.gid() ?? 0 },
    searchPath: Deno.env.get("PATH"),
  });
}

/**
 * Prepares a kubelet: kills leftover processes of an earlier one of the same folder and registers the
 * node. Throws a `ConfigurationError` on anything but Linux, and what the client throws.
 */
export async function startKubelet(options: KubeletOptions): Promise<Kubelet> {
  refuseOtherSystems(Deno.build.os);
  const folders = dataFolders(options.dataDir);
  const mounting = await mountNamespacesOf(options, folders);
  const kubelet = new RunningKubelet(options, folders, mounting);
  try {
    await kubelet.prepare();
  } catch (error) {
    await kubelet.close();
    throw error;
  }
  return kubelet;
}
