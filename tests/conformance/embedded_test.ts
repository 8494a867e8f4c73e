/** The conformance suite against the embedded API server. */
import { startApiServer } from "../../standalone/apiserver/api_server.ts";
import { conform } from "./runner.ts";
import { suite } from "./suite.ts";

Deno.test("`startApiServer()` conforms to Kubernetes' API", async (t) => {
  const server = await startApiServer({ port: 0, hostname: "127.0.0.1" });
  try {
    const { url, caCertificate, adminToken: token } = server;
    const only = Deno.env.get("CONFORMANCE_ONLY");
    await conform(t, { kind: "embedded", suite, only, target: { url, caCertificate, token } });
  } finally {
    await server.close();
  }
});
