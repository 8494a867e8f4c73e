/** Tests of a replica's name and address. */
import assert from "node:assert/strict";
import {
  addressText,
  type Machine,
  type ReplicaEnvironment,
  replicaHost,
  replicaIdentity,
  thisMachine,
} from "../../../app/manager/replica.ts";
import { run } from "../../support/command.ts";

const machine: Machine = {
  hostname: "node-1",
  addresses: ["127.0.0.1", "::1", "fe80::1", "169.254.0.9", "192.0.2.7"],
  random: "abc",
};
const pod: ReplicaEnvironment = { POD_NAME: "manager-x", POD_UID: "u-1", POD_IP: "10.0.0.3" };

const identities: Record<string, { environment: ReplicaEnvironment; want: string }> = {
  "the pod's name and UID, and something random": {
    environment: pod,
    want: "manager-x_u-1_abc",
  },
  "the host's name and something random outside a pod": { environment: {}, want: "node-1_abc" },
  "something random if the UID is not given": {
    environment: { POD_NAME: "manager-x", POD_UID: "" },
    want: "manager-x_abc",
  },
};
for (const [sentence, { environment, want }] of Object.entries(identities)) {
  Deno.test(`\`replicaIdentity()\` is ${sentence}`, () => {
    assert.equal(replicaIdentity(environment, machine), want);
  });
}

Deno.test("`replicaIdentity()` of a restarted container is another one", () => {
  const [before, after] = [thisMachine(), thisMachine()];
  assert.notEqual(replicaIdentity(pod, before), replicaIdentity(pod, after));
});

const hosts: Record<string, { bind: string; environment: ReplicaEnvironment; want: string }> = {
  "the address that is listened on": { bind: "127.0.0.1", environment: pod, want: "127.0.0.1" },
  "the pod's address": { bind: "0.0.0.0", environment: pod, want: "10.0.0.3" },
  "the machine's first address that others reach": {
    bind: "::",
    environment: {},
    want: "192.0.2.7",
  },
};
for (const [sentence, { bind, environment, want }] of Object.entries(hosts)) {
  Deno.test(`\`replicaHost()\` is ${sentence}`, () => {
    assert.equal(replicaHost(bind, environment, machine), want);
  });
}

Deno.test("`replicaHost()` is the loopback address of a machine without any other", () => {
  assert.equal(replicaHost("0.0.0.0", {}, { ...machine, addresses: ["127.0.0.1"] }), "127.0.0.1");
});

Deno.test("`addressText()` puts IPv6 addresses in brackets", () => {
  assert.equal(addressText("10.0.0.3", 8443), "10.0.0.3:8443");
  assert.equal(addressText("fd00::3", 8443), "[fd00::3]:8443");
});

const permissions: Record<string, { needs: string; want: string }> = {
  "what no part needs": {
    needs: "runsCredentialPlugin: false, writesFiles: false",
    want: "ffi write run: run prompt write prompt read granted",
  },
  "all but programs if the kubeconfig needs one": {
    needs: "runsCredentialPlugin: true, writesFiles: false",
    want: "ffi write: run granted write prompt read granted",
  },
  "all but writing files if observations are in one": {
    needs: "runsCredentialPlugin: false, writesFiles: true",
    want: "ffi run: run prompt write granted read granted",
  },
};
for (const [sentence, { needs, want }] of Object.entries(permissions)) {
  Deno.test(`\`giveUpPermissions()\` gives up ${sentence}`, async () => {
    const module = new URL("../../../app/permissions.ts", import.meta.url);
    const program = `
      const { giveUpPermissions } = await import("${module}");
      const gaveUp = await giveUpPermissions({ ${needs} });
      const left = ["run", "write", "read"].map((name) =>
        name + " " + Deno.permissions.querySync({ name }).state);
      console.log(gaveUp.join(" ") + ": " + left.join(" "));`;
    const { stdout, stderr } = await run(Deno.execPath(), {
      args: ["run", "-A", "--no-check", `data:text/javascript,${encodeURIComponent(program)}`],
    });
    assert.equal(stdout.trim(), want, stderr);
  });
}
