/** Completion of the command line in shells: scripts that know the commands and their flags. Pure. */
import type { z } from "zod";
import { settingEntries } from "../configuration/setting_entries.ts";

/** A command, as far as it is completed. */
export interface CompletedCommand {
  readonly name: string;
  readonly description: string;
  readonly settings: z.ZodObject;
}

const SHELLS = ["bash", "zsh", "fish"];

const flagsOf = (
  { name, settings }: CompletedCommand,
) => ["--help", ...settingEntries(settings, name).map(({ flag }) => flag)];

function bash(commands: readonly CompletedCommand[]): string {
  const cases = commands.map((it) => `    ${it.name}) words="${flagsOf(it).join(" ")}" ;;`);
  return `_milepost() {
  local words="" word="\${COMP_WORDS[COMP_CWORD]}"
  case "\${COMP_WORDS[1]}" in
${cases.join("\n")}
  esac
  if [ "$COMP_CWORD" -eq 1 ]; then words="${commands.map(({ name }) => name).join(" ")}"; fi
  if [ "$COMP_CWORD" -eq 2 ] && [ "\${COMP_WORDS[1]}" = completion ]; then words="${
    SHELLS.join(" ")
  }"; fi
  COMPREPLY=($(compgen -W "$words" -- "$word"))
}
complete -o default -F _milepost milepost kubectl-milepost
`;
}

const quoted = (text: string) => `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;

function fish(commands: readonly CompletedCommand[]): string {
  const lines = commands.flatMap((it) => [
    `complete -c milepost -f -n __fish_use_subcommand -a ${it.name} -d ${quoted(it.description)}`,
    ...settingEntries(it.settings, it.name).map(({ flag, description }) =>
      `complete -c milepost -n '__fish_seen_subcommand_from ${it.name}' -l ${flag.slice(2)} -d ${
        quoted(description)
      }`
    ),
  ]);
  lines.push(
    `complete -c milepost -f -n '__fish_seen_subcommand_from completion' -a '${SHELLS.join(" ")}'`,
  );
  lines.push("complete -c kubectl-milepost -w milepost");
  return `${lines.join("\n")}\n`;
}

/** zsh reads the script for bash once its completion runs, which a bare ~/.zshrc does not begin. */
const ZSH_HEAD = `autoload -Uz compinit bashcompinit
(( $+functions[compdef] )) || compinit
bashcompinit
`;

/** The scripts by the name of their shell. */
export const COMPLETIONS: ReadonlyMap<string, (commands: readonly CompletedCommand[]) => string> =
  new Map([
    ["bash", bash],
    ["zsh", (commands) => `${ZSH_HEAD}${bash(commands)}`],
    ["fish", fish],
  ]);
