/** The clients of `examples/push/`, and the commands that run them here. */
import { isInstalled, run } from "../support/command.ts";

const folder = new URL("../../examples/push/", import.meta.url).pathname;

/** One client: the programs that it needs, and how it is made ready. */
interface Recipe {
  readonly needs: readonly string[];
  readonly command: (work: string) => Promise<readonly string[]>;
  /** As README.md has it, where `command` is quicker. */
  readonly documented?: readonly string[];
}

const given = (...command: string[]) => () => Promise.resolve(command);

/** Builds once, since `go run` would build for each push. */
async function built(work: string): Promise<readonly string[]> {
  const program = `${work}/push`;
  const { code, stderr } = await run("go", {
    args: ["build", "-o", program, `${folder}push.go`],
    env: { GO111MODULE: "off", CGO_ENABLED: "0" },
    timeoutMs: 300_000,
  });
  if (code !== 0) throw new Error(`push.go cannot be built: ${stderr}`);
  return [program];
}

/** Compiled once, since `java Push.java` would compile for each push. */
async function compiled(work: string): Promise<readonly string[]> {
  const { code, stderr } = await run("javac", {
    args: ["-d", work, `${folder}Push.java`],
    timeoutMs: 120_000,
  });
  if (code !== 0) throw new Error(`Push.java cannot be compiled: ${stderr}`);
  // For a process that lives a second the second compiler and parallel collection cost more than they save.
  return ["java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp", work, "Push"];
}

/** Not every Node runs TypeScript: it gets the same program without the types. */
async function bundled(work: string): Promise<readonly string[]> {
  const program = `${work}/push.mjs`;
  const { code, stderr } = await run(Deno.execPath(), {
    args: [
      "bundle",
      "--quiet",
      "--no-config",
      "--platform=deno",
      `--output=${program}`,
      `${folder}push.ts`,
    ],
    timeoutMs: 120_000,
  });
  if (code !== 0) throw new Error(`push.ts cannot be bundled: ${stderr}`);
  return ["node", program];
}

const RECIPES: Readonly<Record<string, Recipe>> = {
  "push.py": { needs: ["python3"], command: given("python3", `${folder}push.py`) },
  "push.ts": {
    needs: [Deno.execPath()],
    command: given(
      Deno.execPath(),
      ...[
        "run",
        "--quiet",
        "--no-config",
        "--no-lock",
        "--allow-env",
        "--allow-read",
        "--allow-net",
      ],
      `${folder}push.ts`,
    ),
  },
  "push.ts in Node": { needs: ["node"], command: bundled },
  "push.sh": { needs: ["bash", "curl"], command: given("bash", `${folder}push.sh`) },
  "push.go": { needs: ["go"], command: built },
  "Push.java": {
    needs: ["java", "javac"],
    command: compiled,
    documented: ["java", `${folder}Push.java`],
  },
};

/** The names of all clients. */
export const CLIENTS: readonly string[] = Object.keys(RECIPES);

/** The programs that a client needs and this machine lacks. */
export async function lacking(client: string): Promise<readonly string[]> {
  const needs = RECIPES[client]?.needs ?? [];
  const found = await Promise.all(needs.map(isInstalled));
  return needs.filter((_, index) => !found[index]);
}

/** A client's command as README.md has it, where that differs from {@link commandOf}. */
export function documentedCommand(client: string): readonly string[] | undefined {
  return RECIPES[client]?.documented;
}

/** A client's command, before its flags. What is built for it goes into `work`. */
export async function commandOf(client: string, work: string): Promise<readonly string[]> {
  const recipe = RECIPES[client];
  if (recipe === undefined) throw new Error(`there is no client ${client}`);
  return await recipe.command(work);
}
