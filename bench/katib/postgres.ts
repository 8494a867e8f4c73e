/** Postgres on loopback, for the table of Katib's DB manager. */
import { isFile } from "../../tests/cluster/control_plane/programs.ts";
import { createDaemon, type Daemon } from "../../tests/cluster/control_plane/daemon.ts";
import { isInstalled, run } from "../../tests/support/command.ts";
import { freePort } from "../../tests/support/free_port.ts";

const POSTGRES_MS = 60_000;
/** UID of the user `nobody`, as whom Postgres runs instead of root. */
const NOBODY = "65534";

/** The folder with `initdb` and `postgres`: where Debian has them, or that of the PATH. */
async function postgresBin(): Promise<string> {
  const debian = "/usr/lib/postgresql";
  const versions = await Array.fromAsync(Deno.readDir(debian)).catch(() => []);
  for (const { name } of versions.sort((a, b) => Number(b.name) - Number(a.name))) {
    if (await isFile(`${debian}/${name}/bin/initdb`)) return `${debian}/${name}/bin/`;
  }
  if (await isInstalled("initdb")) return "";
  throw new Error("Postgres is not here: apt-get install postgresql");
}

/** A Postgres that runs. */
export interface Postgres {
  readonly daemon: Daemon;
  readonly port: number;
  /** Queries the database `katib`. Returns lines of fields, separated by `|`. Throws with its message. */
  query(sql: string): Promise<string[][]>;
}

/** A Postgres that trusts every client on loopback, with the role and the database `katib`. */
export async function startPostgres(folder: string): Promise<Postgres> {
  const bin = await postgresBin();
  const port = freePort();
  const home = `${folder}/postgres`;
  await Deno.mkdir(home);
  const isRoot = Deno.uid() === 0;
  if (isRoot) {
    await Deno.chmod(folder, 0o711);
    await Deno.chown(home, Number(NOBODY), Number(NOBODY));
  }
  const as = isRoot
    ? ["setpriv", `--reuid=${NOBODY}`, `--regid=${NOBODY}`, "--clear-groups", "--"]
    : [];
  const whole = async (program: string, ...args: string[]) => {
    const [first = program, ...rest] = [...as, `${bin}${program}`, ...args];
    const { code, stderr } = await run(first, { args: rest, timeoutMs: POSTGRES_MS });
    if (code !== 0) throw new Error(`${program} ended with ${code}: ${stderr}`);
  };
  await whole("initdb", "-D", `${home}/data`, "-U", "katib", "-A", "trust");
  const here = ["-h", "127.0.0.1", "-p", String(port), "-U", "katib"];
  const [first = "postgres", ...args] = [
    ...as,
    `${bin}postgres`,
    ...["-D", `${home}/data`, "-h", "127.0.0.1", "-p", String(port), "-k", home],
  ];
  const daemon = createDaemon({
    name: "postgres",
    program: first,
    args,
    logFile: `${folder}/postgres.log`,
    isReady: async () => {
      const { code } = await run(`${bin}pg_isready`, { args: here, timeoutMs: POSTGRES_MS });
      return code === 0;
    },
  });
  await daemon.start();
  await whole("createdb", ...here, "katib");
  const query = async (sql: string) => {
    const args = [...here, "-d", "katib", "-At", "-c", sql];
    const { code, stdout, stderr } = await run(`${bin}psql`, { args, timeoutMs: POSTGRES_MS });
    if (code !== 0) throw new Error(`psql ended with ${code}: ${stderr}`);
    return stdout.trim().split("\n").map((line) => line.split("|"));
  };
  return { daemon, port, query };
}
