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

/** Returns the script of that name. */
function scriptOf(name: string, all: readonly Script[]): Script {
  const found = all.find((it) => it.name === name);
  if (found === undefined) throw new Error(`deno bundle made no ${name}`);
  return found;
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

/** Returns the text of the module. */
export async function pageAssets(): Promise<string> {
  const all = await scripts("main.tsx");
  const entry = scriptOf("main.js", all);
  const { text: worker } = scriptOf("stream_worker.js", await scripts("stream_worker.ts"));
  const css = smaller(await Deno.readTextFile(`${FRONT}style.css`));
  const [scriptName, styleName] = [named(entry.text, "js"), named(css, "css")];
  const workerName = named(worker, "js", "milepost-worker");
  const html = (await Deno.readTextFile(`${FRONT}index.html`))
    .replace("SCRIPT", scriptName).replace("STYLE", styleName).replace("WORKER", workerName)
    .replace("<!-- PRELOADS -->", preloads(entry));
  const script = (name: string, body: string) => ({
    path: `/assets/${name}`,
    contentType: "text/javascript; charset=utf-8",
    body,
  });
  const assets = [
    { path: "/", contentType: "text/html; charset=utf-8", body: html },
    ...all.map(({ name, text }) => script(name === entry.name ? scriptName : name, text)),
    script(workerName, worker),
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
