/** Configuration of a job: what its pods run, with which options and variables. Pure. */
import {
  asTexts,
  type JsonObject,
  numberAt,
  objectAt,
  objectsAt,
  textAt,
} from "../platform/base/json.ts";
import { shellWord } from "../platform/base/shell_words.ts";
import type { Setting } from "./wire/row.ts";

/** Characters of a text that is shown: the SDK writes whole programs into a command. */
const LONGEST = 1_000;

const shortened = (text: string) =>
  text.length > LONGEST ? `${text.slice(0, LONGEST)}… (the whole is in YAML)` : text;

const ASSIGNED = /^(?:--?)?([\w.]+[\w./-]*)=(\S*)$/;
const OPTION = /^--(\w[\w.-]*)$/;

/** Parts a command into its options, such as `--lr 0.1` and `lr=0.1`, and the rest. */
function optionsOf(words: readonly string[]) {
  const options: Setting[] = [];
  const rest: string[] = [];
  for (let index = 0; index < words.length; index++) {
    const [word = "", next] = [words[index], words[index + 1]];
    const [, name, value = ""] = ASSIGNED.exec(word) ?? [];
    const [, option] = OPTION.exec(word) ?? [];
    if (name !== undefined) options.push([name, value]);
    else if (option === undefined) rest.push(word);
    else if (next === undefined || next.startsWith("--")) options.push([option, "yes"]);
    else {
      options.push([option, next]);
      index++;
    }
  }
  return { options, rest };
}

/** Reads a container, or the trainer of a TrainJob. */
function settingsIn(
  container: JsonObject,
  ...first: readonly (readonly [string, string | number | undefined])[]
): Setting[] {
  const command = [...asTexts(container["command"]), ...asTexts(container["args"])];
  const { options, rest } = optionsOf(command);
  const facts = [
    ...first,
    ["Image", textAt(container, "image")],
    ["Command", rest.map(shellWord).join(" ")],
  ] as const;
  const variables = objectsAt(container, "env").map((it): Setting => [
    textAt(it, "name") ?? "",
    textAt(it, "value") ?? (it["valueFrom"] ? "(from elsewhere)" : ""),
  ]);
  return [...facts.filter(([, it]) => it !== undefined && it !== ""), ...options, ...variables]
    .map(([name, it]) => [name, shortened(String(it))]);
}

/** Returns what the object of a job says: of a TrainJob its runtime and its trainer, of other kinds each replica type. */
export function settingsOf(object: unknown): readonly Setting[] {
  const spec = objectAt(object, "spec");
  const runtime = textAt(spec, "runtimeRef", "name");
  if (runtime !== undefined) {
    const trainer = objectAt(spec, "trainer");
    return settingsIn(trainer, ["Runtime", runtime], ["Nodes", numberAt(trainer, "numNodes")]);
  }
  const types = Object.keys(spec).filter((key) => key.endsWith("ReplicaSpecs"))
    .flatMap((key) => Object.entries(objectAt(spec, key)));
  return types.flatMap(([role, type]) => {
    const [container = {}] = objectsAt(objectAt(type, "template", "spec"), "containers");
    const before = types.length > 1 ? `${role} ` : "";
    return settingsIn(container, ["Replicas", numberAt(type, "replicas")])
      .map(([name, text]): Setting => [before + name, text]);
  });
}
