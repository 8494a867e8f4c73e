/** Tests of logs, volumes and tokens on real files, with a fake clock. */
import assert from "node:assert/strict";
import type { Pod } from "../../../platform/kube/kubernetes.ts";
import { createLogStore, type LogStore } from "../../../standalone/kubelet/logs/logs.ts";
import type { LogOptions } from "../../../crds/log_options.ts";
import { readLog } from "../../../standalone/kubelet/logs/log_reader.ts";
import { replaceFolder } from "../../../standalone/kubelet/volumes/atomic_folder.ts";
import { createTokenSource } from "../../../standalone/kubelet/volumes/tokens.ts";
import { createVolumes } from "../../../standalone/kubelet/volumes/pod_volumes.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { MemoryServer } from "./memory_client.ts";

const START = Date.parse("2026-01-01T00:00:00Z");
const key = { podUid: "u", container: "c", attempt: 0 };
const encode = (text: string) => new TextEncoder().encode(text);

async function withFolder(test: (folder: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir();
  try {
    await test(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

function read(store: LogStore, options: LogOptions = {}, now = START): Promise<string> {
  return new Response(readLog(store, key, options, now)).text();
}

const READS: Record<string, [LogOptions, string]> = {
  "everything": [{}, "one\ntwo\nthree\n"],
  "the last lines": [{ tailLines: 2 }, "two\nthree\n"],
  "no line": [{ tailLines: 0 }, ""],
  "what is young enough": [{ sinceSeconds: 15 }, "two\nthree\n"],
  "what came after a time": [{ sinceTime: "2026-01-01T00:00:15Z" }, "three\n"],
  "the first bytes": [{ limitBytes: 5 }, "one\nt"],
  "times": [{ timestamps: true, tailLines: 1 }, "2026-01-01T00:00:20.000000000Z three\n"],
};
Deno.test("`readLog()` returns the requested part of the log", () =>
  withFolder(async (folder) => {
    const clock = new FakeClock(START);
    const store = createLogStore({ folder, now: () => clock.now() });
    const log = store.open(key);
    for (const line of ["one", "two", "three"]) {
      log.write("stdout", encode(`${line}\n`));
      clock.jump(10_000);
    }
    for (const [sentence, [options, want]] of Object.entries(READS)) {
      assert.equal(await read(store, options, START + 20_000), want, sentence);
    }
    log.close();
  }));

Deno.test("`readLog()` follows until the container ends, over rotations", () =>
  withFolder(async (folder) => {
    const store = createLogStore({ folder, now: () => START, mostBytes: 200 });
    const log = store.open(key);
    log.write("stdout", encode("first\nsec"));
    const reader = readLog(store, key, { follow: true }, START)
      .pipeThrough(new TextDecoderStream()).getReader();
    assert.equal((await reader.read()).value, "first\n");
    const want: string[] = [];
    for (let at = 0; at < 20; at++) {
      log.write("stdout", encode(at === 0 ? "ond\n" : `line ${at}\n`));
      want.push(at === 0 ? "second\n" : `line ${at}\n`);
      assert.equal((await reader.read()).value, want[at]);
    }
    log.write("stderr", encode("no line end"));
    log.close();
    assert.equal((await reader.read()).value, "no line end\n");
    assert.equal((await reader.read()).done, true);
    const size = (await Deno.stat(`${folder}/u/c/0.log`)).size;
    assert.ok(size <= 200, "files stay small");
    assert.equal((await Deno.stat(`${folder}/u/c/0.log`)).mode! & 0o777, 0o600);
  }));

Deno.test("`createLogStore()` closes a log that could not be put aside", () =>
  withFolder(async (folder) => {
    const store = createLogStore({ folder, now: () => START, mostBytes: 100 });
    const log = store.open(key);
    await Deno.remove(`${folder}/u`, { recursive: true });
    for (let at = 0; at < 10; at++) log.write("stdout", encode(`line ${at}\n`));
    log.close();
    assert.equal(store.isOpen(key), false);
  }));

Deno.test("`readLog()` ends when its reader cancels", () =>
  withFolder(async (folder) => {
    const store = createLogStore({ folder, now: () => START });
    const log = store.open(key);
    const reader = readLog(store, key, { follow: true }, START).getReader();
    const pending = reader.read();
    await reader.cancel();
    assert.equal((await pending).done, true);
    log.close();
  }));

Deno.test("`replaceFolder()` keeps the mount point of another volume, and removes files that are gone", () =>
  withFolder(async (folder) => {
    const files = (name: string) => new Map([[name, { data: encode(name), mode: 0o644 }]]);
    await replaceFolder(folder, files("old"), "1");
    await Deno.mkdir(`${folder}/cache`);
    await replaceFolder(folder, files("new"), "2");
    const names = (await Array.fromAsync(Deno.readDir(folder))).map(({ name }) => name).sort();
    assert.deepEqual(names, ["..2", "..data", "cache", "new"]);
    assert.equal(await Deno.readTextFile(`${folder}/new`), "new");
  }));

Deno.test("`createLogStore()` cuts long lines, and joins them again when read", () =>
  withFolder(async (folder) => {
    const store = createLogStore({ folder, now: () => START });
    const log = store.open(key);
    const long = "x".repeat(40_000);
    log.write("stdout", encode(`${long}\nend\n`));
    log.close();
    assert.equal(await read(store), `${long}\nend\n`);
    assert.equal(await read(store, { tailLines: 1 }), "end\n");
    assert.equal(await read(store, { tailLines: 2 }), `${long}\nend\n`);
  }));

const pod: Pod = {
  metadata: { name: "p", namespace: "ns", uid: "u", labels: { app: "x" } },
  spec: { containers: [], serviceAccountName: "sa" },
};

Deno.test("`createTokenSource()` renews after four fifths of a token's life", async () => {
  const clock = new FakeClock(START);
  const server = new MemoryServer();
  server.now = () => clock.now();
  server.tokenLifeMs = 1000_000;
  const signal = new AbortController().signal;
  const tokens = createTokenSource({ client: server.client(), pod, clock, signal });
  const wish = { audience: "a", expirationSeconds: 1000 };
  assert.equal(await tokens.token(wish), "token-1");
  await clock.advance(799_000);
  assert.equal(await tokens.token(wish), "token-1");
  assert.equal(tokens.renewAt, START + 800_000);
  await clock.advance(2_000);
  assert.equal(await tokens.token(wish), "token-2");
});

Deno.test("`createTokenSource()` keeps a token that cannot be renewed while it lives", async () => {
  const clock = new FakeClock(START);
  const server = new MemoryServer();
  server.now = () => clock.now();
  server.tokenLifeMs = 1000_000;
  const client = server.client();
  let broken = false;
  const faulty = {
    ...client,
    createSubresource: (...args: Parameters<typeof client.createSubresource>) =>
      broken ? Promise.reject(new Error("down")) : client.createSubresource(...args),
  };
  const signal = new AbortController().signal;
  const tokens = createTokenSource({ client: faulty, pod, clock, signal });
  await tokens.token({});
  broken = true;
  await clock.advance(900_000);
  assert.equal(await tokens.token({}), "token-1");
  await clock.advance(100_000);
  await assert.rejects(tokens.token({}), /down/);
});

Deno.test("`createVolumes()` writes keys, items, labels and tokens, and swaps them in one step", () =>
  withFolder(async (folder) => {
    const data = new Map([["cm", { a: "1", b: "2" }]]);
    const server = new MemoryServer();
    const clock = new FakeClock(START);
    const signal = new AbortController().signal;
    const volumes = createVolumes(folder, {
      memoryFolder: `${folder}-memory`,
      facts: {
        podIP: "",
        hostIP: "",
        nodeName: "",
        allocatable: { cpu: 1, memory: 1 },
      },
      objects: {
        configMap: (name) => {
          const found = data.get(name);
          return Promise.resolve(found && { metadata: {}, data: found });
        },
        secret: (name) =>
          Promise.resolve(name === "s" ? { metadata: {}, data: { k: btoa("v") } } : undefined),
      },
      tokens: createTokenSource({ client: server.client(), pod, clock, signal }),
    });
    const withVolumes: Pod = {
      ...pod,
      spec: {
        containers: [],
        volumes: [
          { name: "cm", configMap: { name: "cm", items: [{ key: "a", path: "sub/a.txt" }] } },
          { name: "s", secret: { secretName: "s", defaultMode: 0o400 } },
          { name: "none", configMap: { name: "gone", optional: true } },
          { name: "empty", emptyDir: {} },
          {
            name: "all",
            projected: {
              sources: [
                { configMap: { name: "cm" } },
                { serviceAccountToken: { path: "token" } },
                {
                  downwardAPI: {
                    items: [{ path: "labels", fieldRef: { fieldPath: "metadata.labels" } }],
                  },
                },
              ],
            },
          },
        ],
      },
    };
    await volumes.refresh(withVolumes);
    const text = (path: string) => Deno.readTextFile(`${folder}/${path}`);
    assert.equal(await text("cm/sub/a.txt"), "1");
    assert.equal(await text("s/k"), "v");
    assert.equal((await Deno.stat(`${folder}/s/k`)).mode! & 0o777, 0o400);
    assert.deepEqual(
      [...Deno.readDirSync(`${folder}/none`)].filter((e) => !e.name.startsWith("..")),
      [],
    );
    assert.ok((await Deno.stat(`${folder}/empty`)).isDirectory);
    assert.equal(await text("all/b"), "2");
    assert.equal(await text("all/token"), "token-1");
    assert.equal(await text("all/labels"), 'app="x"');
    data.set("cm", { a: "new", b: "2" });
    await Deno.writeTextFile(`${folder}/empty/own`, "kept");
    await volumes.refresh(withVolumes);
    assert.equal(await text("cm/sub/a.txt"), "new");
    assert.equal(await text("empty/own"), "kept");
    const hidden = [...Deno.readDirSync(`${folder}/cm`)].map((entry) => entry.name).sort();
    assert.equal(hidden.length, 3, `one set, its link and the path: ${hidden}`);
    data.delete("cm");
    await assert.rejects(volumes.refresh(withVolumes), /configmap "cm" not found/);
    assert.equal(await text("cm/sub/a.txt"), "new");
    const late = [{ name: "cm", configMap: { name: "cm" } }, {
      name: "late",
      projected: { sources: [{ serviceAccountToken: { path: "token" } }] },
    }];
    const withLate = { ...pod, spec: { containers: [], volumes: late } };
    await assert.rejects(volumes.refresh(withLate), /configmap "cm" not found/);
    assert.equal(await text("late/token"), "token-1");
  }));
