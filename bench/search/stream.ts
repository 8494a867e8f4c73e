/** Time from a push to its event, on one stream of a thousand jobs that push each second. */
import { TRAINJOB } from "../../crds/job_kinds.ts";
import { jobObservationSchema } from "../../katib/api/messages.ts";
import { observer } from "../../tests/support/observer.ts";
import { until } from "../../tests/support/until.ts";
import { withEndpoint } from "../attack/endpoint.ts";
import { type Measure, quantile } from "../result.ts";
import { BENCH_LABEL, createTrials, pushAll, WARM_UP_MS } from "./stops.ts";

const MEASURED_MS = 20_000;
const GOAL_MS = 500;

/** Returns how late one stream tells what so many jobs push. */
export function measureStream(
  { jobs: count, say }: { readonly jobs: number; readonly say: (text: string) => void },
): Promise<Measure[]> {
  return withEndpoint(1, async (endpoint) => {
    const { client, caPem, ports } = endpoint;
    const jobs = await createTrials(endpoint, count);
    say(`${jobs.length} jobs have a pod; the first pushes of each`);
    await pushAll(caPem, jobs, { rate: count / 5, durationMs: WARM_UP_MS });
    const reader = await observer(client, "reads-stream", TRAINJOB, ["get", "list", "watch"]);
    const at = { status: `https://127.0.0.1:${ports.status}`, caBundle: () => caPem };
    const [[key, value] = []] = Object.entries(BENCH_LABEL);
    await using events = await reader.watchMany(at, { labelSelector: `${key}=${value}` });
    const late: number[] = [];
    const synced = Promise.withResolvers<void>();
    const reading = (async () => {
      for (;;) {
        const heard = await events.next();
        if (!("event" in heard) || heard.event === "end") return;
        if (heard.event === "synced") synced.resolve();
        if (heard.event !== "observation") continue;
        const now = Date.now();
        const { log } = jobObservationSchema.parse(heard.data);
        // The time of a row is that of its push.
        late.push(...log.map(({ time }) => now - Date.parse(time)));
      }
    })();
    await Promise.race([synced.promise, reading]);
    late.splice(0);
    say(`${count} pushes a second for ${MEASURED_MS / 1_000} s`);
    const load = await pushAll(caPem, jobs, { rate: count, durationMs: MEASURED_MS });
    await until("each push is told", () => late.length >= load.ok, { timeoutMs: 20_000 })
      .catch(() => {}); // Then the second measure says how many are missing.
    return [
      {
        name: `search: p99 from a push to its event on a stream of ${count} jobs`,
        value: quantile(late, .99),
        unit: "ms",
        goal: { is: "at most", limit: GOAL_MS },
        note:
          `${late.length} rows, p50 ${quantile(late, .5)} ms, last ${
            Math.max(...late)
          } ms; answers of ` +
          `the pushes p50 ${load.warm.p50} ms, p99 ${load.warm.p99} ms; not taken ${
            load.sent - load.ok
          }`,
      },
      {
        name: "search: acknowledged pushes that the stream did not tell, or twice",
        value: Math.abs(load.ok - late.length),
        unit: "",
        goal: { is: "at most", limit: 0 },
      },
    ];
  }, { flags: ["--token-review-qps=200"] });
}
