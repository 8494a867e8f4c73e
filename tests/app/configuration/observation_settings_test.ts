/** Tests of the settings of observations: sinks, the address of the DB manager, and refusals. */
import assert from "node:assert/strict";
import {
  type ConfigurationSources,
  readConfiguration,
} from "../../../app/configuration/configuration.ts";
import { defaultDbManager } from "../../../app/configuration/observation_settings.ts";
import type { SinkChoice } from "../../../katib/log/sink_choice.ts";

const nothing: ConfigurationSources = { flags: {}, environment: {} };

const choices: Record<string, { text: string; want: SinkChoice }> = {
  "Katib's own": { text: "katib", want: { kind: "katib" } },
  "memory": { text: "memory", want: { kind: "memory" } },
  "a file with a colon in its name": {
    text: "sqlite:/data/a:b.db",
    want: { kind: "sqlite", path: "/data/a:b.db" },
  },
  "another server": { text: "grpc:log.ns:6789", want: { kind: "grpc", address: "log.ns:6789" } },
  "another server by IPv6": { text: "grpc:[::1]:1", want: { kind: "grpc", address: "[::1]:1" } },
};
for (const [sentence, { text, want }] of Object.entries(choices)) {
  Deno.test(`\`readConfiguration()\` reads an observation sink: ${sentence}`, () => {
    const got = readConfiguration({ ...nothing, flags: { observationSink: text } });
    assert.deepEqual(got.observationSink, want);
  });
}

Deno.test("`readConfiguration()` leaves the choice of the sink to the cluster if none is set", () => {
  const { observationSink, adoptCollectors } = readConfiguration(nothing);
  assert.equal(observationSink, undefined);
  assert.deepEqual(adoptCollectors, []);
});

Deno.test("`readConfiguration()` reads the collectors to adopt from a flag, and from a list", () => {
  const flag = readConfiguration({ ...nothing, flags: { adoptCollectors: "StdOut, File,StdOut" } });
  assert.deepEqual(flag.adoptCollectors, ["StdOut", "File"]);
  const file = { name: "m.yaml", text: "adoptCollectors: [File]\n" };
  assert.deepEqual(readConfiguration({ ...nothing, file }).adoptCollectors, ["File"]);
});

Deno.test("`readConfiguration()` reads how much is kept of jobs that have ended, and how long", () => {
  const flags = { historyBytes: "512Mi", historyAge: "720h" };
  const { historyBytes, historyAge } = readConfiguration({ ...nothing, flags });
  assert.deepEqual([historyBytes, historyAge], [512 << 20, 30 * 24 * 3_600_000]);
  const other = readConfiguration(nothing);
  assert.deepEqual([other.historyBytes, other.historyAge], [4 * 1024 ** 3, 0]);
});

const wrong: Record<string, { flags: Record<string, string>; want: RegExp }> = {
  "a history of no bytes": {
    flags: { historyBytes: "0" },
    want: /: --history-bytes: must be a size above 0 such as 512Mi or 1Gi, not "0"$/,
  },
  "a history of an age in words": {
    flags: { historyAge: "a week" },
    want: /: --history-age: must be a duration such as 15s or 250ms, not "a week"$/,
  },
  "a history of an age below 0": { flags: { historyAge: "-1h" }, want: /--history-age: must be/ },
  "a sink that there is not": {
    flags: { observationSink: "mysql" },
    want: /: --observation-sink: /,
  },
  "SQLite without a file": { flags: { observationSink: "sqlite:" }, want: /must be katib, memory/ },
  "gRPC without a port": {
    flags: { observationSink: "grpc:host" },
    want: /grpc:HOST:PORT, not "grpc:host"$/,
  },
  "gRPC with a port above the range": {
    flags: { observationSink: "grpc:host:65536" },
    want: /: --observation-sink: must be .*, not "grpc:host:65536"$/,
  },
  "a DB manager without a port": {
    flags: { katibDbManager: "host" },
    want: /: --katib-db-manager: /,
  },
  "a collector that cannot be adopted": {
    flags: { adoptCollectors: "StdOut,PrometheusMetric" },
    want: /: --adopt-collectors: must be a list of StdOut, File, not "PrometheusMetric"$/,
  },
};
for (const [sentence, { flags, want }] of Object.entries(wrong)) {
  Deno.test(`\`readConfiguration()\` refuses ${sentence}`, () => {
    assert.throws(() => readConfiguration({ ...nothing, flags }), want);
  });
}

const managers: Record<string, { environment: Record<string, string>; want: string }> = {
  "nothing": { environment: {}, want: "katib-db-manager.kubeflow:6789" },
  "Katib's namespace": {
    environment: { KATIB_CORE_NAMESPACE: "katib" },
    want: "katib-db-manager.katib:6789",
  },
  "the Service's variables": {
    environment: { KATIB_DB_MANAGER_SERVICE_IP: "10.0.0.7", KATIB_DB_MANAGER_SERVICE_PORT: "7000" },
    want: "10.0.0.7:7000",
  },
  "a port that is a URL, as Docker links have it": {
    environment: { KATIB_DB_MANAGER_SERVICE_PORT: "tcp://10.0.0.7:6789" },
    want: "katib-db-manager.kubeflow:6789",
  },
};
for (const [sentence, { environment, want }] of Object.entries(managers)) {
  Deno.test(`\`defaultDbManager()\` finds it with ${sentence}`, () => {
    assert.equal(defaultDbManager(environment), want);
    assert.equal(readConfiguration({ flags: {}, environment }).katibDbManager, want);
  });
}
