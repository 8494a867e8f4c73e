/** The API server's audit log. */
import { stringify } from "yaml";
import { z } from "zod";

/** Entry of an audit log about one request. */
const eventSchema = z.looseObject({
  stage: z.string(),
  verb: z.string(),
  requestURI: z.string(),
  user: z.looseObject({ username: z.string() }),
  objectRef: z.looseObject({
    resource: z.string().optional(),
    subresource: z.string().optional(),
    apiGroup: z.string().optional(),
    namespace: z.string().optional(),
    name: z.string().optional(),
  }).optional(),
  responseStatus: z.looseObject({ code: z.number().optional() }).optional(),
});

/** A request that the API server answered. */
export type AuditEvent = z.infer<typeof eventSchema>;

/** The policy file for the rules of {@link ControlPlaneOptions.audit}. */
export function auditPolicy(rules: true | readonly unknown[]): string {
  return stringify({
    apiVersion: "audit.k8s.io/v1",
    kind: "Policy",
    omitStages: ["RequestReceived"],
    rules: rules === true ? [{ level: "Metadata" }] : rules,
  });
}

/** Reads what a log has so far, behind so many bytes; a last line that is half written is left out. */
export async function readAuditLog(file: string, from = 0): Promise<AuditEvent[]> {
  const text = new TextDecoder().decode((await Deno.readFile(file)).subarray(from));
  const lines = text.split("\n").slice(0, -1);
  return lines.filter((line) => line !== "").map((line) => eventSchema.parse(JSON.parse(line)));
}
