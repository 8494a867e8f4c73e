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

Deno.test("the scripts of the first view are at most 60 KB, all at most 120 KB, compressed", () => {
  const bytesOf = (part: RegExp) =>
    PAGE_ASSET_LIST.filter(({ path }) => part.test(path))
      .reduce((sum, { body }) => sum + gzipSync(body, { level: 9 }).length, 0);
  const [first, all] = [bytesOf(/^\/assets\/milepost\..*\.js$/), bytesOf(/\.js$/)];
  assert.ok(first > 10_000 && first <= FIRST_BYTES, `${first} bytes`);
  assert.ok(all > first && all <= ALL_BYTES, `${all} bytes`);
});

Deno.test("the document has no script, style or handler of its own, and loads the assets alone", () => {
  const html = PAGE_ASSET_LIST.find(({ path }) => path === "/")?.body ?? "";
  assert.doesNotMatch(html, /<script(?![^>]*\bsrc=)|<style|\bstyle=|\son[a-z]+=/i);
  const loaded = [...html.matchAll(/(?:src|href|data-worker)="(\/[^"]*)"/g)].map(([, path]) =>
    path
  );
  assert.deepEqual(
    loaded.sort(),
    PAGE_ASSET_LIST.map(({ path }) => path).filter((path) => path !== "/").sort(),
  );
});
