/** Line by which jobs become a search: it is nothing but a label that they share. */
import { keyOf } from "../feed/job_key.ts";
import { Menu } from "../menu.tsx";
import { plainText } from "../readable_text.ts";
import { jobNameOf } from "../url_state.ts";
import { shellWord } from "../../../platform/base/shell_words.ts";

/** Where nothing is named. */
const EXAMPLE = "trainjobs.trainer.kubeflow.org/default/JOB";

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

/** What a search is, with the commands for these jobs to copy. */
export function SearchLine({ keys = [EXAMPLE] }: { keys?: readonly string[] }) {
  const text = plainText(searchCommands(keys));
  return (
    <>
      <p>
        A search is a label that jobs of a namespace share: with the same value they stand as trials
        under Trials, with the parameters in which they differ and the best of them.
      </p>
      <pre tabIndex={0}>{text}</pre>
      <p>
        <button type="button" onClick={() => navigator.clipboard?.writeText(text)}>Copy</button>
      </p>
    </>
  );
}

/** The same in a menu, where several jobs are; nothing for one. */
export function SearchMenu({ keys }: { keys: readonly string[] }) {
  if (keys.length < 2) return null;
  return (
    <Menu label="As a search">
      <SearchLine keys={keys} />
    </Menu>
  );
}
