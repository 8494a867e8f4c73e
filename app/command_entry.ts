/** Entry of a command in the command line: its settings, and what runs it. */
import type { z } from "zod";
import { readSettings, type SettingSources } from "./configuration/setting_sources.ts";

/** What a command was given. */
export interface Given extends Pick<SettingSources, "flags" | "environment"> {
  readonly argument?: string;
}

/** A command. */
export interface CommandEntry {
  readonly name: string;
  readonly description: string;
  readonly settings: z.ZodObject;
  /** Name of the argument, which must be given; in square brackets one that need not be. */
  readonly argument?: string;
  /** What is said where the argument is lacking. Default: that it is. */
  readonly question?: string;
  run(given: Given): Promise<void>;
}

/** Returns an entry that runs with its settings as they were given, and its argument, empty without one. */
export function entryOf<S extends z.ZodObject>(
  shape: Omit<CommandEntry, "settings" | "run"> & { readonly settings: S },
  run: (values: z.infer<S>, argument: string) => Promise<void>,
): CommandEntry {
  const { name: command, settings } = shape;
  return {
    ...shape,
    run: async ({ argument = "", ...given }) =>
      await run(readSettings(settings, { command, ...given }), argument),
  };
}
