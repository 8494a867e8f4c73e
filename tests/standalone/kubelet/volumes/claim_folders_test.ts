/** Tests of PersistentVolumeClaims as folders: shared by pods, kept over them, and gone with the claim. */
import assert from "node:assert/strict";
import { KINDS } from "../../../../crds/kinds.ts";
import type { PersistentVolumeClaim } from "../../../../platform/kube/kubernetes.ts";
import { until } from "../../../support/fake_clock.ts";
import { MemoryServer } from "../memory_client.ts";
import { pod, type Rig, shell, withKubelet } from "../rig.ts";

const CLAIM = { namespace: "ns", name: "data" };

function putClaim(server: MemoryServer, more: PersistentVolumeClaim["spec"] = {}) {
  return server.put(KINDS.persistentVolumeClaim, {
    metadata: CLAIM,
    spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } }, ...more },
    status: { phase: "Pending" },
  });
}

/** A pod that mounts the claim at `/data` and runs the script. */
function claimant(name: string, script: string, subPath?: string) {
  const volumeMounts = [{ name: "v", mountPath: "/data", ...(subPath && { subPath }) }];
  return pod(name, [shell(script, { volumeMounts })], {
    volumes: [{ name: "v", persistentVolumeClaim: { claimName: "data" } }],
  });
}

async function logsOf(rig: Rig, name: string, script: string, subPath?: string): Promise<string> {
  rig.create(claimant(name, script, subPath));
  await rig.phase(name, "Succeeded");
  return await rig.logs(name);
}

async function withTempFolder(test: (folder: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir();
  try {
    await test(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

const foldersIn = (folder: string) =>
  [...Deno.readDirSync(`${folder}/claims`)].map(({ name }) => name);

Deno.test("a claim is one folder for all pods, Bound from its first use, and gone with the claim", () =>
  withTempFolder((dataDir) =>
    withKubelet(async (rig) => {
      const { server } = rig;
      const first = putClaim(server);
      await logsOf(
        rig,
        "writes",
        "echo one > /data/file; mkdir /data/sub; echo two > /data/sub/file",
      );
      assert.deepEqual(server.read(KINDS.persistentVolumeClaim, CLAIM)?.status, {
        phase: "Bound",
        accessModes: ["ReadWriteOnce"],
        capacity: { storage: "1Gi" },
      });
      const said = rig.events.filter(({ message }) => message.startsWith("the claim is a folder"));
      assert.deepEqual(said.map(({ reason }) => reason), ["NotEnforced"]);
      assert.equal(await logsOf(rig, "reads", "cat /data/file"), "one\n");
      assert.equal(await logsOf(rig, "reads-sub", "cat /data/file", "sub"), "two\n");
      for (const name of ["writes", "reads", "reads-sub"]) {
        server.remove(KINDS.pod, { namespace: "ns", name }, 0);
      }
      assert.deepEqual(foldersIn(dataDir), [first.metadata.uid]);
      server.remove(KINDS.persistentVolumeClaim, CLAIM);
      await until("the folder to go", () => foldersIn(dataDir).length === 0);
      putClaim(server);
      assert.equal(await logsOf(rig, "reads-again", "ls /data"), "");
    }, { dataDir, claimsAreFolders: true })
  ));

Deno.test("the folder of a claim outlives it until the last pod that uses it has ended", () =>
  withTempFolder((dataDir) =>
    withKubelet(async (rig) => {
      const { server } = rig;
      putClaim(server);
      const script =
        "echo kept > /data/file; until [ -e /data/end ]; do sleep 0.05; done; cat /data/file";
      rig.create(claimant("uses", script));
      let folder = "";
      await until("the file", () => {
        [folder = ""] = foldersIn(dataDir);
        return folder !== "" && [...Deno.readDirSync(`${dataDir}/claims/${folder}`)].length > 0;
      });
      server.remove(KINDS.persistentVolumeClaim, CLAIM);
      await Deno.writeTextFile(`${dataDir}/claims/${folder}/end`, "");
      await rig.phase("uses", "Succeeded");
      assert.equal(await rig.logs("uses"), "kept\n");
      await until("the folder to go", () => foldersIn(dataDir).length === 0);
    }, { dataDir, claimsAreFolders: true })
  ));

Deno.test("a pod waits for its claim, and an event names it", () =>
  withKubelet(async (rig) => {
    rig.create(claimant("waits", "true"));
    await until("the event", () =>
      rig.events.some(({ reason, message }) =>
        reason === "FailedMount" && message === 'persistentvolumeclaim "data" not found'
      ));
    putClaim(rig.server);
    await rig.phase("waits", "Succeeded");
  }, { claimsAreFolders: true }));

Deno.test("two pods write to one claim at a time, whatever its access modes", () =>
  withKubelet(async (rig) => {
    putClaim(rig.server, { accessModes: ["ReadWriteOncePod"] });
    const meet = (own: string, other: string) =>
      `touch /data/${own}; until [ -e /data/${other} ]; do sleep 0.05; done`;
    rig.create(claimant("one", meet("1", "2")));
    rig.create(claimant("two", meet("2", "1")));
    await rig.phase("one", "Succeeded");
    await rig.phase("two", "Succeeded");
  }, { claimsAreFolders: true }));

Deno.test("a claim that an empty folder cannot fulfil is not mounted, and an event names the field", () =>
  withKubelet(async (rig) => {
    putClaim(rig.server, {
      volumeMode: "Block",
      dataSource: { kind: "PersistentVolumeClaim", name: "other" },
    });
    rig.create(claimant("waits", "true"));
    await until(
      "the event",
      () =>
        rig.events.some(({ reason, message }) =>
          reason === "FailedMount" &&
          message ===
            'persistentvolumeclaim "data": spec.volumeMode: Block, spec.dataSource cannot be fulfilled, ' +
              "because a claim is an empty folder of this machine; remove it from the claim"
        ),
    );
    assert.equal(rig.read("waits")?.status?.phase, "Pending");
  }, { claimsAreFolders: true }));

Deno.test("a subPath does not lead out of a claim, whatever links its pods make", () =>
  withTempFolder((outside) =>
    withKubelet(async (rig) => {
      putClaim(rig.server);
      await logsOf(rig, "links", `ln -s ${outside} /data/out; mkdir /data/in; ln -s in /data/link`);
      assert.equal(await logsOf(rig, "stays", "touch /data/x; ls /data", "link/deep"), "x\n");
      rig.create(claimant("leaves", "true", "out/deep"));
      const waits = await rig.wait(
        "leaves",
        "waits",
        ({ status }) =>
          status?.containerStatuses?.[0]?.state?.waiting?.reason === "CreateContainerConfigError",
      );
      assert.equal(
        waits.status?.containerStatuses?.[0]?.state?.waiting?.message,
        'cannot mount "/data": subPath "out/deep" leads out of the volume',
      );
      assert.deepEqual([...Deno.readDirSync(outside)], []);
    }, { claimsAreFolders: true })
  ));

Deno.test("a claim keeps its files over a start of the kubelet, and one that was deleted meanwhile loses them", () =>
  withTempFolder(async (dataDir) => {
    const server = new MemoryServer();
    const options = { server, dataDir, claimsAreFolders: true };
    putClaim(server);
    await withKubelet(async (rig) => {
      await logsOf(rig, "writes", "echo kept > /data/file");
    }, options);
    await withKubelet(async (rig) => {
      assert.equal(await logsOf(rig, "reads", "cat /data/file"), "kept\n");
    }, options);
    server.remove(KINDS.persistentVolumeClaim, CLAIM);
    await withKubelet(async () => {
      await until("the folder to go", () => foldersIn(dataDir).length === 0);
    }, options);
  }));
