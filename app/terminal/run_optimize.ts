/** `milepost optimize FILE`: applies an OptimizationJob, and follows it until it ends. */
import { z } from "zod";
import { KINDS } from "../../crds/kinds.ts";
import { mergePatch } from "../../platform/base/json.ts";
import { systemClock as clock } from "../../platform/base/clock.ts";
import {
  ConfigurationError,
  isAlreadyExists,
  isInvalid,
  isNotServed,
  messageOf,
} from "../../platform/kube/errors.ts";
import type { KubeClient } from "../../platform/kube/client.ts";
import type { Kind } from "../../platform/kube/resource.ts";
import { followSearch } from "../../terminal/followed_search.ts";
import { lookOfProcess, processTerminal } from "../../terminal/process_terminal.ts";
import { searchReport } from "../../terminal/search_report.ts";
import type { optimizeSettings } from "../configuration/terminal_settings.ts";
import { yamlOf } from "../configuration/yaml_text.ts";
import { givenText } from "../given_text.ts";
import { openCluster } from "./open_cluster.ts";
import type { CommandIo } from "./run_terminal.ts";

const { optimizationJob: KIND } = KINDS;

/** What a file must say; the rest is the API server's to check, whose messages name the fields. */
const givenSchema = z.looseObject({
  apiVersion: z.literal(`${KIND.group}/${KIND.version}`),
  kind: z.literal(KIND.kind),
  metadata: z.looseObject({ name: z.string().min(1), namespace: z.string().optional() }),
  spec: z.looseObject({}),
});
/** An OptimizationJob as it was given. */
type Given = z.infer<typeof givenSchema>;
const GIVEN: Kind<Given> = { ...KIND, parse: (value) => givenSchema.parse(value) };

const metadataSchema = z.looseObject({
  labels: z.record(z.string(), z.string()).optional(),
  annotations: z.record(z.string(), z.string()).optional(),
});

/** Reads it. Throws a {@link ConfigurationError} if the file has none, or several objects. */
async function readGiven(file: string): Promise<Given> {
  const value = yamlOf("", { name: file, text: await givenText(file) });
  const read = givenSchema.safeParse(value);
  if (read.success) return read.data;
  const [{ path, message } = { path: [], message: "" }] = read.error.issues;
  const empty = value === null ? "it is empty" : "it is no object";
  const why = path.length === 0 ? empty : `${path.join(".")}: ${message}`;
  throw new ConfigurationError(
    `${file} is no OptimizationJob of ${KIND.group}/${KIND.version}: ${why}`,
  );
}

/** How its namespace, name and the commands about it are written. */
const wordsOf = ({ metadata: { name, namespace } }: Given) => {
  const delete_ = `kubectl delete optimizationjob ${name} -n ${namespace}`;
  return { named: `optimizationjob/${name} in ${namespace}`, delete_ };
};

/** Creates it, or changes labels and annotations of the one that is there. Returns what was done. Throws a {@link ConfigurationError} if that one has another spec. */
async function apply(client: KubeClient, given: Given, signal: AbortSignal): Promise<string> {
  const { named, delete_ } = wordsOf(given);
  const { name, namespace } = given.metadata;
  try {
    await client.create(GIVEN, given, { signal });
    return `${named} is created`;
  } catch (error) {
    if (isNotServed(error)) {
      const advice = "`milepost crds | kubectl apply -f -` installs the definition";
      throw new ConfigurationError(`the cluster has no OptimizationJobs: ${advice}`);
    }
    if (!isAlreadyExists(error)) throw error;
  }
  const live = await client.get(GIVEN, { namespace, name }, { signal });
  const { labels, annotations } = metadataSchema.parse(given.metadata);
  // What is left out gets its default again: the API server refuses whatever is another spec then.
  const body = { metadata: { labels, annotations }, spec: mergePatch(live.spec, given.spec) };
  try {
    await client.patch(GIVEN, { namespace, name }, { type: "merge", body }, { signal });
  } catch (error) {
    if (!isInvalid(error)) throw error;
    const advice = `give yours another name, or delete that one: ${delete_}`;
    throw new ConfigurationError(`${named} is another search: ${messageOf(error)}; ${advice}`);
  }
  return `${named} is there already, with this spec`;
}

/** Returns it with its namespace. Throws a {@link ConfigurationError} if it is said twice, and differs. */
function placed(given: Given, namespaces: readonly string[], named: readonly string[]): Given {
  const [first = "default", ...others] = namespaces;
  const { namespace = first } = given.metadata;
  if (others.length > 0 || (named.length > 0 && namespace !== first)) {
    throw new ConfigurationError(
      `--namespace: name the one of the file, ${given.metadata.namespace ?? "or one for it"}`,
    );
  }
  return { ...given, metadata: { ...given.metadata, namespace } };
}

/** Runs it. Throws if the search fails. */
export async function runOptimizeCommand(
  file: string,
  settings: z.infer<typeof optimizeSettings>,
  { print, warn, signal }: CommandIo,
): Promise<void> {
  const read = await readGiven(file);
  await using cluster = await openCluster(settings, signal, ["jobs", "manager"]);
  const given = placed(read, cluster.namespaces, settings.namespace);
  const { named, delete_ } = wordsOf(given);
  print(`${await apply(cluster.client, given, signal)}\n`);
  const look = lookOfProcess(settings);
  const size = Deno.stdout.isTerminal() ? processTerminal.size : undefined;
  try {
    const search = await followSearch({
      read: (signal) => cluster.searches.read(KIND, given.metadata, signal),
      kind: KIND.kind,
      ...{ print, warn, look, size, clock, signal },
    });
    const { columns } = processTerminal.size();
    const report = searchReport(KIND.kind, search, { ...look, columns, nowMs: clock.now() });
    if (size === undefined) print(`\n${report.join("\n")}\n`);
    if (search.state === "Failed") throw new Error(`${named} has failed: ${search.message ?? ""}`);
  } catch (error) {
    if (signal.aborted) warn(`${named} goes on; this ends it: ${delete_}`);
    throw error;
  }
}
