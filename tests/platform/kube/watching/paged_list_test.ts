/** Tests of paged lists against a server whose objects have sizes. */
import assert from "node:assert/strict";
import type { KubeClient, ListOptions } from "../../../../platform/kube/client.ts";
import type { ListResult } from "../../../../platform/kube/connection/response.ts";
import { KubeError, TooLargeError } from "../../../../platform/kube/errors.ts";
import { listAll } from "../../../../platform/kube/watching/paged_list.ts";
import type { Kind } from "../../../../platform/kube/resource.ts";
import { createSemaphore } from "../../../../platform/base/semaphore.ts";
import { WIDGET, type Widget, widget } from "../fake_api_server.ts";

const MIB = 1024 * 1024;

interface Request {
  readonly limit: number;
  readonly metadataOnly: boolean;
}

/** A server with an object of each size; the metadata of any is small. */
function serverOf(sizes: readonly number[]) {
  const requests: Request[] = [];
  const state = { now: 0, most: 0 };
  async function list<T>(
    kind: Kind<T>,
    { limit = Infinity, continue: token = "0", maxBytes = Infinity }: ListOptions = {},
  ): Promise<ListResult<T>> {
    const { metadataOnly = false } = kind;
    requests.push({ limit, metadataOnly });
    state.most = Math.max(state.most, ++state.now);
    await Promise.resolve();
    state.now--;
    const from = Number(token);
    const page = sizes.slice(from, from + limit);
    const bytes = page.reduce((sum, size) => sum + (metadataOnly ? 100 : size), 0);
    if (bytes > maxBytes) throw new TooLargeError(`longer than ${maxBytes}`);
    const next = from + page.length;
    return {
      items: page.map((_, index) =>
        kind.parse({ apiVersion: "test.example/v1", ...widget(`w${from + index}`) })
      ),
      resourceVersion: "7",
      ...(next < sizes.length && { continue: `${next}` }),
      problems: [],
    };
  }
  return { client: { list } satisfies Pick<KubeClient, "list">, requests, state };
}

function listOf(
  sizes: readonly number[],
  more: Partial<Parameters<typeof listAll<Widget>>[0]> = {},
) {
  const { client, requests, state } = serverOf(sizes);
  const { signal } = new AbortController();
  const result = () => listAll({ client, kind: WIDGET, selection: {}, signal, ...more });
  return { result, requests, state };
}

const namesOf = ({ items }: ListResult<Widget>) => items.map(({ metadata }) => metadata?.name);
const numbered = (count: number) => Array.from({ length: count }, (_, index) => `w${index}`);

Deno.test("`listAll()` begins with small pages, which grow", async () => {
  const { result, requests } = listOf(Array.from({ length: 650 }, () => 1000));
  const all = await result();
  assert.deepEqual(namesOf(all), numbered(650));
  assert.equal(all.resourceVersion, "7");
  const limits = requests.map(({ limit }) => limit);
  assert.deepEqual(limits, [25, 25, 25, 25, 50, 50, 50, 50, 100, 100, 100, 100]);
});

Deno.test("`listAll()` has no page of more objects than asked for", async () => {
  const { result, requests } = listOf([1, 1, 1, 1, 1], { pageSize: 2 });
  assert.deepEqual(namesOf(await result()), numbered(5));
  assert.deepEqual(requests.map(({ limit }) => limit), [2, 2, 2]);
});

Deno.test("`listAll()` halves pages that are too large, and has all objects", async () => {
  const sizes = Array.from({ length: 60 }, () => 6 * MIB);
  const { result, requests } = listOf(sizes);
  const all = await result();
  assert.deepEqual(namesOf(all), numbered(60));
  assert.deepEqual(all.problems, []);
  assert.deepEqual(requests.slice(0, 5).map(({ limit }) => limit), [25, 12, 6, 3, 1]);
  assert.ok(requests.length < 2 * sizes.length, `${requests.length} requests`);
});

Deno.test("`listAll()` returns to large pages after the large objects", async () => {
  const sizes = [
    ...Array.from({ length: 4 }, () => 6 * MIB),
    ...Array.from({ length: 900 }, () => 1000),
  ];
  const { result, requests } = listOf(sizes);
  assert.equal((await result()).items.length, 904);
  assert.equal(requests.at(-1)?.limit, 100);
  assert.ok(requests.length < 50, `${requests.length} requests`);
});

Deno.test("`listAll()` lists an object that is too large alone as a problem, by its metadata", async () => {
  const { result, requests } = listOf([1000, 17 * MIB, 1000]);
  const all = await result();
  assert.deepEqual(namesOf(all), ["w0", "w2"]);
  assert.deepEqual(all.problems, [
    { key: "ns/w1", problem: `the object is too large: longer than ${16 * MIB}` },
  ]);
  assert.equal(requests.filter(({ metadataOnly }) => metadataOnly).length, 1);
});

Deno.test("`listAll()` reads an object of 9 MiB, the largest that etcd takes", async () => {
  const { result } = listOf([9 * MIB]);
  assert.deepEqual(namesOf(await result()), ["w0"]);
});

Deno.test("`listAll()` passes other errors on", async () => {
  const error = new KubeError("continue is too old", { code: 410, reason: "Expired" });
  const list = () => Promise.reject(error);
  const { signal } = new AbortController();
  await assert.rejects(
    listAll({ client: { list }, kind: WIDGET, selection: {}, signal }),
    error,
  );
});

Deno.test("`listAll()` shares the places for pages with other lists", async () => {
  const { client, state } = serverOf([1000]);
  const { signal } = new AbortController();
  const places = createSemaphore(2);
  const one = () => listAll({ client, kind: WIDGET, selection: {}, signal, places });
  await Promise.all(Array.from({ length: 10 }, one));
  assert.equal(state.most, 2);
});
