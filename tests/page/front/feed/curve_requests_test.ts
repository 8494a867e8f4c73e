/** Tests of the curves of many jobs: how they are asked for, and what is made of the answers. */
import assert from "node:assert/strict";
import { curvesOf } from "../../../../page/front/feed/curve_requests.ts";

const keys = (count: number, length = 1) =>
  Array.from(
    { length: count },
    (_, index) => `trainjobs.trainer.kubeflow.org/ml/${"n".repeat(length)}-${index}`,
  );

/** A server whose answers have room for so many jobs. */
function server(room = Infinity) {
  const paths: string[] = [];
  const ask = (path: string) => {
    paths.push(path);
    const asked = new URL(path, "http://localhost").searchParams.getAll("job").map((it) => {
      const [kind, namespace, name] = it.split("/");
      return { kind, namespace, name };
    });
    const [told, left] = [asked.slice(0, room), asked.slice(room)];
    const curves = told.map((job) => ({ job, metrics: [], marks: [] }));
    return Promise.resolve({ json: () => Promise.resolve({ curves, left }) });
  };
  return { paths, ask };
}

const PARAMETERS = [["metric", "a b/c"], ["points", "32"]] as const;

Deno.test("curvesOf() asks for all jobs in requests that proxies take", async () => {
  for (const length of [1, 50, 253]) {
    const { paths, ask } = server();
    const all = keys(230, length);
    const { jobs } = await curvesOf(all, PARAMETERS, ask);
    assert.deepEqual(jobs.map(({ key }) => key), all);
    for (const path of paths) {
      assert.ok(path.length <= 6_000, `${path.length} characters`);
      const { searchParams } = new URL(path, "http://localhost");
      assert.ok(searchParams.getAll("job").length <= 100);
      assert.deepEqual([...searchParams].filter(([name]) => name !== "job"), PARAMETERS);
    }
  }
});

Deno.test("curvesOf() asks again for what an answer had no room for", async () => {
  const { paths, ask } = server(7);
  const all = keys(30);
  const { jobs } = await curvesOf(all, PARAMETERS, ask);
  assert.deepEqual(jobs.map(({ key }) => key), all);
  assert.equal(paths.length, 5);
});

Deno.test("curvesOf() does not ask for ever for what is never told", async () => {
  const { paths, ask } = server(0);
  assert.deepEqual((await curvesOf(keys(3), [], ask)).jobs, []);
  assert.equal(paths.length, 1);
});

Deno.test("curvesOf() names what is missing, and asks nothing for no jobs", async () => {
  const [gone = ""] = keys(1);
  const [kind, namespace, name] = gone.split("/");
  const ask = () =>
    Promise.resolve({
      json: () => Promise.resolve({ curves: [], missing: [{ kind, namespace, name }] }),
    });
  assert.deepEqual((await curvesOf([gone], [], ask)).missing, [gone]);
  const { paths, ask: none } = server();
  await curvesOf([], [], none);
  assert.deepEqual(paths, []);
});
