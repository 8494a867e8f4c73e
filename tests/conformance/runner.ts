/** Runner of conformance cases: several at a time, each reported as a step. */
import { type Case, Sandbox } from "./api.ts";
import { Connections, type Target } from "./connections.ts";

/** Cases by theme. */
export type Suite = Readonly<Record<string, readonly Case[]>>;

/** Which server it is: some cases are skipped on one of them. */
export type ServerKind = "embedded" | "real";

/** Options of {@link conform}. */
export interface ConformOptions {
  readonly target: Target;
  readonly kind: ServerKind;
  readonly suite: Suite;
  /** Cases at a time. */
  readonly workers?: number;
  /** Only cases whose theme and name have this in them. */
  readonly only?: string;
}

/** Result of a case: `error` is undefined if it passed. */
interface Outcome {
  readonly error: unknown;
  readonly failed: boolean;
}

async function runCase(connections: Connections, one: Case, id: string): Promise<Outcome> {
  const api = new Sandbox(connections, id);
  try {
    try {
      await api.setUp();
      await one.run(api);
    } finally {
      await api.tearDown();
    }
    return { failed: false, error: undefined };
  } catch (error) {
    return { failed: true, error };
  }
}

/**
 * Deletes the namespaces of the cases, all at the end: cases about namespaces are not to wait for
 * hundreds of others.
 */
async function leave(connections: Connections, ids: readonly string[]): Promise<void> {
  for (const id of ids) {
    await new Sandbox(connections, id).call("DELETE", `/api/v1/namespaces/${id}`);
  }
}

function reason({ skip }: Case, kind: ServerKind): string | undefined {
  return skip?.[kind];
}

/** Runs all cases, then reports each as a step of the test. */
export async function conform(t: Deno.TestContext, options: ConformOptions): Promise<void> {
  const { target, kind, suite, workers = 8, only = "" } = options;
  const run = crypto.randomUUID().slice(0, 6);
  const all = Object.entries(suite).flatMap(([theme, cases]) =>
    cases.map((one) => ({ theme, one }))
  ).filter(({ theme, one }) => `${theme}: ${one.name}`.includes(only));
  const outcomes = new Map<Case, Outcome>();
  const ids: string[] = [];
  const waiting = all.filter(({ one }) => reason(one, kind) === undefined)
    .map(({ one }, index) => ({ one, id: `c${run}-${index}` }));
  {
    using connections = new Connections(target);
    const work = async () => {
      for (let next = waiting.shift(); next; next = waiting.shift()) {
        ids.push(next.id);
        outcomes.set(next.one, await runCase(connections, next.one, next.id));
      }
    };
    await Promise.all(Array.from({ length: workers }, work));
    await leave(connections, ids);
  }
  for (const theme of new Set(all.map(({ theme }) => theme))) {
    await t.step(theme, async (t) => {
      for (const { one } of all.filter((it) => it.theme === theme)) {
        const skipped = reason(one, kind);
        await t.step({
          name: skipped === undefined ? one.name : `${one.name} (skipped: ${skipped})`,
          ignore: skipped !== undefined,
          fn: () => {
            const outcome = outcomes.get(one);
            if (outcome?.failed) throw outcome.error;
          },
        });
      }
    });
  }
}
