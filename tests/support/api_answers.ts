/** API server whose answers a test makes up, each from its request. */
import type { ClosableClient } from "../../platform/kube/connection/http_client.ts";
import { createClient } from "../../platform/kube/connection/connected_client.ts";
import { connectionTo } from "../../platform/kube/connection/kubeconfig.ts";

/** A request, as far as answers depend on it. */
export interface AskedOf {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly body: unknown;
}

/** An object, or the code of a refusal, or a whole response. */
export type MadeUp = Readonly<Record<string, unknown>> | number | Response;

function responseOf(answer: MadeUp): Response {
  if (answer instanceof Response) return answer;
  if (typeof answer !== "number") return Response.json(answer);
  const reason = { 403: "Forbidden", 404: "NotFound" }[answer] ?? "InternalError";
  const status = { kind: "Status", status: "Failure", code: answer, reason, message: reason };
  return Response.json(status, { status: answer });
}

/** Runs `work` with a client of it. */
export async function withAnswers(
  answer: (request: AskedOf) => MadeUp,
  work: (client: ClosableClient, asked: readonly AskedOf[]) => Promise<void>,
): Promise<void> {
  const asked: AskedOf[] = [];
  const serving = { port: 0, hostname: "127.0.0.1", onListen: () => {} };
  const server = Deno.serve(serving, async (request) => {
    const { pathname: path, searchParams: query } = new URL(request.url);
    const text = await request.text();
    const it = { method: request.method, path, query, body: text === "" ? {} : JSON.parse(text) };
    asked.push(it);
    return responseOf(answer(it));
  });
  const url = `http://127.0.0.1:${server.addr.port}`;
  const client = createClient({ connection: connectionTo({ server: url, token: "abc" }) });
  try {
    await work(client, asked);
  } finally {
    client.close();
    await server.shutdown();
  }
}

/** The answer to a SelfSubjectAccessReview. */
export const reviewed = (allowed: boolean) => ({
  apiVersion: "authorization.k8s.io/v1",
  kind: "SelfSubjectAccessReview",
  metadata: {},
  spec: {},
  status: { allowed },
});
