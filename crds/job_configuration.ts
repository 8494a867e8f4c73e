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

const ASSIGNED = /^(?:--?|\+\+?)?([\w.]+[\w./-]*)=(\S*)$/;
const OPTION = /^-(?:-(?=\w)|(?=[A-Za-z]))([\w.-]+)$/;
/** What is an option, or ends those of a launcher; a negative number is a value. */
const NO_VALUE = /^-(?:-|[A-Za-z])/;
/** A script, and the options of interpreters that name a module or a program. */
const [SCRIPT, OF_PROGRAM] = [/\.(?:py|sh)$/, /^-(?:m|[a-z]*c)$/];

/** Returns where the name of the program is, behind interpreters and launchers and their options; -1 if nothing says it. */
const programIn = (words: readonly string[]): number =>
  words.findIndex((word, index) => {
    const before = words[index - 1] ?? "";
    return OF_PROGRAM.test(before) || (SCRIPT.test(word) && !before.startsWith("--"));
  });

/** Parts a command into its options, such as `--lr 0.1`, `-b 32` and `lr=0.1`, and the rest. */
function optionsOf(words: readonly string[]) {
  const options: Setting[] = [];
  const rest: string[] = [];
  const program = programIn(words);
  for (let index = 0; index < words.length; index++) {
    const word = words[index] ?? "";
    const [, name, value = ""] = ASSIGNED.exec(word) ?? [];
    const [, option] = OPTION.exec(word) ?? [];
    const isOfLauncher = index <= program && !word.startsWith("--");
    if (name !== undefined) options.push([name, value]);
    else if (option === undefined || isOfLauncher) rest.push(word);
    else {
      const values: string[] = [];
      for (let next = words[index + 1]; next !== undefined; next = words[index + 1]) {
        const isMore = values.length > 0;
        if (NO_VALUE.test(next) || (isMore && (index + 1 === program || ASSIGNED.test(next)))) {
          break;
        }
        values.push(next);
        index++;
      }
      options.push([option, values.length === 0 ? "yes" : values.join(" ")]);
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
