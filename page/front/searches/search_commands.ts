/** Commands by which jobs become a search: it is nothing but a label that they share. Pure. */
import { keyOf } from "../feed/job_key.ts";
import { jobNameOf } from "../url_state.ts";
import { shellWord } from "../../../platform/base/shell_words.ts";

/** Returns the commands that make jobs a search, one for those of a kind and a namespace. */
export function searchCommands(keys: readonly string[]): string {
  const named = keys.map(jobNameOf).filter((it) => it !== undefined);
  const groups = Map.groupBy(named, (it) => keyOf({ ...it, name: "" }));
  return [...groups.values()].flatMap((jobs) => {
    const [first] = jobs;
    if (first === undefined) return [];
    const words = ["-n", first.namespace, first.kind, ...jobs.map(({ name }) => name)];
    const target = words.map(shellWord).join(" ");
    return [`kubectl label ${target} katib.kubeflow.org/experiment=my-search`];
  }).join("\n");
}
