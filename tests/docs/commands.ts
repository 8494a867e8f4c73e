/** Commands of the documentation, as one script for each page. */
import { type Block, blocksOf, filesEndingIn } from "./markdown.ts";

/** A page with its blocks of commands. */
export interface CommandPage {
  readonly path: string;
  readonly blocks: readonly Block[];
}

/**
 * What the info string of a block's fence says after `sh`: nothing for a block that is run and succeeds,
 * `fails` for one that is run and fails, `test: PATH` for one that another test runs, `skip: REASON`.
 */
export type Marking =
  | { readonly kind: "run" | "fails" }
  | { readonly kind: "test"; readonly path: string }
  | { readonly kind: "skip"; readonly reason: string };

/** The marking of a block; undefined for an info string that says nothing known. */
export function markingOf({ info }: Block): Marking | undefined {
  if (info === "sh") return { kind: "run" };
  if (info === "sh fails") return { kind: "fails" };
  const [, path] = /^sh test: (\S+)$/.exec(info) ?? [];
  if (path !== undefined) return { kind: "test", path };
  const [, reason] = /^sh skip: (.+)$/.exec(info) ?? [];
  return reason === undefined ? undefined : { kind: "skip", reason };
}

const isOfShell = ({ info }: Block) => /^(?:sh|bash|shell|console)\b/.test(info);

/** Whether a block that names no language looks like commands. */
export function looksLikeCommands({ info, text }: Block): boolean {
  return info === "" &&
    /^(?:\$ )?(?:deno|npx|kubectl|helm|milepost|curl|python3?|pip) /m.test(text);
}

/** The README and every page below docs/, with all fenced blocks that hold commands. */
export async function commandPages(): Promise<CommandPage[]> {
  const pages: CommandPage[] = [];
  for await (const { path, text } of filesEndingIn([".md"])) {
    if (path !== "README.md" && !path.startsWith("docs/")) continue;
    const blocks = blocksOf(text).filter((it) => isOfShell(it) || looksLikeCommands(it));
    if (blocks.length > 0) pages.push({ path, blocks });
  }
  return pages;
}

/** Values for the names that the documentation uses. */
export interface Places {
  /** A folder in place of /tmp. */
  readonly folder: string;
  /** The status port of the one standalone that all pages share, in place of 8082. */
  readonly statusPort: string;
  /** A TrainJob in place of NAME. */
  readonly job: string;
}

/** One block as it is run here. */
function localText(text: string, { folder, statusPort, job }: Places): string {
  return text.replaceAll("/tmp/", `${folder}/`).replaceAll(
    "127.0.0.1:8082",
    `127.0.0.1:${statusPort}`,
  )
    .replaceAll(/--timeout=\d+s/g, "--timeout=240s").replaceAll(/\bNAME\b/g, job);
}

/**
 * Commands that are here already: the standalone of all pages, and Deno without npx. The examples train
 * for fewer epochs. A refusal of the status endpoint fails, which curl alone would call a success.
 */
const PRELUDE = `set -eu -o pipefail
examples() { command kubectl kustomize examples | sed -E 's/value: "(1200|600)"/value: "60"/'; }
kubectl() {
  case "$*" in
    "apply -k examples") examples | command kubectl apply -f - ;;
    *) command kubectl "$@" ;;
  esac
}
curl() { command curl --fail-with-body "$@"; }
deno() { case "$*" in "task standalone"*) ;; *) command deno "$@" ;; esac }
bin/milepost() { case "$1" in standalone) ;; *) deno run -A --no-check main.ts "$@" ;; esac }
npx() { shift 2; deno "$@"; }
`;

/** A script of Bash with the commands of pages. */
export const scriptWith = (text: string) => PRELUDE + text;

/** The blocks of a page that are run, as one script of Bash. It says which block it has come to. */
export function scriptOf({ path, blocks }: CommandPage, places: Places): string | undefined {
  const steps = blocks.flatMap((block) => {
    const kind = markingOf(block)?.kind;
    const text = localText(block.text, places);
    const where = `${path}:${block.line}`;
    if (kind === "run") return [`echo "== ${where}"\n${text}\n`];
    if (kind !== "fails") return [];
    return [`echo "== ${where}"\nif (\n${text}\n); then echo "it succeeded"; exit 1; fi\n`];
  });
  return steps.length === 0 ? undefined : scriptWith(steps.join(""));
}
