/** Comparison of acknowledged pushes with the rows of the logs. Pure. */

/** Names of the metrics that each push of {@link bodyOf} has. */
const METRICS = ["loss", "accuracy"] as const;

/** Pushes of one part of a run: push `number` is one of trial `number % trials`. */
export interface Part {
  /** A digit that its values begin with; the number of the push follows. */
  readonly digit: string;
  /** As the load generator reports it: `+` acknowledged, `-` not, `.` not sent. */
  readonly outcomes: string;
}

/** A row as a log has it. */
export interface LoggedValue {
  readonly name: string;
  readonly value: string;
}

/** Account of all pushes. */
export interface Account {
  acknowledged: number;
  /** Of these, not all rows are there. */
  lost: number;
  /** Pushes of which a row is there more than once, acknowledged or not. */
  doubled: number;
  /** Pushes that were not acknowledged, of which all rows or some are there: that is allowed. */
  unacknowledged: number;
  /** Rows that were never pushed, or belong to another trial. */
  foreign: number;
}

/** The body of a part's pushes, for the load generator: each value is unique. */
export function bodyOf({ digit }: Pick<Part, "digit">): string {
  const metrics = METRICS.map((name) => `{"name":"${name}","value":"${digit}{{number}}"}`);
  return `{"trainerStatus":{"progressPercentage":{{percentage}},"metrics":[${metrics.join(",")}],` +
    '"lastUpdatedTime":"{{now}}"}}';
}

/** How often each row is in a log. */
function countsOf(rows: readonly LoggedValue[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { name, value } of rows) {
    const row = `${name} ${value}`;
    counts.set(row, (counts.get(row) ?? 0) + 1);
  }
  return counts;
}

/** Compares the answers with the logs of the trials, by their numbers. */
export function accountOf(
  parts: readonly Part[],
  logs: readonly (readonly LoggedValue[])[],
): Account {
  const all = { acknowledged: 0, lost: 0, doubled: 0, unacknowledged: 0, foreign: 0 };
  const left = logs.map(countsOf);
  for (const { digit, outcomes } of parts) {
    for (let number = 0; number < outcomes.length; number++) {
      const log = left[number % logs.length];
      const isAcknowledged = outcomes[number] === "+";
      if (isAcknowledged) all.acknowledged++;
      if (outcomes[number] === ".") continue;
      const found = METRICS.map((name) => {
        const row = `${name} ${digit}${number}`;
        const count = log?.get(row) ?? 0;
        log?.delete(row);
        return count;
      });
      if (isAcknowledged && found.includes(0)) all.lost++;
      if (!isAcknowledged && found.some((it) => it > 0)) all.unacknowledged++;
      if (found.some((it) => it > 1)) all.doubled++;
    }
  }
  all.foreign = left.reduce((sum, { size }) => sum + size, 0);
  return all;
}
