/** The example programs, which are part of the executable. */
import { ConfigurationError } from "../../platform/kube/errors.ts";

import trainJob from "../../examples/trainjob.yaml" with { type: "text" };
import { print } from "../output.ts";

/** By name, how each is run: an import runs it to its end. */
const PROGRAMS: Readonly<Record<string, () => Promise<unknown>>> = {
  softmax: () => import("../../examples/training/train.ts"),
  failing: () => import("../../examples/training/fail.ts"),
  "trial-controller": () => import("../../examples/trial-controller/trial_controller.ts"),
  trainjob: () => Promise.resolve(print(trainJob)),
};

/** The names of the programs. */
export const EXAMPLE_PROGRAMS: readonly string[] = Object.keys(PROGRAMS);

/** Runs a program. Throws a ConfigurationError if there is none of that name. */
export async function runExampleProgram(name: string): Promise<void> {
  const program = Object.hasOwn(PROGRAMS, name) ? PROGRAMS[name] : undefined;
  if (program === undefined) {
    throw new ConfigurationError(
      `there is no example "${name}"; known: ${EXAMPLE_PROGRAMS.join(", ")}`,
    );
  }
  await program();
}
