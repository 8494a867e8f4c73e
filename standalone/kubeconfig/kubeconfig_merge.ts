/** Entries of a standalone in a kubeconfig that others write too: merged in, and taken out. Pure. */
import { type Document, isAlias, isMap, isSeq, parseDocument, YAMLMap, YAMLSeq } from "yaml";
import { z } from "zod";
import { STANDALONE } from "../../crds/names.ts";

/** User and server of the kubeconfig. */
export interface KubeconfigContent {
  readonly server: string;
  /** PEM of the CA to trust. */
  readonly caCertificate: string;
  readonly token: string;
}

/** A standalone whose entries are in a kubeconfig. */
export interface StandaloneEntry {
  readonly server: string;
  /** PEM of its CA; empty if the entry has none. */
  readonly caCertificate: string;
}

const { kubeconfigName: NAME, previousContextExtension: PREVIOUS } = STANDALONE;
const LISTS = ["clusters", "users", "contexts"] as const;

const named = z.array(z.looseObject({ name: z.string() })).nullish();
const fileSchema = z.looseObject({
  apiVersion: z.literal("v1").nullish(),
  kind: z.literal("Config").nullish(),
  clusters: named,
  users: named,
  contexts: named,
  "current-context": z.string().nullish(),
});
type File = z.infer<typeof fileSchema>;

/** An entry counts as a standalone's if its cluster is at 127.0.0.1 and its user has only a token. */
const clusterSchema = z.looseObject({
  cluster: z.looseObject({
    server: z.string().regex(/^https:\/\/127\.0\.0\.1:\d+$/),
    "certificate-authority-data": z.base64().default(""),
  }),
});
const userSchema = z.looseObject({ user: z.strictObject({ token: z.string() }) });
const contextSchema = z.looseObject({
  context: z.looseObject({
    cluster: z.literal(NAME),
    user: z.literal(NAME),
    extensions: z.array(
      z.looseObject({ name: z.string(), extension: z.unknown() }),
    ).nullish(),
  }),
});
const previousSchema = z.object({ context: z.string() });

/** A kubeconfig: its document, which keeps what is not changed, and its parsed content. */
interface Kubeconfig {
  readonly document: Document;
  readonly file: File;
}

/** Parses a kubeconfig; an empty one is allowed. Throws an Error that says what is wrong. */
function parse(text: string): Kubeconfig {
  const document: Document = parseDocument(text, { intAsBigInt: true });
  const [error] = document.errors;
  if (error !== undefined) throw new Error(`it is not YAML: ${error.message.split("\n")[0]}`);
  const value: unknown = document.toJS() ?? {};
  const result = fileSchema.safeParse(value);
  if (!result.success) {
    const [issue] = result.error.issues;
    const where = issue?.path.join(".") || "the whole";
    throw new Error(`it is not a kubeconfig: ${where}: ${issue?.message ?? "invalid"}`);
  }
  const file = result.data;
  const isKubeconfig = file.kind === "Config" || LISTS.some((list) => file[list] !== undefined);
  if (!isKubeconfig && Object.keys(file).length > 0) {
    throw new Error(`it is not a kubeconfig: it has no "kind: Config"`);
  }
  return { document, file };
}

const entryOf = (file: File, list: typeof LISTS[number]) =>
  file[list]?.find(({ name }) => name === NAME);

/** Returns the name of the first list whose entry is not a standalone's. */
function foreignList(file: File): string | undefined {
  const schemas = { clusters: clusterSchema, users: userSchema, contexts: contextSchema };
  return LISTS.find((list) => {
    const entry = entryOf(file, list);
    return entry !== undefined && !schemas[list].safeParse(entry).success;
  });
}

/** Returns the context that was current before that of a standalone; undefined if none was. */
function previousContext(file: File): string | undefined {
  const current = file["current-context"] || undefined;
  if (current !== NAME) return current;
  const context = contextSchema.safeParse(entryOf(file, "contexts"));
  const extensions = context.data?.context.extensions ?? [];
  const extension = extensions.find(({ name }) => name === PREVIOUS)?.extension;
  return previousSchema.safeParse(extension).data?.context;
}

/** Removes our entry from a list, and adds another one if given. */
function putEntry(document: Document, list: typeof LISTS[number], entry?: object): void {
  const found = document.get(list, true);
  if (isAlias(found)) throw new Error(`${list} is an alias; write the list out`);
  const items = isSeq(found) ? found : new YAMLSeq();
  if (items !== found) document.set(list, items);
  items.items = items.items.filter((item) => !(isMap(item) && item.get("name") === NAME));
  if (entry !== undefined) items.add(document.createNode({ name: NAME, ...entry }));
}

const textOf = (document: Document) => document.toString({ lineWidth: 0 });

/** Returns the standalone whose entries the kubeconfig has. Throws an Error if the file is no kubeconfig. */
export function standaloneIn(text: string): StandaloneEntry | undefined {
  const { cluster } = clusterSchema.safeParse(entryOf(parse(text).file, "clusters")).data ?? {};
  if (cluster === undefined) return undefined;
  return { server: cluster.server, caCertificate: atob(cluster["certificate-authority-data"]) };
}

/**
 * Returns the kubeconfig with cluster, user and context `milepost`, which is current; entries that an earlier
 * run left there are replaced. All other values stay. Throws an Error if the file is no kubeconfig, or
 * has entries of that name that are not a standalone's.
 */
export function withStandalone(text: string, content: KubeconfigContent): string {
  const { document, file } = parse(text);
  const foreign = foreignList(file);
  if (foreign !== undefined) {
    throw new Error(
      `"${NAME}" in ${foreign} is not of a standalone; rename or remove it, or choose another file`,
    );
  }
  const previous = previousContext(file);
  if (!isMap(document.contents)) document.contents = new YAMLMap();
  if (!document.has("apiVersion")) document.set("apiVersion", "v1");
  if (!document.has("kind")) document.set("kind", "Config");
  const { server, caCertificate, token } = content;
  putEntry(document, "clusters", {
    cluster: { server, "certificate-authority-data": btoa(caCertificate) },
  });
  putEntry(document, "users", { user: { token } });
  const extensions = [{ name: PREVIOUS, extension: { context: previous } }];
  putEntry(document, "contexts", {
    context: {
      cluster: NAME,
      user: NAME,
      namespace: "default",
      ...(previous === undefined ? {} : { extensions }),
    },
  });
  document.set("current-context", NAME);
  return textOf(document);
}

/**
 * Returns the kubeconfig without the entries of this standalone, and with the context that was current
 * before it if its own still is; undefined if the entries are not there, or another run has replaced them.
 * Throws an Error if the file is no kubeconfig.
 */
export function withoutStandalone(text: string, content: KubeconfigContent): string | undefined {
  const { document, file } = parse(text);
  const isOwn = standaloneIn(text)?.server === content.server &&
    userSchema.safeParse(entryOf(file, "users")).data?.user.token === content.token;
  if (!isOwn || foreignList(file) !== undefined) return undefined;
  if (file["current-context"] === NAME) {
    const previous = previousContext(file);
    const exists = file.contexts?.some(({ name }) => name === previous);
    document.set("current-context", exists ? previous : "");
  }
  for (const list of LISTS) putEntry(document, list);
  return textOf(document);
}
