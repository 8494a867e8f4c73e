/** Tests of durability: acknowledged writes survive `kill -9`, and files are readable by their owner only. */
import assert from "node:assert/strict";
import { startApiServer } from "../../../../standalone/apiserver/api_server.ts";
import { openStore } from "../../../../standalone/apiserver/storage/sqlite_store.ts";
import { canHaveSmallDisk, onSmallDisk } from "../../../support/small_disk.ts";
import { CONFIG_MAPS, configMap, TestServer } from "../api_cluster.ts";

async function inFolder(work: (folder: string) => Promise<void>) {
  const folder = await Deno.makeTempDir();
  try {
    await work(`${folder}/data`);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

const start = (dataDir: string) => startApiServer({ port: 0, hostname: "127.0.0.1", dataDir });

Deno.test("startApiServer() keeps objects, its certificate and its token over a restart", async () => {
  await inFolder(async (dataDir) => {
    const first = new TestServer(await start(dataDir));
    const made = await first.ok("POST", CONFIG_MAPS, { body: configMap("a") });
    await first[Symbol.asyncDispose]();
    await using second = new TestServer(await start(dataDir));
    assert.equal(second.server.adminToken, first.server.adminToken);
    assert.equal(second.server.caCertificate, first.server.caCertificate);
    assert.deepEqual(await second.ok("GET", `${CONFIG_MAPS}/a`), made);
    const next = await second.ok("POST", CONFIG_MAPS, { body: configMap("b") });
    assert.ok(Number(next.metadata.resourceVersion) > Number(made.metadata.resourceVersion));
    assert.equal((await Deno.stat(dataDir)).mode! & 0o777, 0o700);
    for await (const { name } of Deno.readDir(dataDir)) {
      assert.equal((await Deno.stat(`${dataDir}/${name}`)).mode! & 0o777, 0o600, name);
    }
  });
});

const WRITER = `
  import { openStore } from ${
  JSON.stringify(
    new URL("../../../../standalone/apiserver/storage/sqlite_store.ts", import.meta.url).href,
  )
};
  const store = openStore({ dataDir: Deno.args[0] });
  for (let i = 0;; i++) {
    const metadata = { name: "n" + i, uid: "u" + i, resourceVersion: "", creationTimestamp: "" };
    const stored = store.put({ group: "", resource: "things" }, { apiVersion: "v1", kind: "Thing", metadata });
    console.log(stored.metadata.name);
    if (i % 50 === 0) await new Promise((resolve) => setTimeout(resolve, 1));
  }
`;

Deno.test("openStore() has every acknowledged write after kill -9", async () => {
  await inFolder(async (dataDir) => {
    const file = await Deno.makeTempFile({ suffix: ".ts" });
    await Deno.writeTextFile(file, WRITER);
    const config = new URL("../../../../deno.json", import.meta.url).pathname;
    const child = new Deno.Command(Deno.execPath(), {
      args: ["run", "-A", "--no-check", "--config", config, file, dataDir],
      stdout: "piped",
      stderr: "inherit",
    }).spawn();
    let told = "";
    for await (const text of child.stdout.pipeThrough(new TextDecoderStream())) {
      told += text;
      if (told.split("\n").length > 500) break;
    }
    child.kill("SIGKILL");
    await child.status;
    await Deno.remove(file);
    const store = openStore({ dataDir });
    const names = new Set(
      store.list({ group: "", resource: "things" }).map(({ metadata }) => metadata.name),
    );
    const lost = told.split("\n").slice(0, -1).filter((name) => !names.has(name));
    assert.deepEqual(lost, []);
    assert.equal(store.revision, names.size + 1);
    store.close();
  });
});

Deno.test("openStore() refuses a folder that another server has open, and says so", async () => {
  await inFolder((dataDir) => {
    const store = openStore({ dataDir });
    const file = { group: "", resource: "things" };
    const metadata = { name: "a", uid: "u", resourceVersion: "", creationTimestamp: "" };
    store.put(file, { apiVersion: "v1", kind: "Thing", metadata });
    assert.throws(() => openStore({ dataDir }), /Is another API server running on it\?/);
    store.close();
    return Promise.resolve();
  });
});

const FILLING = `
import { openStore } from "${
  import.meta.resolve("../../../../standalone/apiserver/storage/sqlite_store.ts")
}";
const store = openStore({ dataDir: "data" });
const put = (name, length) => {
  const metadata = { name, uid: name, resourceVersion: "", creationTimestamp: "" };
  const object = { apiVersion: "v1", kind: "Thing", metadata, data: "x".repeat(length) };
  try {
    store.put({ group: "", resource: "things" }, object);
    return "stored";
  } catch (error) {
    return error.message;
  }
};
console.log(JSON.stringify([put("large", 4_000_000), put("small", 10)]));
`;

Deno.test({
  name:
    "an object that the disk has no room for is refused with the reason, and the next one is stored",
  ignore: !canHaveSmallDisk,
  fn: async () =>
    assert.deepEqual(await onSmallDisk(FILLING), ["database or disk is full", "stored"]),
});

Deno.test("startApiServer() says when its port is taken", async () => {
  const listener = Deno.listen({ port: 0, hostname: "127.0.0.1" });
  const { port } = listener.addr;
  await assert.rejects(
    startApiServer({ port, hostname: "127.0.0.1" }),
    new RegExp(`127.0.0.1:${port}.*in use`),
  );
  listener.close();
});
