/** Line by which jobs become a search, to be copied. */
import { Menu } from "../menu.tsx";
import { plainText } from "../readable_text.ts";
import { searchCommands } from "./search_commands.ts";

/** Where nothing is named. */
const EXAMPLE = "trainjobs.trainer.kubeflow.org/default/JOB";

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
