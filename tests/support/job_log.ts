/** Log of a job as `milepost logs` prints it. */
import type { JobKind } from "../../crds/job_kind.ts";
import { TRAINJOB } from "../../crds/job_kinds.ts";
import { systemClock } from "../../platform/base/clock.ts";
import type { KubeClient } from "../../platform/kube/client.ts";
import { type LogChoice, printLogs } from "../../terminal/followed_logs.ts";
import { createKeptPods } from "../../views/details/kept_pods.ts";

/** How long reading it may take, in milliseconds. */
const DEADLINE_MS = 240_000;

/** Returns the lines, of the pods that are there, else of those that went last; a warning stands among them as one. */
export async function jobLog(
  client: KubeClient,
  name: string,
  { kind = TRAINJOB, ...choice }: Partial<LogChoice> & { readonly kind?: JobKind } = {},
): Promise<string[]> {
  const namespace = "default";
  const { metadata } = await client.get(kind, { namespace, name });
  const lines: string[] = [];
  await printLogs(
    { kind, namespace, name, uid: metadata.uid ?? "" },
    { rank: undefined, follow: false, ...choice },
    {
      client,
      keptPods: createKeptPods(),
      clock: systemClock,
      signal: AbortSignal.timeout(DEADLINE_MS),
      print: (line) => void lines.push(line),
      warn: (text) => void lines.push(`warning: ${text}`),
    },
  );
  return lines;
}
