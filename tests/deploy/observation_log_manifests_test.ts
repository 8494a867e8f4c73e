/** Tests of the shipped manifests of `observation-log`: its flags, privileges and network policy. */
import assert from "node:assert/strict";
import { z } from "zod";
import { readConfiguration } from "../../app/configuration/configuration.ts";
import { generatedFiles } from "../../deploy/generate.ts";
import {
  OBSERVATION_LOG,
  observationLog,
  observationLogPatch,
} from "../../deploy/observation_log_manifests.ts";
import { observationLogSettings } from "../../app/configuration/command_settings.ts";
import { settingEntries } from "../../app/configuration/setting_entries.ts";
import { DEFAULTS } from "../../deploy/installation_settings.ts";
import { parse as parseYaml } from "yaml";

const objects = observationLog(DEFAULTS);

function find(kind: string) {
  const found = objects.find((it) => it.kind === kind);
  assert.ok(found, `there is no ${kind}`);
  return found;
}

const podSchema = z.object({
  template: z.object({
    spec: z.looseObject({
      containers: z.tuple([z.looseObject({ args: z.array(z.string()) })]),
      volumes: z.array(z.looseObject({ name: z.string() })),
    }),
  }),
});

Deno.test("observationLog() uses flags that the command has", () => {
  const [container] = podSchema.parse(find("Deployment").spec).template.spec.containers;
  const [command, ...args] = container.args;
  assert.equal(command, "observation-log");
  const own = settingEntries(observationLogSettings).map(({ flag }) => flag);
  for (const arg of args) assert.ok(own.includes(arg.slice(0, arg.indexOf("="))), arg);
});

Deno.test("observationLog() needs no privilege, and gets the CA's certificate without its key", () => {
  const { spec } = podSchema.parse(find("Deployment").spec).template;
  assert.partialDeepStrictEqual(spec, {
    automountServiceAccountToken: false,
    securityContext: { runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } },
    containers: [{
      livenessProbe: { grpc: { port: 6789 } },
      readinessProbe: { grpc: { port: 6789 } },
      securityContext: {
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ["ALL"] },
      },
    }],
  });
  const tls = JSON.stringify(spec.volumes.find(({ name }) => name === "tls"));
  assert.deepEqual(tls.match(/"key":"[^"]+"/g), [
    '"key":"ca.crt"',
    '"key":"tls.crt"',
    '"key":"tls.key"',
    '"key":"ca-next.crt"',
  ]);
});

Deno.test("observationLog() has one process on its disk", () => {
  assert.partialDeepStrictEqual(find("Deployment").spec, {
    replicas: 1,
    strategy: { type: "Recreate" },
  });
});

Deno.test("observationLog() admits the manager and Katib's own parts, and has no egress", () => {
  const policy = z.object({
    ingress: z.tuple([z.object({ from: z.array(z.unknown()), ports: z.array(z.unknown()) })]),
    egress: z.tuple([]),
  }).parse(find("NetworkPolicy").spec);
  assert.deepEqual(policy.ingress[0].ports, [{ protocol: "TCP", port: 6789 }]);
  assert.equal(policy.ingress[0].from.length, 3);
  assert.ok(!JSON.stringify(policy.ingress[0].from).includes('"podSelector":{}'));
});

Deno.test("observationLogPatch() gives the manager a sink that its settings accept", () => {
  const { patch } = observationLogPatch(DEFAULTS);
  const [{ value }] = z.tuple([z.object({ value: z.string() })]).parse(parseYaml(patch));
  const [flag, sink] = [value.slice(0, value.indexOf("=")), value.slice(value.indexOf("=") + 1)];
  assert.equal(flag, "--observation-sink");
  const { observationSink } = readConfiguration({
    flags: { observationSink: sink },
    environment: {},
  });
  assert.deepEqual(observationSink, { kind: "grpc", address: `${OBSERVATION_LOG}:6789` });
});

Deno.test("generatedFiles() have the component, which any overlay can use", () => {
  const text = generatedFiles()["kustomize/components/observation-log/kustomization.yaml"] ?? "";
  assert.partialDeepStrictEqual(parseYaml(text), {
    kind: "Component",
    resources: ["observation_log.yaml"],
  });
});
