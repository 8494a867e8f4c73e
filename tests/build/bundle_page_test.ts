/** Tests of the page's assets: current, small, and free of what its policy forbids. */
import assert from "node:assert/strict";
import { gzipSync } from "node:zlib";
import { PAGE_ASSETS, pageAssets } from "../../build/bundle_page.ts";
import { PAGE_ASSET_LIST } from "../../page/assets/page_assets.ts";

Deno.test("the assets are what their sources give (`deno task page`)", async () => {
  assert.ok(await Deno.readTextFile(PAGE_ASSETS) === await pageAssets(), "run `deno task page`");
});

/** The scripts of the first view are all: there are no others. */
const MOST_SCRIPT_BYTES = 60 * 1024;

Deno.test("the scripts are at most 60 KB, compressed", () => {
  const scripts = PAGE_ASSET_LIST.filter(({ path }) => path.endsWith(".js"));
  const bytes = scripts.reduce((sum, { body }) => sum + gzipSync(body, { level: 9 }).length, 0);
  assert.ok(bytes > 10_000 && bytes <= MOST_SCRIPT_BYTES, `${bytes} bytes`);
});

Deno.test("the document has no script, style or handler of its own, and loads the assets alone", () => {
  const html = PAGE_ASSET_LIST.find(({ path }) => path === "/")?.body ?? "";
  assert.doesNotMatch(html, /<script(?![^>]*\bsrc=)|<style|\bstyle=|\son[a-z]+=/i);
  const loaded = [...html.matchAll(/(?:src|href)="(\/[^"]*)"/g)].map(([, path]) => path);
  assert.deepEqual(
    loaded.sort(),
    PAGE_ASSET_LIST.map(({ path }) => path).filter((path) => path !== "/").sort(),
  );
});
