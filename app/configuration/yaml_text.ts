/** Text of a YAML file that a flag, or the argument of a command, names. */
import { parse as parseYaml, YAMLParseError } from "yaml";
import { ConfigurationError } from "../../platform/kube/errors.ts";

/** Returns what the text says. Throws a `ConfigurationError` that names flag and file if it is no YAML. */
export function yamlOf(flag: string, file: { readonly name: string; readonly text: string }) {
  try {
    const value: unknown = parseYaml(file.text);
    return value;
  } catch (cause) {
    const reason = cause instanceof YAMLParseError ? cause.message.split("\n")[0] : String(cause);
    throw new ConfigurationError(`${flag} ${file.name}: ${reason}`.trim(), { cause });
  }
}
