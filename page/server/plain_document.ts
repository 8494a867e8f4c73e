/** Plain document in place of the page, for builds without its files. */
import { createHash } from "node:crypto";
import { type Assets, DOCUMENT } from "./assets.ts";

const BODY = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Milepost</title>
<h1>Milepost</h1>
<p>This build has no page. What a page would read is served here.</p>
</html>
`;

const hash = createHash("sha256").update(BODY).digest("hex").slice(0, 16);

/** The document alone. */
export const PLAIN_DOCUMENT: Assets = new Map([
  [DOCUMENT, { type: "text/html; charset=utf-8", body: BODY, hash }],
]);
