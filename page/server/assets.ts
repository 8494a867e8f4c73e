/** Assets of the page: the files that a browser loads, and how they are served. */
import { createHash } from "node:crypto";
import type { HttpResponse } from "../../platform/http/message.ts";
import type { PageAsset } from "../assets/page_assets.ts";

/** Files by their path; the document's is `/`. */
export type Assets = ReadonlyMap<string, {
  /** Its `Content-Type`. */
  readonly type: string;
  readonly body: string;
  /** Of its body; the names of all files but the document's have it in them. */
  readonly hash: string;
}>;

/** Path of the document. */
const DOCUMENT = "/";

/** Returns the files of a list by their path. */
export function assetsOf(list: readonly PageAsset[]): Assets {
  return new Map(list.map(({ path, contentType: type, body }) => {
    const hash = createHash("sha256").update(body).digest("hex").slice(0, 16);
    return [path, { type, body, hash }];
  }));
}

/** The document is asked for each time; a file whose name has its hash never changes. */
const cacheControl = (path: string) =>
  path === DOCUMENT ? "no-cache" : "public, max-age=31536000, immutable";

/** Returns the file of that path, unless the browser has it; undefined if there is none. */
export function assetResponse(
  assets: Assets,
  path: string,
  known: string | undefined,
): HttpResponse | undefined {
  const asset = assets.get(path);
  if (asset === undefined) return undefined;
  const { type, body, hash } = asset;
  const tag = `"${hash}"`;
  const headers = { "Content-Type": type, "Cache-Control": cacheControl(path), "ETag": tag };
  return known === tag ? { status: 304, headers, body: "" } : { status: 200, headers, body };
}
