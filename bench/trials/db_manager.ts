/** Katib's real DB manager on Postgres, which a benchmark kills, restarts and reads from. */
import { createDbManagerClient } from "../../katib/log/db_manager_client.ts";
import { systemClock } from "../../platform/base/clock.ts";
import { inParallel } from "../../platform/base/parallel.ts";
import { startDbManager } from "../katib/installation.ts";
import { startPostgres } from "../katib/postgres.ts";
import type { LoggedValue, Part } from "./accounts.ts";

/** Content of the table. */
export interface Written {
  /** Calls that wrote rows: each is one statement, hence one transaction. */
  readonly calls: number;
  readonly rows: number;
}

/** A DB manager that runs. */
export interface DbManager {
  /** `HOST:PORT`. */
  readonly address: string;
  /** As `kill -9`. */
  kill(): Promise<void>;
  /** At the same address; resolves when it serves. */
  restart(): Promise<void>;
  /** Returns the content of the table that belongs to a part. */
  writtenOf(part: Pick<Part, "digit">): Promise<Written>;
  /** The logs of trials, asked for by their names as Katib does. Rejects where one cannot be had. */
  read(trials: readonly string[]): Promise<LoggedValue[][]>;
  stop(): Promise<void>;
}

const READ_MS = 30_000;
/** Reads at a time: its table has no index, so that each looks at every row. */
const READS = 8;

/** Starts the program, with its files in `folder`. */
export async function startKatibDbManager(folder: string, program: string): Promise<DbManager> {
  await using cleanup = new AsyncDisposableStack();
  const postgres = await startPostgres(folder);
  cleanup.defer(() => postgres.daemon.stop("SIGINT"));
  const { daemon, port } = await startDbManager({ folder }, program, postgres.port);
  cleanup.defer(() => daemon.stop());
  const address = `127.0.0.1:${port}`;
  const client = createDbManagerClient({ address, clock: systemClock, deadlineMs: READ_MS });
  cleanup.defer(() => client.close());
  const started = cleanup.move();
  return {
    address,
    kill: () => daemon.stop("SIGKILL"),
    restart: () => daemon.start(),
    async writtenOf({ digit }) {
      const [[calls, rows] = []] = await postgres.query(
        `select count(distinct xmin::text), count(*) from observation_logs where value like '${digit}%'`,
      );
      return { calls: Number(calls), rows: Number(rows) };
    },
    async read(trials) {
      const logs: LoggedValue[][] = [];
      const [error] = await inParallel([...trials.entries()], async ([index, trialName]) => {
        const asked = { trialName, metricName: "", startTime: "", endTime: "" };
        const rows = await client.get(asked);
        logs[index] = rows.flatMap(({ metric }) => metric === undefined ? [] : [metric]);
      }, { limit: READS });
      if (error !== undefined) throw error;
      return logs;
    },
    stop: () => started.disposeAsync(),
  };
}
