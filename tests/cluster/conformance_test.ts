/** The conformance suite against a real API server and its controllers. */
import { conform } from "../conformance/runner.ts";
import { suite } from "../conformance/suite.ts";
import { withControlPlane } from "./control_plane/control_plane.ts";

Deno.test("a real API server passes the conformance suite", async (t) => {
  await withControlPlane(async ({ server: url, ca }) => {
    const certificate = await ca.client({ user: "admin", groups: ["system:masters"] });
    const only = Deno.env.get("CONFORMANCE_ONLY");
    const target = { url, caCertificate: ca.cert, certificate };
    await conform(t, { kind: "real", suite, only, target });
    // A scheduler would write to the pods of the cases.
  }, { scheduler: false });
});
