/** Configuration of a job: what its pods run, and with which variables. Pure. */
import {
  asTexts,
  type JsonObject,
  numberAt,
  objectAt,
  objectsAt,
  textAt,
} from "../platform/base/json.ts";
import { shellWord } from "../platform/base/shell_words.ts";
import type { Configuration, Setting } from "./wire/shown_settings.ts";

/** Characters of a text that is shown: the SDK writes whole programs into a command. */
const LONGEST = 1_000;

const shortened = (text: string) =>
  text.length > LONGEST ? `${text.slice(0, LONGEST)}… (the whole is in YAML)` : text;

const commandOf = (container: JsonObject) => [
  ...asTexts(container["command"]),
  ...asTexts(container["args"]),
];

const variablesOf = (container: JsonObject) =>
  objectsAt(container, "env").map((it) =>
    [
      textAt(it, "name") ?? "",
      textAt(it, "value") ?? (it["valueFrom"] ? "(from elsewhere)" : ""),
    ] as const
  );

/** A container, or the trainer of a TrainJob, with what is said beside it. */
interface Role {
  readonly role: string;
  readonly first: readonly (readonly [string, string | number | undefined])[];
  readonly container: JsonObject;
}

/** Of a TrainJob its runtime and its trainer, of other kinds each replica type. */
function rolesOf(object: unknown): readonly Role[] {
  const spec = objectAt(object, "spec");
  const runtime = textAt(spec, "runtimeRef", "name");
  if (runtime !== undefined) {
    const container = objectAt(spec, "trainer");
    const nodes = numberAt(container, "numNodes");
    return [{ role: "", first: [["Runtime", runtime], ["Nodes", nodes]], container }];
  }
  const types = Object.keys(spec).filter((key) => key.endsWith("ReplicaSpecs"))
    .flatMap((key) => Object.entries(objectAt(spec, key)));
  return types.map(([role, type]) => {
    const [container = {}] = objectsAt(objectAt(type, "template", "spec"), "containers");
    return { role, first: [["Replicas", numberAt(type, "replicas")]], container };
  });
}

function factsOf({ first, container }: Role, command: string): readonly Setting[] {
  const facts = [...first, ["Image", textAt(container, "image")], ["Command", command]] as const;
  return facts.flatMap(([name, it]) =>
    it === undefined || it === "" ? [] : [[name, shortened(String(it))] as const]
  );
}

/** Returns what the object of a job says of each role of its pods. */
export function configurationOf(object: unknown): readonly Configuration[] {
  return rolesOf(object).map((it) => ({
    role: it.role,
    facts: [
      ...factsOf(it, commandOf(it.container).map(shellWord).join(" ")),
      ...variablesOf(it.container).map(([name, text]) => [name, shortened(text)] as const),
    ],
  }));
}

const ASSIGNED = /^(?:--?)?([\w.]+[\w./-]*)=(\S*)$/;
const OPTION = /^--([\w][\w.-]*)$/;

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

/** Returns the same as one list to compare jobs by: options of commands are settings of their own. */
export function settingsOf(object: unknown): readonly Setting[] {
  const roles = rolesOf(object);
  return roles.flatMap((it) => {
    const { options, rest } = optionsOf(commandOf(it.container));
    const facts = factsOf(it, rest.map(shellWord).join(" "));
    const before = roles.length > 1 ? `${it.role} ` : "";
    return [...facts, ...options, ...variablesOf(it.container)]
      .map(([name, text]) => [before + name, text] as const);
  });
}
