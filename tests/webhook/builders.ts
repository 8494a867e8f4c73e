/** Small objects for admission, a fake clock, and a Secret store in memory. */
import { Buffer } from "node:buffer";
import type { HttpRequest } from "../../platform/http/message.ts";
import { KINDS } from "../../crds/kinds.ts";
import { JOB_KINDS } from "../../crds/job_kinds.ts";
import type { JobSet, ReplicatedJob } from "../../crds/jobset.ts";
import type { Container, Pod } from "../../platform/kube/kubernetes.ts";
import { LABELS, STEP_CONTAINERS } from "../../crds/names.ts";
import type { RuntimePatch } from "../../crds/runtime_patch.ts";
import type { ClusterTrainingRuntime, TrainingRuntimeSpec } from "../../crds/training_runtime.ts";
import type { TrainJob, TrainJobSpec } from "../../crds/trainjob.ts";
import type { Clock } from "../../platform/base/clock.ts";
import { KubeError } from "../../platform/kube/errors.ts";
import type { AdmissionOptions } from "../../webhook/admission_handlers.ts";

/** A moment in whole seconds, in milliseconds since the epoch. */
export const NOW = Date.parse("2026-01-02T03:04:05Z");

/** A pod of TrainJob `tj`, whose metadata and spec can be overlaid. */
export function pod(
  overlay: { labels?: Record<string, string>; spec?: Partial<Pod["spec"]> } = {},
): Pod {
  return {
    metadata: {
      name: "tj-node-0-0-abcde",
      labels: overlay.labels ?? { [LABELS.trainJobName]: "tj" },
    },
    spec: { containers: [{ name: "node" }], ...overlay.spec },
  };
}

/** A replicated job of a runtime; `step` sets label and container. */
export function replicatedJob(
  name: string,
  step?: string,
  container?: Partial<Container>,
): ReplicatedJob {
  const ofStep = Object.entries(STEP_CONTAINERS).find(([label]) => label === step)?.[1];
  return {
    name,
    template: {
      metadata: step === undefined ? {} : { labels: { [LABELS.ancestorStep]: step } },
      spec: {
        template: {
          spec: { containers: [{ name: ofStep ?? name, image: "i", ...container }] },
        },
      },
    },
  };
}

/** The spec of a torch runtime with a trainer job, overlaid. */
export function runtimeSpec(
  jobs = [replicatedJob("node", "trainer")],
  overlay: Partial<TrainingRuntimeSpec> = {},
): TrainingRuntimeSpec {
  return { mlPolicy: { torch: {} }, template: { spec: { replicatedJobs: jobs } }, ...overlay };
}

/** A ClusterTrainingRuntime `rt`. */
export function runtime(
  spec: TrainingRuntimeSpec = runtimeSpec(),
  labels: Record<string, string> = {},
): ClusterTrainingRuntime {
  return {
    apiVersion: "trainer.kubeflow.org/v1alpha1",
    kind: "ClusterTrainingRuntime",
    metadata: { name: "rt", labels },
    spec,
  };
}

/** A TrainJob `tj` on runtime `rt`. */
export function trainJob(
  spec: Partial<TrainJobSpec> = {},
  metadata: TrainJob["metadata"] = {},
): TrainJob {
  return {
    apiVersion: "trainer.kubeflow.org/v1alpha1",
    kind: "TrainJob",
    metadata: { name: "tj", namespace: "ns", uid: "u1", ...metadata },
    spec: {
      runtimeRef: { name: "rt", kind: "ClusterTrainingRuntime", apiGroup: "trainer.kubeflow.org" },
      ...spec,
    },
  };
}

/** A patch of one replicated job's pod spec. */
export function patchOf(
  pod: Record<string, unknown>,
  options: { job?: string; manager?: string; time?: string } = {},
): RuntimePatch {
  const { job = "node", manager = "acme.io/m", time } = options;
  const spec = { replicatedJobs: [{ name: job, template: { spec: { template: { spec: pod } } } }] };
  return { manager, trainingRuntimeSpec: { template: { spec } }, ...(time ? { time } : {}) };
}

/** The JobSet of `tj` with so many active Jobs of `node`. */
export function jobSet(active: number): JobSet {
  const counters = { ready: 0, succeeded: 0, failed: 0, suspended: 0 };
  return {
    apiVersion: "jobset.x-k8s.io/v1alpha2",
    kind: "JobSet",
    metadata: { name: "tj", namespace: "ns" },
    status: { replicatedJobsStatus: [{ name: "node", active, ...counters }] },
  };
}

/** A clock whose time moves only by `advance`; sleeps end when it passes them, or by their signal. */
export function manualClock(start = NOW): Clock & { advance(ms: number): void } {
  let now = start;
  const sleepers = new Set<{ at: number; wake: () => void }>();
  return {
    now: () => now,
    monotonic: () => now,
    sleep: (ms, signal) =>
      new Promise((resolve) => {
        if (signal?.aborted) return resolve();
        const sleeper = {
          at: now + ms,
          wake: () => {
            sleepers.delete(sleeper);
            resolve();
          },
        };
        sleepers.add(sleeper);
        signal?.addEventListener("abort", sleeper.wake, { once: true });
      }),
    advance(ms) {
      now += ms;
      for (const sleeper of [...sleepers]) if (sleeper.at <= now) sleeper.wake();
    },
  };
}

interface Stored {
  metadata?: { name?: string; resourceVersion?: string };
}

/** Objects by name, with resource versions and the API server's refusals. */
export class MemoryStore {
  readonly objects = new Map<string, Stored>();
  readonly listeners = new Set<() => void>();
  writes = 0;
  /** Makes a call fail instead; undefined lets it through. */
  fault: (verb: "get" | "create" | "replace") => Error | undefined = () => undefined;
  #version = 0;

  get<T>(kind: { parse(value: unknown): T }, key: { name: string }): Promise<T> {
    const fault = this.fault("get");
    if (fault !== undefined) return Promise.reject(fault);
    const found = this.objects.get(key.name);
    if (found === undefined) return Promise.reject(failure(404, "NotFound"));
    return Promise.resolve(kind.parse(structuredClone(found)));
  }

  create<T extends Stored>(kind: { parse(value: unknown): T }, object: T): Promise<T> {
    const fault = this.fault("create");
    if (fault !== undefined) return Promise.reject(fault);
    if (this.objects.has(object.metadata?.name ?? "")) {
      return Promise.reject(failure(409, "AlreadyExists"));
    }
    return Promise.resolve(kind.parse(this.put(object)));
  }

  replace<T extends Stored>(kind: { parse(value: unknown): T }, object: T): Promise<T> {
    const fault = this.fault("replace");
    if (fault !== undefined) return Promise.reject(fault);
    const found = this.objects.get(object.metadata?.name ?? "");
    if (found === undefined) return Promise.reject(failure(404, "NotFound"));
    if (found.metadata?.resourceVersion !== object.metadata?.resourceVersion) {
      return Promise.reject(failure(409, "Conflict"));
    }
    return Promise.resolve(kind.parse(this.put(object)));
  }

  /** Stores without any check, as another client would have. */
  put(object: Stored): Stored {
    const metadata = { ...object.metadata, resourceVersion: String(++this.#version) };
    const stored = structuredClone({ ...object, metadata });
    this.objects.set(metadata.name ?? "", stored);
    this.writes++;
    this.#notify();
    return stored;
  }

  /** Removes without any check. */
  remove(name: string): void {
    this.objects.delete(name);
    this.#notify();
  }

  /** Calls the listener after each write. */
  readonly changes = (listener: () => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  #notify(): void {
    for (const listener of this.listeners) listener();
  }
}

/** An error of the API server. */
export function failure(code: number, reason: string): KubeError {
  return new KubeError(reason, { code, reason });
}

/** Options of the handlers: runtime `rt` exists, nothing is unsupported, pods are injected. */
export function admissionOptions(overlay: Partial<AdmissionOptions> = {}): AdmissionOptions {
  return {
    kinds: JOB_KINDS,
    clock: manualClock(),
    endpoint: () => ({ url: "https://milepost:8082", caBundle: "CA" }),
    tellsLastWords: () => false,
    runtime: (ref) => ref.name === "rt" ? runtime() : undefined,
    jobSet: () => undefined,
    snapshot: () => undefined,
    trial: () => undefined,
    trainJobRules: () => () => [],
    runtimeRules: () => [],
    v1JobRules: { problems: () => [], warnings: () => [] },
    ...overlay,
  };
}

/** An AdmissionReview about an object of ours, or a pod. */
export function review(object: unknown, overlay: Record<string, unknown> = {}) {
  return {
    apiVersion: "admission.k8s.io/v1",
    kind: "AdmissionReview",
    request: {
      uid: "r1",
      kind: { group: KINDS.trainJob.group, version: "v1alpha1", kind: "TrainJob" },
      operation: "CREATE",
      namespace: "ns",
      object,
      ...overlay,
    },
  };
}

/** A request to the webhook, as a server hands it over. */
export function admissionRequest(
  { method = "POST", url, headers = { "content-type": "application/json" }, body }: {
    method?: string;
    url: string;
    headers?: Readonly<Record<string, string | undefined>>;
    body: string[];
  },
): HttpRequest {
  const bytes = Buffer.from(body.join(""));
  return {
    method,
    url,
    peer: "10.0.0.1",
    header: (name) => headers[name],
    readBody: (maxBytes) => Promise.resolve(bytes.length > maxBytes ? undefined : bytes),
  };
}
