/** Tests of the flags and variables of all commands, and of their descriptions. */
import assert from "node:assert/strict";
import { COMMANDS } from "../../../app/commands.ts";
import {
  flagOf,
  settingEntries,
  type SettingEntry,
  variableOf,
} from "../../../app/configuration/setting_entries.ts";
import { program } from "../../../main.ts";

const all: { command: string; entry: SettingEntry }[] = COMMANDS.flatMap(({ name, settings }) =>
  settingEntries(settings, name).map((entry) => ({ command: name, entry }))
);

Deno.test("flagOf() and variableOf() spell a setting", () => {
  assert.equal(flagOf("pushQpsPerPod"), "--push-qps-per-pod");
  assert.equal(variableOf("pushQpsPerPod"), "MILEPOST_PUSH_QPS_PER_POD");
  assert.equal(variableOf("dataDir", "observation-log"), "MILEPOST_OBSERVATION_LOG_DATA_DIR");
});

Deno.test("settingEntries() describe each flag of each command, and say its default", () => {
  assert.ok(all.length > 40);
  const silent = all.filter(({ entry }) => entry.description === "" || entry.default === "");
  assert.deepEqual(silent, []);
});

Deno.test("--help shows each flag of each command with description and default", () => {
  const commands = new Map(program().commands.map((it) => [it.name(), it.helpInformation()]));
  for (const { command, entry } of all) {
    const help = (commands.get(command) ?? "").replaceAll(/\s+/g, " ");
    const want = `${entry.usage} ${entry.description} (default: ${entry.default})`;
    assert.ok(help.includes(want.replaceAll(/\s+/g, " ")), `${command}: ${want}`);
  }
});

Deno.test("no variable belongs to two settings", () => {
  const variables = ["MILEPOST_CONFIG", ...all.map(({ entry }) => entry.variable)];
  assert.deepEqual(variables.filter((it, at) => variables.indexOf(it) !== at), []);
});

/** What Kubernetes injects for a Service in the pod's namespace, but `_PORT`, whose value is `tcp://…`. */
const OF_A_SERVICE =
  /_SERVICE_(?:HOST|PORT(?:_.*)?)$|_PORT_\d+_(?:TCP|UDP|SCTP)(?:_(?:PROTO|PORT|ADDR))?$/;

Deno.test("of the variables that Kubernetes makes for Services only _PORT can be one of ours", () => {
  assert.match("MILEPOST_SERVICE_PORT_HTTPS", OF_A_SERVICE);
  assert.match("MILEPOST_PORT_8082_TCP_ADDR", OF_A_SERVICE);
  assert.deepEqual(all.filter(({ entry }) => OF_A_SERVICE.test(entry.variable)), []);
});
