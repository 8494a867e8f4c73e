/** State of a control plane in etcd: kept, and put back by etcd's HTTP gateway. */
import { z } from "zod";
import { until } from "../../support/until.ts";

const rangeSchema = z.object({
  kvs: z.array(z.object({
    key: z.string(),
    mod_revision: z.string(),
    value: z.string().default(""),
  })).default([]),
});
const txnSchema = z.object({ header: z.object({ revision: z.string() }) });
type KeyValue = z.infer<typeof rangeSchema>["kvs"][number];

/** All objects of Kubernetes; etcd's gateway takes keys and values as base64. */
const OBJECTS = { key: btoa("/registry/"), range_end: btoa("/registry0") };
/** What the programs of a control plane keep for themselves: it comes when they need it, and stays. */
const OF_PROGRAMS = [
  "/registry/leases/kube-system/",
  "/registry/masterleases/",
  "/registry/serviceaccounts/kube-system/",
];
/** Gone by themselves after a while. */
const EVENTS = "/registry/events/";
/** Changes of one transaction; etcd takes 128. */
const AT_ONCE = 100;
/** How long nothing may change until a state is taken for steady, in milliseconds. */
const STEADY_MS = { atStart: 2_000, afterwards: 200 } as const;

async function call(etcdUrl: string, path: string, body: unknown): Promise<unknown> {
  const answer = await fetch(`${etcdUrl}/v3/kv/${path}`, {
    method: "POST",
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(30_000),
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`etcd answered ${answer.status}: ${text}`);
  return JSON.parse(text);
}

async function read(etcdUrl: string, how: { readonly keys_only: boolean }): Promise<KeyValue[]> {
  const { kvs } = rangeSchema.parse(await call(etcdUrl, "range", { ...OBJECTS, ...how }));
  return kvs.filter(({ key }) => !OF_PROGRAMS.some((prefix) => atob(key).startsWith(prefix)));
}

/** A state that can be put back. */
export interface EtcdState {
  /**
   * Removes all objects that have come since, and gives those that have changed or gone their former
   * values, past admission and finalizers; resolves once controllers leave it at that.
   */
  restore(): Promise<void>;
}

/** Keeps the state of all objects, once it is steady. */
export async function keepState(etcdUrl: string): Promise<EtcdState> {
  let seen = "";
  let since = performance.now();
  await until("a control plane to be steady", async () => {
    const now = JSON.stringify(await read(etcdUrl, { keys_only: true }));
    if (now !== seen) [seen, since] = [now, performance.now()];
    return performance.now() - since >= STEADY_MS.atStart;
  });
  const all = await read(etcdUrl, { keys_only: false });
  const kept = new Map(
    all.filter(({ key }) => !atob(key).startsWith(EVENTS)).map((it) => [it.key, it]),
  );

  /** What leads from the present state to the kept one. */
  async function changes() {
    const present = await read(etcdUrl, { keys_only: true });
    const revisions = new Map(present.map(({ key, mod_revision }) => [key, mod_revision]));
    const removed = present.filter(({ key }) => !kept.has(key))
      .map(({ key }) => ({ request_delete_range: { key } }));
    const put = [...kept.values()]
      .filter(({ key, mod_revision }) => revisions.get(key) !== mod_revision)
      .map(({ key, value }) => ({ request_put: { key, value } }));
    return [...removed, ...put];
  }

  /** Makes these changes, and remembers the revisions of what was put back. */
  async function make(wanted: Awaited<ReturnType<typeof changes>>): Promise<void> {
    for (let from = 0; from < wanted.length; from += AT_ONCE) {
      const success = wanted.slice(from, from + AT_ONCE);
      const { header } = txnSchema.parse(await call(etcdUrl, "txn", { success }));
      for (const change of success) {
        const put = "request_put" in change ? change.request_put : undefined;
        if (put !== undefined) kept.set(put.key, { ...put, mod_revision: header.revision });
      }
    }
  }

  return {
    async restore() {
      let cleanSince = performance.now();
      await until("a control plane to be as it was", async () => {
        const wanted = await changes();
        if (wanted.length === 0) return performance.now() - cleanSince >= STEADY_MS.afterwards;
        await make(wanted);
        cleanSince = performance.now();
        return false;
      });
    },
  };
}
