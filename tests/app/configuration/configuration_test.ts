/** Tests of the precedence of settings, and of messages about wrong ones. */
import assert from "node:assert/strict";
import {
  type ConfigurationSources,
  readConfiguration,
} from "../../../app/configuration/configuration.ts";
import { DEFAULT_V1_SETTINGS } from "../../../controller/jobs/v1_settings.ts";
import { ConfigurationError } from "../../../platform/kube/errors.ts";

const nothing: ConfigurationSources = { flags: {}, environment: {} };

Deno.test("readConfiguration() without any source gives the documented defaults", () => {
  const { featureGates, ...rest } = readConfiguration(nothing);
  assert.equal(featureGates.trainJobProgress, false);
  assert.partialDeepStrictEqual(rest, {
    namespace: "kubeflow-system",
    webhookPort: 9443,
    statusPort: 8082,
    metricsPort: 8080,
    healthPort: 8081,
    forwardPort: 8443,
    leaderElect: true,
    leaseDuration: 15_000,
    renewDeadline: 10_000,
    retryPeriod: 2_000,
    jobset: "auto",
    statusWriteInterval: 1_000,
    statusWritesQps: 50,
    pushQpsPerPod: 20,
    pushBurstPerPod: 100,
    pushQpsPerSubject: 2000,
    pushBurstPerSubject: 5000,
    authentication: "local+review",
    tokenReviewQps: 50,
    maxStreams: 1000,
    maxStreamsPerSubject: 20,
    logLevel: "info",
    apiServerAddresses: [],
  });
});

Deno.test("readConfiguration() reads what becomes of stalled jobs", () => {
  const flags = { stallPolicy: '{"action": "Restart", "after": "10m"}' };
  const { stallPolicy } = readConfiguration({ ...nothing, flags });
  assert.deepEqual([stallPolicy.action, stallPolicy.afterMs], ["Restart", 600_000]);
  assert.equal(readConfiguration(nothing).stallPolicy.action, "Notify");
});

for (
  const [text, want] of [
    ["Restart", "must be JSON: Unexpected token 'R', \"Restart\" is not valid JSON"],
    ['{"action": "Reboot"}', "action: must be one of Notify, Restart, Stop, Ignore"],
    ['{"after": "5s"}', 'after: must be "auto" or a duration of at least 30s, such as 90s or 10m'],
    ['{"actions": "Stop"}', "actions: is not known"],
  ] as const
) {
  Deno.test(`readConfiguration() refuses the policy of stalls ${text}`, () => {
    const read = () => readConfiguration({ ...nothing, flags: { stallPolicy: text } });
    assert.throws(
      read,
      (error: Error) => error.message.endsWith(`--stall-policy: ${want}`),
    );
  });
}

Deno.test("readConfiguration() reads the addresses of API servers from a flag, and from a list", () => {
  const flags = { apiServerAddresses: "10.0.0.1, fd00::/64" };
  const want = ["10.0.0.1", "fd00::/64"];
  assert.deepEqual(readConfiguration({ ...nothing, flags }).apiServerAddresses, want);
  const file = { name: "m.yaml", text: `apiServerAddresses: ${JSON.stringify(want)}\n` };
  assert.deepEqual(readConfiguration({ ...nothing, file }).apiServerAddresses, want);
  assert.throws(
    () => readConfiguration({ ...nothing, flags: { apiServerAddresses: "10.0.0.1,kubernetes" } }),
    {
      message: "--api-server-addresses: must be addresses or networks such as 10.0.0.1 or " +
        '10.0.0.0/24, not "kubernetes"',
    },
  );
});

Deno.test("readConfiguration() has the Training Operator's settings, with its defaults", () => {
  assert.partialDeepStrictEqual(readConfiguration(nothing), DEFAULT_V1_SETTINGS);
  const flags = { pytorchInitContainerMaxTries: "7", customClusterDomain: "cluster.example" };
  assert.partialDeepStrictEqual(readConfiguration({ ...nothing, flags }), {
    pytorchInitContainerMaxTries: 7,
    customClusterDomain: "cluster.example",
  });
  for (
    const [name, value, message] of [
      ["pytorchInitContainerImage", "", "must be the name of an image without blanks"],
      ["mpiKubectlDeliveryImage", "a b", "must be the name of an image without blanks"],
      ["pytorchInitContainerMaxTries", "-1", "must be 0 or more"],
      ["customClusterDomain", "Cluster_Local", "must be a domain such as cluster.local"],
      ["customClusterDomain", ".local", "must be a domain such as cluster.local"],
    ] as const
  ) {
    const wrong = { ...nothing, flags: { [name]: value } };
    assert.throws(
      () => readConfiguration(wrong),
      (error: Error) => error.message.includes(message),
    );
  }
});

Deno.test("readConfiguration() prefers flags to variables, and variables to the file", () => {
  const file = { name: "m.yaml", text: "webhookPort: 1\nstatusPort: 2\nmetricsPort: 3\n" };
  const environment = { MILEPOST_WEBHOOK_PORT: "10", MILEPOST_STATUS_PORT: "20" };
  const got = readConfiguration({ file, environment, flags: { webhookPort: "100" } });
  assert.deepEqual([got.webhookPort, got.statusPort, got.metricsPort], [100, 20, 3]);
});

Deno.test("readConfiguration() ignores what Kubernetes injects for a Service", () => {
  const environment = {
    MILEPOST_STATUS_PORT: "tcp://10.0.0.1:8082",
    MILEPOST_WEBHOOK_PORT: "udp://10.0.0.1:53",
  };
  const file = { name: "m.yaml", text: "statusPort: 2\n" };
  const got = readConfiguration({ file, environment, flags: {} });
  assert.deepEqual([got.statusPort, got.webhookPort], [2, 9443]);
});

const gates: Record<string, { text: string; want: boolean }> = {
  "the gate's own name": { text: "TrainJobProgress=true", want: true },
  "upstream's name": { text: "TrainJobStatus=true", want: true },
  "blanks between": { text: " TrainJobProgress = true , ", want: true },
  "false": { text: "TrainJobProgress=false", want: false },
};
for (const [sentence, { text, want }] of Object.entries(gates)) {
  Deno.test(`readConfiguration() reads feature gates with ${sentence}`, () => {
    const got = readConfiguration({ ...nothing, flags: { featureGates: text } });
    assert.equal(got.featureGates.trainJobProgress, want);
  });
}

Deno.test("readConfiguration() takes feature gates as a mapping in the file", () => {
  const text = "featureGates:\n  TrainJobProgress: true\n";
  const got = readConfiguration({ ...nothing, file: { name: "m.yaml", text } });
  assert.equal(got.featureGates.trainJobProgress, true);
});

const switches: Record<string, { sources: Partial<ConfigurationSources>; want: boolean }> = {
  "a flag alone": { sources: { flags: { leaderElect: true } }, want: true },
  "a flag that says false": { sources: { flags: { leaderElect: "false" } }, want: false },
  "the environment": { sources: { environment: { MILEPOST_LEADER_ELECT: "false" } }, want: false },
  "YAML": { sources: { file: { name: "m.yaml", text: "leaderElect: false" } }, want: false },
};
for (const [sentence, { sources, want }] of Object.entries(switches)) {
  Deno.test(`readConfiguration() reads a switch from ${sentence}`, () => {
    assert.equal(readConfiguration({ ...nothing, ...sources }).leaderElect, want);
  });
}

const namespaces: Record<string, { sources: Partial<ConfigurationSources>; want: string }> = {
  "the pod's by default": { sources: { podNamespace: "pod" }, want: "pod" },
  "the setting's before the pod's": {
    sources: { podNamespace: "pod", environment: { MILEPOST_NAMESPACE: "env" } },
    want: "env",
  },
};
for (const [sentence, { sources, want }] of Object.entries(namespaces)) {
  Deno.test(`readConfiguration() takes as namespace ${sentence}`, () => {
    assert.equal(readConfiguration({ ...nothing, ...sources }).namespace, want);
  });
}

const wrong: Record<string, { sources: Partial<ConfigurationSources>; want: RegExp }> = {
  "a port that is no number": {
    sources: { flags: { webhookPort: "http" } },
    want: /^--webhook-port: must be a port/,
  },
  "a port above the range, from the environment": {
    sources: { environment: { MILEPOST_STATUS_PORT: "65536" } },
    want: /^MILEPOST_STATUS_PORT: must be a port/,
  },
  "a number of streams below 0": {
    sources: { flags: { maxStreams: "-1" } },
    want: /^--max-streams: must be 0 or more$/,
  },
  "half a stream, from the environment": {
    sources: { environment: { MILEPOST_MAX_STREAMS_PER_SUBJECT: "0.5" } },
    want: /^MILEPOST_MAX_STREAMS_PER_SUBJECT: must be an integer$/,
  },
  "an unknown key in the file": {
    sources: { file: { name: "m.yaml", text: "webhokPort: 1\n" } },
    want: /^--config m\.yaml: unknown setting webhokPort$/,
  },
  "a file that is no YAML": {
    sources: { file: { name: "m.yaml", text: "a: [1\n" } },
    want: /^--config m\.yaml: /,
  },
  "a file that is a list": {
    sources: { file: { name: "m.yaml", text: "- 1\n" } },
    want: /^--config m\.yaml: must be a mapping/,
  },
  "an unknown gate": {
    sources: { flags: { featureGates: "Warp=true" } },
    want: /^--feature-gates: unknown feature gate "Warp"; known: TrainJobProgress$/,
  },
  "a gate that is neither on nor off": {
    sources: { flags: { featureGates: "TrainJobProgress=yes" } },
    want: /must be true or false, not "yes"/,
  },
  "a duration without a unit": {
    sources: { flags: { statusWriteInterval: "5" } },
    want: /^--status-write-interval: must be a duration such as 15s or 250ms, not "5"$/,
  },
  "a switch that is neither on nor off": {
    sources: { environment: { MILEPOST_LEADER_ELECT: "maybe" } },
    want: /^MILEPOST_LEADER_ELECT: must be true or false$/,
  },
  "a lease that is as short as its renewal may be late": {
    sources: { flags: { leaseDuration: "10s" } },
    want: /^--renew-deadline: must be below --lease-duration/,
  },
  "a lease that is over at once": {
    sources: { flags: { leaseDuration: "500ms", renewDeadline: "400ms", retryPeriod: "100ms" } },
    want: /^--lease-duration: must be at least 1s/,
  },
  "tries that come too late": {
    sources: { flags: { retryPeriod: "9s" } },
    want: /^--retry-period: must be well below --renew-deadline/,
  },
  "tries without a pause": {
    sources: { flags: { retryPeriod: "0" } },
    want: /^--retry-period: must be above 0/,
  },
  "a rate of zero": {
    sources: { flags: { statusWritesQps: "0" } },
    want: /^--status-writes-qps: must be above 0/,
  },
  "a base URL with a path": {
    sources: { flags: { statusBaseUrl: "https://a/b" } },
    want: /^--status-base-url: must be a URL such as https:\/\/host:port, not "https:\/\/a\/b"$/,
  },
  "a base URL in the clear": {
    sources: { flags: { webhookBaseUrl: "http://a:1" } },
    want: /^--webhook-base-url: /,
  },
  "an unknown executor": {
    sources: { flags: { jobset: "both" } },
    want: /^--jobset: must be auto, builtin or external/,
  },
  "a way to authenticate that there is not": {
    sources: { flags: { authentication: "none" } },
    want: /^--authentication: must be local\+review, review or local$/,
  },
};
for (const [sentence, { sources, want }] of Object.entries(wrong)) {
  Deno.test(`readConfiguration() says in one line what is wrong with ${sentence}`, () => {
    assert.throws(() => readConfiguration({ ...nothing, ...sources }), (error) => {
      assert.ok(error instanceof ConfigurationError);
      assert.match(error.message, want);
      assert.ok(!error.message.includes("\n"), error.message);
      return true;
    });
  });
}

Deno.test("readConfiguration() names every wrong setting at once", () => {
  assert.throws(
    () => readConfiguration({ ...nothing, flags: { webhookPort: "-1", jobset: "x" } }),
    /--webhook-port: .*; --jobset: /,
  );
});

Deno.test("readConfiguration() reads the trial resources from a flag, and from a list", () => {
  const job = { kind: "Job", version: "v1", group: "batch" };
  const ray = { kind: "RayJob", version: "v1", group: "ray.io" };
  const flags = { trialResource: "Job.v1.batch, RayJob.v1.ray.io" };
  assert.deepEqual(readConfiguration({ ...nothing, flags }).trialResource, [job, ray]);
  const file = { name: "m.yaml", text: "trialResource: [Job.v1.batch]\n" };
  assert.deepEqual(readConfiguration({ ...nothing, file }).trialResource, [job]);
  assert.deepEqual(readConfiguration(nothing).trialResource, []);
});

const WRONG_RESOURCES: Readonly<Record<string, string>> = {
  "jobs.batch": 'must be a list of Kind.version.group such as Job.v1.batch, not "jobs.batch"',
  "Job.v1.batch,Pod.v1": 'must be a list of Kind.version.group such as Job.v1.batch, not "Pod.v1"',
  "Job.v1.batch,Job.v1beta1.batch": "Job of batch is there twice",
  "TrainJob.v1alpha1.trainer.kubeflow.org":
    "TrainJob.v1alpha1.trainer.kubeflow.org needs no setting: Milepost runs it",
};
for (const [trialResource, message] of Object.entries(WRONG_RESOURCES)) {
  Deno.test(`readConfiguration() refuses the trial resources ${trialResource}`, () => {
    const flags = { trialResource };
    assert.throws(() => readConfiguration({ ...nothing, flags }), {
      message: `--trial-resource: ${message}`,
    });
  });
}

Deno.test("readConfiguration() refuses a trial resource that the manager is to run itself", () => {
  const flags = { v1Jobs: "PyTorchJob", trialResource: "PyTorchJob.v1.kubeflow.org" };
  assert.throws(() => readConfiguration({ ...nothing, flags }), {
    message: "--trial-resource: PyTorchJob is run by --v1-jobs, and needs no setting",
  });
});
