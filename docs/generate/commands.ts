/** docs/reference/commands.md: the commands and their flags. */
import type { Command, Option } from "commander";
import { program } from "../../main.ts";
import { code, page, table } from "./table.ts";

const INTRODUCTION =
  `\`milepost COMMAND --help\` prints the same. From a clone of the repository each command is
\`deno task COMMAND\` (\`npx -y deno@2.9.6 task COMMAND\` without Deno), or \`deno run -A main.ts COMMAND\`.

Wrong usage prints one line on standard error and exits with 2; a failure at run time exits with 1. SIGTERM and SIGINT end
a command that runs, with exit code 0.`;

/** What the flags of a command do not say. */
const NOTES: Readonly<Record<string, string>> = {
  manager: "Its other flags are [settings](settings.md).",
  standalone: `When it is ready it prints two lines, or with \`--json\` one:
\`{"ready": true, "server": "https://127.0.0.1:…", "status": "https://127.0.0.1:…", "kubeconfig": "…"}\`. A port that is taken, or
a data folder that another standalone uses, is wrong use. [More about it](standalone.md).`,
  node: "For tests. [What a pod can have](standalone.md#pods) is the same as with `standalone`.",
  "observation-log":
    "It prints `ready: HOST:PORT`. Certificates are read again every 15 seconds. Of several files of `--client-ca` all but one " +
    "may be missing, as `ca-next.crt` is outside of a rotation. [How to use it](../guides/observation-log.md).",
  demo: `With \`--json\` a line for each change,
\`{"job": "…", "state": "…", "progressPercentage": 40, "estimatedRemainingSeconds": 3, "metrics": {"loss": "0.2"}}\`, and last
\`{"summary": [{"job": "…", "state": "…", "seconds": 3.1, "metrics": {…}}]}\`.`,
  crds: "YAML on standard output, for `kubectl apply -f -`.",
  version: "",
};

function rowOf(option: Option): string[] {
  const otherwise = typeof option.defaultValue === "string" ? option.defaultValue : "";
  return [code(option.flags), code(otherwise), option.description];
}

/** The flags of a command that this page lists: the manager's settings have a page of their own. */
function flagsOf(command: Command): readonly Option[] {
  return command.name() === "manager" ? command.options.slice(0, 1) : command.options;
}

function sectionOf(command: Command): string {
  const note = NOTES[command.name()];
  if (note === undefined) throw new Error(`docs/generate/commands.ts lacks ${command.name()}`);
  const flags = flagsOf(command);
  const parts = [
    `## ${command.name()}`,
    `\`milepost ${command.name()}\`: ${command.description()}.`,
    ...flags.length === 0 ? [] : [table(["flag", "default", ""], flags.map(rowOf))],
    note,
  ];
  return parts.filter((it) => it !== "").join("\n\n");
}

/** The page. */
export function commandsPage(): string {
  return page("Commands", [INTRODUCTION, ...program().commands.map(sectionOf)]);
}
