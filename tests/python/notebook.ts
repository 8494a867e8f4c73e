/** Notebooks that are executed, with what their cells show. */
import assert from "node:assert/strict";
import { z } from "zod";
import { run } from "../support/command.ts";
import { type Environment, pythonEnvironment } from "../support/python_environment.ts";
import { SOURCES } from "./interpreter.ts";

/** Returns the environment that notebooks need; without it their tests are skipped. */
export const notebookEnvironment = (): Promise<Environment> =>
  pythonEnvironment(
    "kubernetes==35.0.0",
    "pandas==2.3.3",
    "matplotlib==3.11.2",
    "nbclient==0.11.0",
    "ipykernel==7.4.0",
  );

/** What the cells show: their outputs, each by its type. */
const shown = z.array(z.array(z.record(z.string(), z.unknown())));
/** Outputs of one cell. */
export type CellOutputs = z.infer<typeof shown>[number];

/** Returns the text of a notebook with these cells, each of which may fail. */
export function notebookOf(...cells: readonly string[]): string {
  const metadata = { tags: ["raises-exception"] };
  return JSON.stringify({
    nbformat: 4,
    nbformat_minor: 5,
    metadata: {},
    cells: cells.map((source, index) => ({
      ...{ cell_type: "code", id: `cell-${index}`, metadata, source },
      ...{ execution_count: null, outputs: [] },
    })),
  });
}

/** Executes a notebook with variables besides its own. Returns the outputs of each cell. */
export async function executedNotebook(
  path: string,
  { bin, home, env }: {
    readonly bin: string;
    readonly home: string;
    readonly env: Readonly<Record<string, string>>;
  },
): Promise<readonly CellOutputs[]> {
  const script = new URL("execute_notebook.py", import.meta.url).pathname;
  const { code, stdout, stderr } = await run(`${bin}/python`, {
    args: [script, path],
    env: {
      HOME: home,
      PYTHONPATH: SOURCES,
      PYTHONDONTWRITEBYTECODE: "1",
      ...env,
    },
    timeoutMs: 180_000,
  });
  assert.equal(code, 0, stderr);
  return shown.parse(JSON.parse(stdout.trim().split("\n").at(-1) ?? ""));
}
