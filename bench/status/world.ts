/** TrainJobs with their children, and a token for a pod of each, in a real API server. */
import { z } from "zod";
import { jobAudience } from "../../crds/job_kind.ts";
import { TRAINJOB } from "../../crds/job_kinds.ts";
import { PUSH_AUDIENCE, TRAINER_API_VERSION } from "../../crds/names.ts";
import { JOBSET_API_VERSION } from "../../crds/jobset_names.ts";
import type { KubeClient } from "../../platform/kube/client.ts";
import { jobOf, jobSetOf, type Owner, podOf, runningStatus, trainJobOf } from "./objects.ts";

/** A TrainJob that pushes. */
export interface Pusher {
  readonly namespace: string;
  readonly trainJob: string;
  /** Bound to its pod; for Milepost's audience and for upstream's, which is a job's own. */
  readonly token: string;
}

/** Requests under way at a time: more than an API server works on at once. */
const PARALLEL = 64;
const ACCOUNT = "default";
const JSON_TYPE = { "content-type": "application/json" };

const createdSchema = z.looseObject({
  apiVersion: z.string(),
  kind: z.string(),
  metadata: z.looseObject({ name: z.string(), uid: z.string() }),
});
const tokenSchema = z.looseObject({ status: z.looseObject({ token: z.string() }) });

async function send(client: KubeClient, path: string, body: unknown, method = "POST") {
  const type = method === "PATCH" ? { "content-type": "application/merge-patch+json" } : JSON_TYPE;
  const { text } = await client.read(path, { method, headers: type, body: JSON.stringify(body) });
  const value: unknown = JSON.parse(text);
  return value;
}

async function create(client: KubeClient, path: string, body: unknown): Promise<Owner> {
  const { apiVersion, kind, metadata } = createdSchema.parse(await send(client, path, body));
  return { apiVersion, kind, name: metadata.name, uid: metadata.uid };
}

async function createJob(
  client: KubeClient,
  namespace: string,
  name: string,
  owner: Owner | undefined,
): Promise<Owner> {
  const within = (prefix: string) => `${prefix}/namespaces/${namespace}`;
  const trainJobs = `${within(`/apis/${TRAINER_API_VERSION}`)}/trainjobs`;
  const trainJob = await create(client, trainJobs, trainJobOf(name, owner));
  const jobSets = `${within(`/apis/${JOBSET_API_VERSION}`)}/jobsets`;
  const jobSet = await create(client, jobSets, jobSetOf(name, trainJob));
  const job = await create(client, `${within("/apis/batch/v1")}/jobs`, jobOf(name, jobSet));
  const pods = `${within("/api/v1")}/pods`;
  const pod = await create(client, pods, podOf(name, jobSet, job));
  const status = runningStatus(new Date());
  await send(client, `${pods}/${pod.name}/status`, { status }, "PATCH");
  return pod;
}

async function tokenOf(client: KubeClient, namespace: string, trainJob: string, pod: Owner) {
  const path = `/api/v1/namespaces/${namespace}/serviceaccounts/${ACCOUNT}/token`;
  const { apiVersion, kind, name, uid } = pod;
  const answer = await send(client, path, {
    apiVersion: "authentication.k8s.io/v1",
    kind: "TokenRequest",
    spec: {
      audiences: [PUSH_AUDIENCE, jobAudience(TRAINJOB, namespace, trainJob)],
      expirationSeconds: 7200,
      boundObjectRef: { apiVersion, kind, name, uid },
    },
  });
  return tokenSchema.parse(answer).status.token;
}

/** Runs `work` for 0 up to `count`, at most so many at a time. Returns the results in order. */
async function forEach<T>(count: number, work: (number: number) => Promise<T>): Promise<T[]> {
  const done: T[] = [];
  let next = 0;
  const worker = async () => {
    for (let number = next++; number < count; number = next++) done[number] = await work(number);
  };
  await Promise.all(Array.from({ length: Math.min(PARALLEL, count) }, worker));
  return done;
}

/**
 * Creates a namespace with `count` TrainJobs, each with JobSet, Job and a running pod, and then asks
 * for a token of each pod. Throws where the API server refuses any of it.
 */
export async function createPushers(
  client: KubeClient,
  { namespace, count, say, ownerOf }: {
    readonly namespace: string;
    readonly count: number;
    readonly say: (text: string) => void;
    /** Makes the controller of the TrainJob of that name. */
    readonly ownerOf?: (name: string) => Promise<Owner>;
  },
): Promise<Pusher[]> {
  await send(client, "/api/v1/namespaces", { metadata: { name: namespace } });
  const accounts = `/api/v1/namespaces/${namespace}/serviceaccounts`;
  await send(client, accounts, { metadata: { name: ACCOUNT } });
  const began = performance.now();
  const jobName = (number: number) => `job-${number}`;
  const pods = await forEach(count, async (number) => {
    const name = jobName(number);
    return await createJob(client, namespace, name, await ownerOf?.(name));
  });
  const between = performance.now();
  const pushers = await forEach(count, async (number): Promise<Pusher> => {
    const [trainJob, pod] = [jobName(number), pods[number]];
    if (pod === undefined) throw new Error(`${trainJob} has no pod`);
    return { namespace, trainJob, token: await tokenOf(client, namespace, trainJob, pod) };
  });
  const seconds = (from: number, to: number) => ((to - from) / 1000).toFixed(1);
  const end = performance.now();
  say(`${count} jobs in ${seconds(began, between)} s, their tokens in ${seconds(between, end)} s`);
  return pushers;
}
