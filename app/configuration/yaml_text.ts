/** Text of a YAML file that a flag, or the argument of a command, names. */
import { parse as parseYaml, YAMLParseError } from "yaml";
import { ConfigurationError } from "../../platform/kube/errors.ts";

function reasonOf(cause: unknown): string | undefined {
  if (!(cause instanceof YAMLParseError)) return String(cause);
  if (cause.code === "MULTIPLE_DOCS") return "it has several documents, and must have one";
  return cause.message.split("\n")[0];
}

/** Returns what the text says. Throws a `ConfigurationError` that names flag and file if it is no YAML. */
export function yamlOf(flag: string, file: { readonly name: string; readonly text: string }) {
  try {
    const value: unknown = parseYaml(file.text);
    return value;
  } catch (cause) {
    throw new ConfigurationError(`${flag} ${file.name}: ${reasonOf(cause)}`.trim(), { cause });
  }
}
