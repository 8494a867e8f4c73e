/** Programs in pods that push with nothing but what their pod was given. */
import { STATUS_ENV } from "../../crds/names.ts";
import type { KubeClient } from "../../platform/kube/client.ts";
import { until } from "./until.ts";
import { podLog } from "./pod_log.ts";

/** Script of a pod: prints what a program needs to push, once its CA is there, and keeps running. */
export const TELL = `while ! test -s "$${STATUS_ENV.sdk.caCert}"; do sleep 0.1; done
echo "$${STATUS_ENV.sdk.url}"; cat "$${STATUS_ENV.sdk.token}"; echo; cat "$${STATUS_ENV.sdk.caCert}"
echo END; exec sleep 600`;

/** A program in a pod, by what the pod was given. */
export async function programIn(client: KubeClient, pod: string) {
  const [url = "", token = "", ...rest] = await until(`pod ${pod} has its CA`, async () => {
    const lines = (await podLog(client, pod) ?? "").split("\n");
    return lines.includes("END") && lines;
  }, { timeoutMs: 60_000 });
  const ca = rest.slice(0, rest.indexOf("END")).join("\n");
  async function ask(body?: unknown) {
    using http = Deno.createHttpClient({ caCerts: [ca] });
    const answer = await fetch(url, {
      method: body === undefined ? "GET" : "POST",
      client: http,
      headers: { authorization: `Bearer ${token}` },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(10_000),
    });
    return { status: answer.status, body: await answer.json() };
  }
  return { url, token, ask };
}
