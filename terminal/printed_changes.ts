/** `milepost top` without a terminal: a line for each change of a state and each further tenth of progress, or JSON. */
import type { Clock } from "../platform/base/clock.ts";
import type { JobRow } from "../crds/wire/row.ts";
import { plainLine, plainStep } from "./plain_lines.ts";
import { safeJson, safeText } from "./shown_text.ts";
import { EVERYTHING, type TerminalCluster } from "./terminal_cluster.ts";
import { FIRST_STATE, queryOf } from "./top_state.ts";

/** Least time between two polls for changes, in milliseconds. */
const POLL_MS = 1_000;

/** Prints changes until the signal aborts. */
export async function printChanges({ cluster, json, print, warn, clock, signal }: {
  readonly cluster:
    & Pick<TerminalCluster, "namespaces" | "managerSearched" | "isThere" | "missing">
    & { readonly list: Pick<TerminalCluster["list"], "version" | "window"> };
  readonly json: boolean;
  readonly print: (text: string) => void;
  readonly warn: (text: string) => void;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}): Promise<void> {
  const printed = new Map<string, { readonly step: string; readonly row: JobRow }>();
  const told = new Set<string>();
  const query = queryOf(FIRST_STATE, cluster.namespaces);
  const stepOf = (row: JobRow) => json ? safeJson(row) : plainStep(row);

  function look(): void {
    const { rows } = cluster.list.window(query, EVERYTHING);
    for (const row of rows) {
      const step = stepOf(row);
      if (printed.get(row.uid)?.step === step) continue;
      printed.set(row.uid, { step, row });
      print(`${json ? step : plainLine(row, clock.now())}\n`);
    }
    const there = new Set(rows.map(({ uid }) => uid));
    for (const [uid, { row }] of printed) {
      if (there.has(uid)) continue;
      printed.delete(uid);
      const { kind, namespace, name } = row;
      print(
        json
          ? `${safeJson({ uid, kind, namespace, name, deleted: true })}\n`
          : `${safeText(`${namespace}/${name}`)}  deleted\n`,
      );
    }
  }

  /** Says what is missing, once as long as it lasts. */
  function tell(): void {
    const missing = cluster.missing();
    for (const it of missing) if (!told.has(it)) warn(`not shown: ${it}`);
    told.clear();
    for (const it of missing) told.add(it);
  }

  // That it is being looked for is no news.
  let isSearched = false;
  void cluster.managerSearched.then(() => isSearched = true);
  let version = -1;
  while (!signal.aborted) {
    if (cluster.isThere() && cluster.list.version !== version) {
      version = cluster.list.version;
      look();
    }
    if (isSearched) tell();
    await clock.sleep(POLL_MS, signal);
  }
}
