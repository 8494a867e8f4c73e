/**
 * Builder of the page's assets: `page/front/` as scripts, that of its worker and a style sheet, named by what is in
 * them, and the document that loads them, in one module that the program carries. What is imported only when it is
 * needed is a script of its own. The module is committed, so that nothing is bundled when the program is built or
 * starts; a test holds it current.
 */
import { createHash } from "node:crypto";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../", import.meta.url));
const FRONT = `${ROOT}page/front/`;
/** Path of the module. */
export const PAGE_ASSETS = `${ROOT}page/assets/page_assets.ts`;

/** A script by its name. */
interface Script {
  readonly name: string;
  readonly text: string;
}

/** Bundles an entry, in one script if it imports nothing later. Throws with the bundler's message if it fails. */
async function scripts(entry: string): Promise<readonly Script[]> {
  const folder = await Deno.makeTempDir();
  try {
    const shape = ["--platform=browser", "--minify", "--code-splitting", `--outdir=${folder}`];
    const { success, stderr } = await new Deno.Command(Deno.execPath(), {
      args: ["bundle", "--quiet", "--frozen", ...shape, entry],
      cwd: FRONT,
      env: { NO_COLOR: "1" },
      stdin: "null",
      stdout: "piped",
      stderr: "piped",
    }).output();
    if (!success) throw new Error(`deno bundle failed: ${new TextDecoder().decode(stderr).trim()}`);
    const names = (await Array.fromAsync(Deno.readDir(folder))).map(({ name }) => name).sort();
    return await Promise.all(names.map(async (name) => ({
      name,
      text: await Deno.readTextFile(`${folder}/${name}`),
    })));
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** Returns links to the scripts that one imports at once, so that they are not loaded after it. */
function preloads({ text }: Script): string {
  return [...text.matchAll(/(?:from|import)\s*"\.\/([^"]+)"/g)]
    .map(([, name]) => `<link rel="modulepreload" href="/assets/${name}" />`).join("\n    ");
}

/** The style sheet without comments and indentation. */
const smaller = (css: string) =>
  css.replaceAll(/\/\*[^]*?\*\//g, "").replaceAll(/\s*\n\s*/g, "\n").trim();

const named = (text: string, type: "js" | "css", name = "milepost") =>
  `${name}.${createHash("sha256").update(text).digest("hex").slice(0, 12)}.${type}`;

/**
 * Returns the scripts under names of what is in them, each after those that it imports: the bundler's names also
 * hang on where the sources lie. Throws if they import each other.
 */
function renamed(all: readonly Script[]): readonly (Script & { readonly was: string })[] {
  const done = new Map<string, Script & { readonly was: string }>();
  const isReady = ({ name, text }: Script) =>
    all.every((it) => it.name === name || done.has(it.name) || !text.includes(`./${it.name}`));
  while (done.size < all.length) {
    const next = all.find((it) => !done.has(it.name) && isReady(it));
    if (next === undefined) throw new Error("scripts of the page import each other");
    const text = [...done.values()].reduce(
      (body, { was, name }) => body.replaceAll(`./${was}`, `./${name}`),
      next.text,
    );
    const base = next.name === "main.js" ? "milepost" : next.name.replace(/(-[^-]*)?\.js$/, "");
    done.set(next.name, { was: next.name, name: named(text, "js", base), text });
  }
  return [...done.values()];
}

/** Returns the text of the module. */
export async function pageAssets(): Promise<string> {
  const all = renamed(await scripts("main.tsx"));
  const entry = all.find(({ was }) => was === "main.js");
  const worker = (await scripts("stream_worker.ts")).find(({ name }) =>
    name === "stream_worker.js"
  );
  if (entry === undefined || worker === undefined) {
    throw new Error("deno bundle made no such script");
  }
  const css = smaller(await Deno.readTextFile(`${FRONT}style.css`));
  const styleName = named(css, "css");
  const workerName = named(worker.text, "js", "milepost-worker");
  const html = (await Deno.readTextFile(`${FRONT}index.html`))
    .replace("SCRIPT", entry.name).replace("STYLE", styleName).replace("WORKER", workerName)
    .replace("<!-- PRELOADS -->", preloads(entry));
  const script = (name: string, body: string) => ({
    path: `/assets/${name}`,
    contentType: "text/javascript; charset=utf-8",
    body,
  });
  const assets = [
    { path: "/", contentType: "text/html; charset=utf-8", body: html },
    ...all.map(({ name, text }) => script(name, text)),
    script(workerName, worker.text),
    { path: `/assets/${styleName}`, contentType: "text/css; charset=utf-8", body: css },
  ];
  return `/** Assets of the page, made by build/bundle_page.ts of page/front/. Do not edit. */

/** A file of the page. */
export interface PageAsset {
  readonly path: string;
  readonly contentType: string;
  readonly body: string;
}

/** The document at \`/\`, and the files that it loads, which never change under their names. */
export const PAGE_ASSET_LIST: readonly PageAsset[] = [
${assets.map((it) => `  ${JSON.stringify(it)},\n`).join("")}];
`;
}

if (import.meta.main) {
  const text = await pageAssets();
  await Deno.mkdir(new URL(".", `file://${PAGE_ASSETS}`), { recursive: true });
  await Deno.writeTextFile(PAGE_ASSETS, text);
}
