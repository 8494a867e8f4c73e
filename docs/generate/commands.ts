/** docs/reference/commands.md: the commands and their flags. */
import { COMMANDS } from "../../app/commands.ts";
import type { CommandEntry } from "../../app/command_entry.ts";
import { settingEntries, type SettingEntry } from "../../app/configuration/setting_entries.ts";
import { code, page, table } from "./table.ts";

const INTRODUCTION =
  `\`milepost COMMAND --help\` prints the same. From a clone of the repository each command is
\`bin/milepost COMMAND\`, which brings Deno if it is not there, or \`deno task COMMAND\`.

\`milepost\` and \`milepost --help\` print the commands, \`milepost --version\` prints the version.

Each flag can be given as a variable, \`MILEPOST_COMMAND_FLAG\` (those of the manager are \`MILEPOST_FLAG\`); a flag comes before its variable. A
variable whose value begins with \`tcp://\`, \`udp://\` or \`sctp://\` is ignored: Kubernetes makes such \`…_PORT\` for every Service in the pod's
namespace, for one named \`milepost-node\` also \`MILEPOST_NODE_PORT\`.

Wrong usage prints one line on standard error and exits with 2; a failure at run time exits with 1, and prints its stack with
\`--log-level debug\`. SIGTERM and SIGINT end a command that runs, with exit code 0.`;

/** What the flags of a command do not say. */
const NOTES: Readonly<Record<string, string>> = {
  manager: "Its other flags are [settings](settings.md).",
  standalone: `When it is ready it prints two lines, or with \`--json\` one:
\`{"ready": true, "server": "https://127.0.0.1:…", "status": "https://127.0.0.1:…", "kubeconfig": "…"}\`. A port that is taken, or
a data folder that another standalone uses, is wrong use. [More about it](standalone.md).`,
  node: "For tests. [What a pod can have](standalone.md#pods) is the same as with `standalone`.",
  ui:
    "In a cluster it serves until SIGTERM. Files of certificates, CAs and tokens are read again as they change. [How to use it]" +
    "(../guides/page.md#in-a-cluster).",
  top:
    "At a terminal a whole screen; elsewhere, and with `--json`, a line for each change, until it is stopped. " +
    "[How to use it](../guides/terminal.md).",
  get:
    "JOB is `NAME` or `KIND/NAME`, such as `pytorchjob/mnist`; `optimizationjob/NAME` and `experiment/NAME` are searches, with their trials. Without it jobs " +
    "and searches are listed, the newest first. With `--json`: `kind`, `row` (as in [lists](http.md)), `curves`, `pods`, `events`, and `missing`, which says what " +
    "is not shown and why; of a search what the page reads of it; of a list `jobs` (rows), `searches` and `missing`.",
  logs:
    "JOB is as for `get`. Each line stands behind its rank, unless `--rank` names one. Characters that would steer the terminal are " +
    "spelled out, colours are left out.",
  stop:
    "JOB is as for `get`. The manager stops it, as by the [stop verb](http.md), if the user may update the job.",
  restart:
    "JOB is as for `get`. All its pods go, and then new ones come, as by the [restart verb](http.md), if the user may update the job. It asks for the restart after the last one that the job has had.",
  optimize:
    "FILE is YAML with one OptimizationJob, which is created; one that is there with the same spec is followed. At a terminal a table of its trials, elsewhere a line for " +
    "each change. It exits with 0 when the search is complete, and with 1 when it has failed. Ctrl-C leaves the search running. [How to use it](../guides/searches.md#an-optimizationjob).",
  completion:
    "SHELL is `bash`, `zsh` or `fish`. [How to use it](../guides/terminal.md#completion).",
  "observation-log":
    "It prints `ready: HOST:PORT`. Certificates are read again every 15 seconds. Of several files of `--client-ca` all but one " +
    "may be missing, as `ca-next.crt` is outside of a rotation. [How to use it](../guides/observation-log.md).",
  demo:
    `At a terminal it draws the rows of \`top\`, into a pipe its lines. With \`--search\` the seconds are those of all trials together, and it shows what \`optimize\` does. With \`--json\` a line for each change,
\`{"job": "…", "state": "…", "progressPercentage": 40, "estimatedRemainingSeconds": 3, "metrics": {"loss": "0.2"}}\`, and last
\`{"summary": [{"job": "…", "state": "…", "seconds": 3.1, "metrics": {…}}]}\`; with \`--search\` only
\`{"summary": [{"trial": "…", "state": "…", "parameters": {…}, "value": 0.3, "message": "…", "steps": 3, "ofSteps": 27}], "stepsSaved": {"saved": 300, "of": 648}, "curves": "FILE"}\`.`,
  crds:
    "YAML on standard output, for `kubectl apply -f -`. Where upstream's JobSet controller runs, use `--without-jobset`: its CRD is " +
    "its own and must not be overwritten. `--v1` has the definitions of the Training Operator's kinds, which make Milepost run them: " +
    "[no other operator may](../guides/v1-jobs.md). `--v1 --patch` prints commands for a shell.",
  convert:
    `FILE is YAML; former jobs in it are TFJobs, PyTorchJobs, XGBoostJobs and JAXJobs of the Training Operator, and TFJobs of 2018 (\`kubeflow.caicloud.io/v1alpha1\`); other objects stay as they are.
Comments before each runtime say what is different: a program gets the same command, resources, rank, world size and master, at other host names. What
would mean something else is refused, and nothing is printed then: elastic and dynamic workers, a master whose template or restart policy is not that of the
workers, replicas that are always started again, more than 10,000 replicas, and the kinds MPIJob, MXJob and PaddleJob.`,
  example:
    "The pods of `examples/` run them, as they are part of the executable: they need no Deno.",
  version: "",
};

const HEADER = ["flag", "variable", "default", ""] as const;

const rowOf = (setting: SettingEntry): string[] => [
  code(setting.usage),
  code(setting.variable),
  setting.isValue ? code(setting.default) : setting.default,
  setting.description,
];

/** The flags of a command that this page lists: the manager's settings have a page of their own. */
function rowsOf({ name, settings }: CommandEntry): string[][] {
  return name === "manager"
    ? [[code("--config <file>"), code("MILEPOST_CONFIG"), "none", "settings as YAML"]]
    : settingEntries(settings, name).map(rowOf);
}

function sectionOf(command: CommandEntry): string {
  const { name, description, argument } = command;
  const note = NOTES[name];
  if (note === undefined) throw new Error(`docs/generate/commands.ts lacks ${name}`);
  const rows = rowsOf(command);
  const parts = [
    `## ${name}`,
    `\`milepost ${name}${
      argument === undefined ? "" : ` ${argument.toUpperCase()}`
    }\`: ${description}.`,
    ...rows.length === 0 ? [] : [table(HEADER, rows)],
    note,
  ];
  return parts.filter((it) => it !== "").join("\n\n");
}

/** The page. */
export function commandsPage(): string {
  return page("Commands", [INTRODUCTION, ...COMMANDS.map(sectionOf)]);
}
