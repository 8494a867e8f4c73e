/** A whole Milepost in this process, in memory, on free ports: for tests from end to end. */
import { KINDS } from "../../crds/kinds.ts";
import { parse as parseYaml } from "yaml";
import { z } from "zod";
import type { ClusterTrainingRuntime } from "../../crds/training_runtime.ts";
import type { TrainJob, TrainJobSpec } from "../../crds/trainjob.ts";
import {
  type Standalone,
  type StandaloneOptions,
  startStandalone,
} from "../../app/standalone/standalone.ts";
import type { KubeClient } from "../../platform/kube/client.ts";
import { statusPath } from "../../crds/job_kind.ts";
import { TRAINJOB } from "../../crds/job_kinds.ts";
import { until } from "./until.ts";
import { SIGNING_KEY } from "./signing_key.ts";

const STANDALONE: StandaloneOptions = { port: 0, statusPort: 0, signingKey: SIGNING_KEY };

/** Runs `work` with a standalone that is stopped whatever happens. */
export async function withStandalone(
  work: (standalone: Standalone) => Promise<void>,
  options: Partial<StandaloneOptions> = {},
): Promise<void> {
  const signal = new AbortController().signal;
  const standalone = await startStandalone({ ...STANDALONE, ...options }, signal);
  try {
    await work(standalone);
  } finally {
    await standalone.stop();
  }
}

/**
 * A standalone that the tests of one file share: it starts and is prepared before the first, and stops
 * after the last. Each test has names of its own. Returns a function that returns it.
 */
export function shareStandalone(
  prepare: (client: KubeClient) => Promise<unknown> = () => Promise.resolve(),
): () => Standalone {
  let shared: Standalone | undefined;
  Deno.test.beforeAll(async () => {
    shared = await startStandalone(STANDALONE, new AbortController().signal);
    await prepare(shared.client);
  });
  Deno.test.afterAll(() => shared?.stop());
  return () => {
    if (shared === undefined) throw new Error("the standalone is there while tests run");
    return shared;
  };
}

/** A runtime whose one container runs a shell command. */
export function shellRuntime(
  name: string,
  command: string,
  { backoffLimit = 0, restartPolicy = "Never" } = {},
): ClusterTrainingRuntime {
  return KINDS.clusterTrainingRuntime.parse(parseYaml(`
apiVersion: trainer.kubeflow.org/v1alpha1
kind: ClusterTrainingRuntime
metadata:
  name: ${name}
  labels: {trainer.kubeflow.org/framework: plain}
spec:
  mlPolicy: {numNodes: 1}
  template:
    spec:
      replicatedJobs:
        - name: node
          template:
            metadata:
              labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}
            spec:
              backoffLimit: ${backoffLimit}
              template:
                spec:
                  restartPolicy: ${restartPolicy}
                  containers:
                    - name: node
                      image: none
                      command: ${JSON.stringify(["sh", "-c", command])}
`));
}

/** A TrainJob on a runtime. */
export function trainJob(
  name: string,
  runtime: string,
  { namespace = "default", labels, annotations, spec }: {
    namespace?: string;
    labels?: Record<string, string>;
    annotations?: Record<string, string> | undefined;
    spec?: Partial<TrainJobSpec>;
  } = {},
): TrainJob {
  return KINDS.trainJob.parse({
    apiVersion: "trainer.kubeflow.org/v1alpha1",
    kind: "TrainJob",
    metadata: {
      name,
      namespace,
      ...(labels && { labels }),
      ...(annotations && { annotations }),
    },
    spec: { runtimeRef: { name: runtime }, ...spec },
  });
}

/** Waits until a TrainJob is as wanted, and returns it. */
export function trainJobThat(
  client: KubeClient,
  name: string,
  what: string,
  isSo: (job: TrainJob) => boolean,
  namespace = "default",
): Promise<TrainJob> {
  return until(`TrainJob ${name} ${what}`, async () => {
    const job = await client.get(KINDS.trainJob, { namespace, name });
    return isSo(job) ? job : undefined;
  }, { timeoutMs: 60_000 });
}

const tokenSchema = z.looseObject({ status: z.looseObject({ token: z.string() }) });

/** Asks for a token of a service account, bound to a pod where one is given. */
export async function requestToken(
  client: KubeClient,
  serviceAccount: { namespace: string; name: string },
  options: { audience: string; pod?: { name: string; uid: string } },
): Promise<string> {
  const { audience, pod } = options;
  const body = {
    apiVersion: "authentication.k8s.io/v1",
    kind: "TokenRequest",
    spec: {
      audiences: [audience],
      expirationSeconds: 3600,
      ...(pod ? { boundObjectRef: { apiVersion: "v1", kind: "Pod", ...pod } } : {}),
    },
  };
  const answer = await client.createSubresource(
    KINDS.serviceAccount,
    serviceAccount,
    "token",
    body,
  );
  return tokenSchema.parse(answer).status.token;
}

/** Answer of the endpoint. */
export interface PushAnswer {
  readonly status: number;
  readonly body: unknown;
  readonly headers: Headers;
}

/** Pushes to the status endpoint of a TrainJob, trusting the standalone's CA. */
export async function push(
  standalone: Pick<Standalone, "status" | "caBundle">,
  job: { namespace?: string; name: string },
  token: string | undefined,
  body: unknown,
): Promise<PushAnswer> {
  using client = Deno.createHttpClient({ caCerts: [standalone.caBundle()] });
  const answer = await fetch(
    `${standalone.status}${statusPath(TRAINJOB, job.namespace ?? "default", job.name)}`,
    {
      method: "POST",
      client,
      headers: {
        "content-type": "application/json",
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      },
      body: typeof body === "string" ? body : JSON.stringify(body),
      signal: AbortSignal.timeout(10_000),
    },
  );
  const text = await answer.text();
  return {
    status: answer.status,
    body: text === "" ? undefined : JSON.parse(text),
    headers: answer.headers,
  };
}

/** The body of a push. */
export function progress(percentage: number, metrics: Record<string, string> = {}): unknown {
  return {
    trainerStatus: {
      progressPercentage: percentage,
      metrics: Object.entries(metrics).map(([name, value]) => ({ name, value })),
      lastUpdatedTime: new Date().toISOString(),
    },
  };
}
