/** Feature gates: `--feature-gates A=true,B=false`. */
import { FEATURE_GATE_ALIASES, FEATURE_GATES } from "../../crds/names.ts";
import { ConfigurationError } from "../../platform/kube/errors.ts";

/** The gates by name, with their defaults. */
const DEFAULTS: Readonly<Record<string, boolean>> = { [FEATURE_GATES.trainJobProgress]: false };

/** The features that are on. */
export interface FeatureGates {
  /** KEP-2779: endpoint, injection and the CA of each job. */
  readonly trainJobProgress: boolean;
}

/** Reads the flag. Throws a ConfigurationError for an unknown gate or a value that is not a boolean. */
export function parseFeatureGates(text: string): FeatureGates {
  const gates = new Map(Object.entries(DEFAULTS));
  for (const part of text.split(",").map((it) => it.trim()).filter((it) => it !== "")) {
    const [name = "", value = ""] = part.split("=", 2).map((it) => it.trim());
    const gate = FEATURE_GATE_ALIASES[name] ?? name;
    if (!gates.has(gate)) {
      throw new ConfigurationError(
        `--feature-gates: unknown feature gate "${name}"; known: ${[...gates.keys()].join(", ")}`,
      );
    }
    if (value !== "true" && value !== "false") {
      throw new ConfigurationError(
        `--feature-gates: ${name} must be true or false, not "${value}"`,
      );
    }
    gates.set(gate, value === "true");
  }
  return { trainJobProgress: gates.get(FEATURE_GATES.trainJobProgress) === true };
}
