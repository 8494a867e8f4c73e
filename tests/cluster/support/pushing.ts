/** Pushes to a manager of a cluster, as a pod does, with a token of that pod. */
import { z } from "zod";
import { KINDS } from "../../../crds/kinds.ts";
import { statusPath } from "../../../crds/job_kind.ts";
import { TRAINJOB } from "../../../crds/job_kinds.ts";
import { CA_KEY, childNames, PUSH_AUDIENCE } from "../../../crds/names.ts";
import type { KubeClient } from "../../../platform/kube/client.ts";
import { controllerOf } from "../../../platform/kube/owner_references.ts";
import { requestToken } from "../../support/standalone.ts";

/** A pod that reports. */
export interface Reporter {
  /** Sends a body. Returns the code, or undefined if there was no answer. */
  send(statusUrl: string, trainerStatus: unknown): Promise<number | undefined>;
  /** The answer's body of the last push. */
  readonly lastAnswer: string;
  /** Its Retry-After. */
  readonly retryAfter: string | null;
  [Symbol.dispose](): void;
}

/** A pod that reports. */
export interface ReporterOf {
  readonly namespace?: string;
  readonly trainJob: string;
}

/** The first pod of a TrainJob's Job, with a token bound to it. Throws if there is none. */
export async function reporterOf(
  client: KubeClient,
  { namespace = "default", trainJob }: ReporterOf,
): Promise<Reporter> {
  const pods = await client.list(KINDS.pod, { namespace });
  const pod = pods.items.find(({ metadata }) =>
    controllerOf(metadata)?.name.startsWith(`${trainJob}-`)
  );
  const { name, uid } = z.object({ name: z.string(), uid: z.string() }).parse(pod?.metadata);
  const account = { namespace, name: pod?.spec?.serviceAccountName ?? "default" };
  const token = await requestToken(client, account, {
    audience: PUSH_AUDIENCE,
    pod: { name, uid },
  });
  const config = { namespace, name: childNames.tlsConfig(trainJob) };
  const ca = (await client.get(KINDS.configMap, config)).data?.[CA_KEY] ?? "";
  const http = Deno.createHttpClient({ caCerts: [ca] });
  let lastAnswer = "";
  let retryAfter: string | null = null;
  return {
    get lastAnswer() {
      return lastAnswer;
    },
    get retryAfter() {
      return retryAfter;
    },
    [Symbol.dispose]: () => http.close(),
    async send(statusUrl, trainerStatus) {
      try {
        const answer = await fetch(`${statusUrl}${statusPath(TRAINJOB, namespace, trainJob)}`, {
          client: http,
          method: "POST",
          headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
          body: JSON.stringify({ trainerStatus }),
          signal: AbortSignal.timeout(5_000),
        });
        lastAnswer = await answer.text();
        retryAfter = answer.headers.get("retry-after");
        return answer.status;
      } catch (error) {
        lastAnswer = String(error);
        return undefined;
      }
    },
  };
}

/** Progress at a time, by default now. */
export function statusOf(progressPercentage: number, at = Date.now()) {
  return { progressPercentage, lastUpdatedTime: new Date(at).toISOString() };
}
