/** Pod launcher: folder, volumes and programs of one pod. */
import { KINDS } from "../../crds/kinds.ts";
import type { Container, Pod } from "../../platform/kube/kubernetes.ts";
import { allContainers } from "../../crds/pod_containers.ts";
import { POD_REASONS } from "../../crds/pod_names.ts";
import { isForbidden, isNotFound, messageOf } from "../../platform/kube/errors.ts";
import { getOrUndefined } from "../../platform/kube/upsert.ts";
import type { Restriction } from "./gpus/gpu_pool.ts";
import { ConfigProblem, type PodFacts } from "./containers/field_refs.ts";
import { prepareLaunch } from "./containers/launch.ts";
import type { ManagedContainer } from "./containers/managed_container.ts";
import type { PodSurroundings } from "./pod_surroundings.ts";
import { StartProblem } from "./processes/processes.ts";
import { createTokenSource, type TokenSource } from "./volumes/tokens.ts";
import type { ObjectSource } from "./volumes/volume_files.ts";
import { createVolumes, type PodVolumes } from "./volumes/pod_volumes.ts";
import { removeIfThere } from "./processes/removal.ts";

const CALL_MS = 10_000;
/** Time in which an API server learns that a pod is bound to this node, in milliseconds; it decides from a cache. */
const KNOWN_MS = 5_000;

/** Reads ConfigMaps and Secrets of a namespace one by one. */
function objectSource(
  { client, signal }: PodSurroundings,
  namespace: string,
): ObjectSource {
  const options = { deadlineMs: CALL_MS, signal };
  return {
    configMap: (name) => getOrUndefined(client, KINDS.configMap, { namespace, name }, options),
    secret: (name) => getOrUndefined(client, KINDS.secret, { namespace, name }, options),
  };
}

/** Folder, volumes and programs of one pod. */
export class PodLauncher {
  readonly #facts: PodFacts;
  readonly #uid: string;
  readonly #folder: string;
  readonly #memoryFolder: string;
  readonly #specs: ReadonlyMap<string, Container>;
  readonly #objects: ObjectSource;
  readonly #tokens: TokenSource;
  readonly #volumes: PodVolumes;
  #refreshAt: number | undefined;
  #refusedAt: number | undefined;

  constructor(pod: Pod, podIP: string, private readonly around: PodSurroundings) {
    this.#uid = pod.metadata?.uid ?? "";
    this.#folder = `${around.podsFolder}/${this.#uid}`;
    this.#memoryFolder = `${around.memoryFolder}/${this.#uid}`;
    this.#facts = { ...around.node, podIP };
    this.#objects = objectSource(around, pod.metadata?.namespace ?? "");
    this.#tokens = createTokenSource({ ...around, pod });
    this.#volumes = createVolumes(`${this.#folder}/volumes`, {
      facts: this.#facts,
      objects: this.#objects,
      tokens: this.#tokens,
      claims: around.claims,
      memoryFolder: `${this.#memoryFolder}/volumes`,
    });
    this.#specs = new Map(allContainers(pod).map((spec) => [spec.name, spec]));
  }

  /** Gives the pod's GPUs back. None of its processes may run. */
  releaseGpus(pod: Pod): void {
    this.around.gpus?.release(pod);
  }

  /** Removes the pod's folders. */
  async removeFolder(): Promise<void> {
    await removeIfThere(this.#memoryFolder, { recursive: true });
    await removeIfThere(this.#folder, { recursive: true });
    this.around.claims?.release(this.#uid);
  }

  /**
   * Starts the containers, or makes them wait with a reason. `isEnding` is called just before a
   * program starts.
   */
  async start(
    pod: Pod,
    due: readonly ManagedContainer[],
    isEnding: () => boolean,
  ): Promise<void> {
    try {
      for (const folder of ["home", "tmp", "volumes"]) {
        await Deno.mkdir(`${this.#folder}/${folder}`, { recursive: true, mode: 0o700 });
      }
      await this.#volumes.refresh(pod);
    } catch (error) {
      const message = messageOf(error);
      if (!this.#isUnknownYet(error)) this.#warn(pod, POD_REASONS.failedMount, message);
      for (const container of due) container.wait(POD_REASONS.containerCreating, message);
      return;
    }
    const restrict = this.around.gpus?.take(pod);
    if (this.around.gpus !== undefined && restrict === undefined) {
      const message = "waiting for GPUs that other pods have";
      for (const container of due) container.wait(POD_REASONS.containerCreating, message);
      return;
    }
    this.#refreshAt ??= this.around.clock.now() + this.around.refreshMs;
    await Promise.all(due.map((container) => this.#startOne(pod, container, isEnding, restrict)));
  }

  async #startOne(
    pod: Pod,
    container: ManagedContainer,
    isEnding: () => boolean,
    restrict: Restriction | undefined,
  ): Promise<void> {
    const spec = this.#specs.get(container.name);
    if (!spec) return;
    try {
      const launch = await prepareLaunch({
        pod,
        container: spec,
        folder: this.#folder,
        memoryFolder: this.#memoryFolder,
        volumes: this.#volumes,
        objects: this.#objects,
        facts: this.#facts,
        names: this.around.namesFor(pod.metadata?.namespace ?? ""),
        baseEnv: this.around.baseEnv,
        services: this.around.services,
        realPaths: this.around.realPaths,
      });
      const env = restrict?.(container.name, launch.env) ?? launch.env;
      if (!isEnding()) container.start({ ...launch, env });
    } catch (error) {
      this.#warn(pod, POD_REASONS.failed, `Error: ${messageOf(error)}`);
      if (error instanceof StartProblem) return container.failStart(error.message);
      const reason = error instanceof ConfigProblem
        ? POD_REASONS.createContainerConfigError
        : POD_REASONS.createContainerError;
      container.wait(reason, messageOf(error));
    }
  }

  /**
   * Updates mounted files if it is time. Returns when it will be time again, in
   * milliseconds since the epoch; undefined before the first start.
   */
  async refresh(pod: Pod): Promise<number | undefined> {
    if (this.#refreshAt === undefined) return undefined;
    const { clock, refreshMs } = this.around;
    const due = () => Math.min(this.#refreshAt ?? Infinity, this.#tokens.renewAt ?? Infinity);
    if (clock.now() >= due()) {
      this.#refreshAt = clock.now() + refreshMs;
      await this.#volumes.refresh(pod)
        .catch((error) => this.#warn(pod, POD_REASONS.failedMount, messageOf(error)));
    }
    return Math.max(due(), clock.now() + 100);
  }

  /** Whether the API server may refuse only because it does not know yet that the pod is on this node. */
  #isUnknownYet(error: unknown): boolean {
    // Of a ConfigMap or a Secret that is missing a kubelet tells at once.
    const isOfPod = isNotFound(error) && /\bpods? "/.test(messageOf(error));
    if (!isForbidden(error) && !isOfPod) return false;
    const now = this.around.clock.monotonic();
    this.#refusedAt ??= now;
    return now - this.#refusedAt < KNOWN_MS;
  }

  #warn(pod: Pod, reason: string, message: string): void {
    const event = { type: "Warning" as const, reason, message };
    if (!this.around.signal.aborted) this.around.recordEvent(pod, event);
  }
}
