/** Tests of the page's assets: current, small, and free of what its policy forbids. */
import assert from "node:assert/strict";
import { gzipSync } from "node:zlib";
import { PAGE_ASSETS, pageAssets } from "../../build/bundle_page.ts";
import { PAGE_ASSET_LIST } from "../../page/assets/page_assets.ts";

Deno.test("the assets are what their sources give (`deno task page`)", async () => {
  assert.ok(await Deno.readTextFile(PAGE_ASSETS) === await pageAssets(), "run `deno task page`");
});

/** Of the first view, and of all scripts. */
const [FIRST_BYTES, ALL_BYTES] = [60 * 1024, 120 * 1024];

const scripts = PAGE_ASSET_LIST.filter(({ path }) => path.endsWith(".js"));
const bytesOf = (some: typeof scripts) =>
  some.reduce((sum, { body }) => sum + gzipSync(body, { level: 9 }).length, 0);

/** The files that the document names; other scripts are loaded when they are needed. */
function named(): string[] {
  const html = PAGE_ASSET_LIST.find(({ path }) => path === "/")?.body ?? "";
  return [...html.matchAll(/(?:src|href|data-worker)="(\/[^"]*)"/g)].map(([, path = ""]) => path);
}

Deno.test("the scripts of the first view are at most 60 KB, all at most 120 KB, compressed", () => {
  const first = bytesOf(
    scripts.filter(({ path }) => named().includes(path) && !path.includes("worker")),
  );
  const all = bytesOf(scripts);
  assert.ok(first > 10_000 && first <= FIRST_BYTES, `${first} bytes`);
  assert.ok(all > first && all <= ALL_BYTES, `${all} bytes`);
});

Deno.test("the document names every file that its scripts import at once, and no script is missing", () => {
  const paths = PAGE_ASSET_LIST.map(({ path }) => path);
  const first = named();
  for (const { path, body } of scripts) {
    const imported = [...body.matchAll(/(?:from|import)\s*"\.\/([^"]+)"/g)];
    const later = [...body.matchAll(/import\("\.\/([^"]+)"\)/g)];
    for (const [, name = ""] of [...imported, ...later]) {
      assert.ok(paths.includes(`/assets/${name}`), name);
    }
    if (!first.includes(path)) continue;
    for (const [, name = ""] of imported) assert.ok(first.includes(`/assets/${name}`), name);
  }
});

Deno.test("the document has no script, style or handler of its own, and loads the assets alone", () => {
  const html = PAGE_ASSET_LIST.find(({ path }) => path === "/")?.body ?? "";
  assert.doesNotMatch(html, /<script(?![^>]*\bsrc=)|<style|\bstyle=|\son[a-z]+=/i);
  const known = PAGE_ASSET_LIST.map(({ path }) => path);
  assert.ok(named().length >= 3 && named().every((path) => known.includes(path)));
});
