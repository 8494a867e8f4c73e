/**
 * Builder of the page's assets: `page/front/` in a script, that of its worker and a style sheet, named by what is in
 * them, and the document that loads them, in one module that the program carries. The module is
 * committed, so that nothing is bundled when the program is built or starts; a test holds it current.
 */
import { createHash } from "node:crypto";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../", import.meta.url));
const FRONT = `${ROOT}page/front/`;
/** Path of the module. */
export const PAGE_ASSETS = `${ROOT}page/assets/page_assets.ts`;

/** Bundles a script. Throws with the bundler's message if it fails. */
async function script(entry: string): Promise<string> {
  const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["bundle", "--quiet", "--frozen", "--platform=browser", "--minify", entry],
    cwd: FRONT,
    env: { NO_COLOR: "1" },
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).output();
  const text = new TextDecoder();
  if (!success) throw new Error(`deno bundle failed: ${text.decode(stderr).trim()}`);
  return text.decode(stdout);
}

/** The style sheet without comments and indentation. */
const smaller = (css: string) =>
  css.replaceAll(/\/\*[^]*?\*\//g, "").replaceAll(/\s*\n\s*/g, "\n").trim();

const named = (text: string, type: "js" | "css", name = "milepost") =>
  `${name}.${createHash("sha256").update(text).digest("hex").slice(0, 12)}.${type}`;

/** Returns the text of the module. */
export async function pageAssets(): Promise<string> {
  const js = await script("main.tsx");
  const worker = await script("stream_worker.ts");
  const css = smaller(await Deno.readTextFile(`${FRONT}style.css`));
  const [scriptName, styleName] = [named(js, "js"), named(css, "css")];
  const workerName = named(worker, "js", "milepost-worker");
  const html = (await Deno.readTextFile(`${FRONT}index.html`))
    .replace("SCRIPT", scriptName).replace("STYLE", styleName).replace("WORKER", workerName);
  const assets = [
    { path: "/", contentType: "text/html; charset=utf-8", body: html },
    {
      path: `/assets/${scriptName}`,
      contentType: "text/javascript; charset=utf-8",
      body: js,
    },
    {
      path: `/assets/${workerName}`,
      contentType: "text/javascript; charset=utf-8",
      body: worker,
    },
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
