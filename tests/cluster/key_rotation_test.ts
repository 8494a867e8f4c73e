/** Test of the rotation of the API server's token keys while pods report. */
import assert from "node:assert/strict";
import { MANAGER, PUSH_AUDIENCE } from "../../crds/names.ts";
import { forge } from "../platform/http/callers/tokens.ts";
import { requestToken, trainJobThat } from "../support/standalone.ts";
import { until } from "../support/until.ts";
import { createSigningKeys } from "./control_plane/certificates.ts";
import { type ControlPlane, withControlPlane } from "./control_plane/control_plane.ts";
import { FILES } from "./control_plane/flags.ts";
import { createAttack, NAMESPACE } from "./support/attacker.ts";
import { install } from "./support/installation.ts";
import { startTestNode } from "./support/node.ts";

/** From now on the API server signs with one key and accepts these, its own among them. */
async function exchangeKeys(
  { folder, apiServer }: ControlPlane,
  keys: { readonly signs?: string; readonly accepted: readonly string[] },
): Promise<void> {
  await apiServer.stop();
  if (keys.signs !== undefined) await Deno.writeTextFile(`${folder}/${FILES.tokenKey}`, keys.signs);
  await Deno.writeTextFile(`${folder}/${FILES.tokenPublicKey}`, keys.accepted.join(""));
  await apiServer.start();
}

Deno.test("tokens of a new key are accepted, and those of a removed key are refused", () =>
  withControlPlane(async (plane) => {
    const { client, folder } = plane;
    await using cleanup = new AsyncDisposableStack();
    const installation = await install(plane);
    cleanup.defer(() => installation.stop());
    // The manager's own token would go with the old key.
    const kubeconfig = await plane.kubeconfigFor("manager-by-certificate", {
      user: `system:serviceaccount:${MANAGER.namespace}:${MANAGER.name}`,
      groups: [],
    });
    const manager = await installation.startManager({ flags: { kubeconfig } });
    const node = await startTestNode(plane);
    cleanup.defer(() => node.stop());
    const attack = await createAttack({ plane, manager }, { policy: false });
    const { pod, trainJob } = await attack.victim();
    const job = trainJob.metadata.name ?? "";
    await trainJobThat(client, job, "runs", ({ status }) => status?.state === "Running");
    const { name = "", uid = "" } = pod.metadata ?? {};
    const token = () =>
      requestToken(client, { namespace: NAMESPACE, name: "default" }, {
        audience: PUSH_AUDIENCE,
        pod: { name, uid },
      });
    const answers = (token: string, code: number) =>
      until(`an answer ${code}`, async () => {
        const got = await attack.push(job, token);
        if (got === code) return true;
        throw new Error(`it is ${got}`);
      }, { timeoutMs: 60_000, everyMs: 500 });

    const oldToken = await token();
    assert.equal(await attack.push(job, oldToken), 200);

    const oldPublic = await Deno.readTextFile(`${folder}/${FILES.tokenPublicKey}`);
    const fresh = await createSigningKeys();
    await exchangeKeys(plane, {
      signs: fresh.privatePem,
      accepted: [fresh.publicPem, oldPublic],
    });
    const newToken = await until("a token of the new key", token);
    await answers(newToken, 200);
    await answers(oldToken, 200);

    await exchangeKeys(plane, { accepted: [fresh.publicPem] });
    // A key that nobody knows makes the manager look; it need not wait for the hour.
    assert.equal(await attack.push(job, forge({ alg: "RS256", kid: "nobody's" })), 401);
    await answers(oldToken, 401);
    await answers(newToken, 200);
  }));
