/** Tests that a reader who takes a long log page by page makes its store read about as many rows as it has. */
import assert from "node:assert/strict";
import { answerAsk } from "../../../owner/observations/observation_asks.ts";
import { behind } from "../../../owner/observations/log_parts.ts";
import type { Position } from "../../../crds/wire/observation.ts";
import type { ObservationReader } from "../../../owner/observations/observations.ts";
import { createDbManagerClient } from "../../../katib/log/db_manager_client.ts";
import { createGrpcSink } from "../../../katib/log/grpc_sink.ts";
import { type LogStore, openLogStore } from "../../../katib/log/log_store.ts";
import type { ObservationSink } from "../../../owner/observations/sink.ts";
import { createStoreSink } from "../../../katib/log/sqlite_sink.ts";
import { systemClock } from "../../../platform/base/clock.ts";
import type { JobRef } from "../../../crds/job_kind.ts";
import { startFakeDbManager } from "../../katib/log/fake_db_manager.ts";
import { trialPlan, withObservations } from "./observations_fixture.ts";

const ROWS = 6_000;
const PAGE = 100;
const never = new AbortController().signal;

/** A sink, and how many rows its store has read. */
interface CountedSink {
  readonly sink: ObservationSink;
  readonly rowsRead: () => number;
  end(): Promise<void>;
}

function inMemory(): Promise<CountedSink> {
  const store = openLogStore();
  let rowsRead = 0;
  const counted: LogStore = {
    ...store,
    read(log, range) {
      const rows = store.read(log, range);
      rowsRead += rows.length;
      return rows;
    },
  };
  const parts = { name: "memory", isDurable: false, store: counted, clock: systemClock } as const;
  const sink = createStoreSink(parts);
  return Promise.resolve({ sink, rowsRead: () => rowsRead, end: () => Promise.resolve() });
}

async function overGrpc(): Promise<CountedSink> {
  const { address, rowsRead, stop } = await startFakeDbManager();
  const client = createDbManagerClient({ address, clock: systemClock, deadlineMs: 20_000 });
  const own = { name: "katib", keepsPlainJobs: false, settleMs: 10 } as const;
  const sink = createGrpcSink({ ...own, client, address, clock: systemClock });
  return { sink, rowsRead, end: stop };
}

/** Reads a log from its beginning to its end. */
async function readPages(source: ObservationReader, job: JobRef): Promise<string[]> {
  const values: string[] = [];
  let from: Position | undefined;
  for (let more = true; more;) {
    const answer = await answerAsk(source, { job, from, limit: PAGE }, never);
    assert.ok("rows" in answer, JSON.stringify(answer));
    values.push(...answer.rows.map(({ value }) => value));
    assert.ok(values.length <= ROWS, "rows came twice");
    from = behind(answer.rows, from);
    more = answer.more;
  }
  return values;
}

for (
  const [name, open] of Object.entries({ "the log store": inMemory, "a DB manager": overGrpc })
) {
  Deno.test(`a reader of all pages makes ${name} read each row a few times, whatever their number`, async () => {
    const { sink, rowsRead, end } = await open();
    const plan = trialPlan("a", { rules: [], records: "all" });
    const rows = Array.from({ length: ROWS }, (_, n) => ({
      // Two rows of each time: pages begin within one.
      time: new Date(Date.UTC(2026, 0, 1) + Math.floor((n + 1) / 2) * 250).toISOString(),
      name: n % 2 === 0 ? "loss" : "accuracy",
      value: String(n),
    }));
    await sink.append(plan.key, rows, never);
    await withObservations({ sink, plans: [plan] }, async ({ observations }) => {
      // The state of the log is read whole, once.
      await observations.snapshotOf(plan.job, never);
      const before = rowsRead();
      assert.deepEqual(await readPages(observations, plan.job), rows.map(({ value }) => value));
      const read = rowsRead() - before;
      assert.ok(read <= 4 * ROWS, `${read} rows were read for ${ROWS}`);
    });
    await sink.close();
    await end();
  });
}
