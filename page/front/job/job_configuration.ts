/** Configuration of a job: what its pods run, and with which variables. Pure. */
import {
  asTexts,
  type JsonObject,
  numberAt,
  objectAt,
  objectsAt,
  textAt,
} from "../../../platform/base/json.ts";
import { shellWord } from "../../../platform/base/shell_words.ts";

/** What the pods of one role run. */
export interface Configuration {
  /** Empty where all pods of a job have one. */
  readonly role: string;
  readonly facts: readonly (readonly [name: string, text: string])[];
}

/** Characters of a text that is shown: the SDK writes whole programs into a command. */
const LONGEST = 1_000;

const shortened = (text: string) =>
  text.length > LONGEST ? `${text.slice(0, LONGEST)}… (the whole is in YAML)` : text;

/** Reads a container, or the trainer of a TrainJob. */
function factsOf(container: JsonObject, ...first: readonly (readonly [string, unknown])[]) {
  const command = [...asTexts(container["command"]), ...asTexts(container["args"])];
  const variables = objectsAt(container, "env").map((it) =>
    [
      textAt(it, "name"),
      textAt(it, "value") ?? (it["valueFrom"] ? "(from elsewhere)" : ""),
    ] as const
  );
  const facts = [...first, ["Image", container["image"]], [
    "Command",
    command.map(shellWord).join(" "),
  ]]
    .filter(([, it]) => it !== undefined && it !== "");
  return [...facts, ...variables].map(([name, it]) =>
    [String(name), shortened(String(it))] as const
  );
}

/** Returns what the object of a job says: of a TrainJob its runtime and its trainer, of other kinds each replica type. */
export function configurationOf(object: unknown): readonly Configuration[] {
  const spec = objectAt(object, "spec");
  const runtime = textAt(spec, "runtimeRef", "name");
  if (runtime !== undefined) {
    const trainer = objectAt(spec, "trainer");
    const nodes = numberAt(trainer, "numNodes");
    return [{ role: "", facts: factsOf(trainer, ["Runtime", runtime], ["Nodes", nodes]) }];
  }
  const types = Object.keys(spec).filter((key) => key.endsWith("ReplicaSpecs"))
    .flatMap((key) => Object.entries(objectAt(spec, key)));
  return types.map(([role, type]) => {
    const [container = {}] = objectsAt(objectAt(type, "template", "spec"), "containers");
    return { role, facts: factsOf(container, ["Replicas", numberAt(type, "replicas")]) };
  });
}
