/** Reading Markdown: files, headings, links and fenced blocks. */

/** The repository. */
export const ROOT = new URL("../../", import.meta.url);

/** A file of the repository: its path from the root and its text. */
export interface TextFile {
  readonly path: string;
  readonly text: string;
}

/** A fenced block of code. */
export interface Block {
  /** Of its first line of content, from 1. */
  readonly line: number;
  /** What follows the fence, such as `sh` or `sh not-run: needs a cluster`. */
  readonly info: string;
  readonly text: string;
}

const SKIPPED = new Set([".git", "node_modules", "dist"]);

/** All files below a folder whose names end so. */
export async function* filesEndingIn(
  endings: readonly string[],
  folder = "",
): AsyncGenerator<TextFile> {
  for await (const entry of Deno.readDir(new URL(folder, ROOT))) {
    const path = `${folder}${entry.name}`;
    if (entry.isDirectory && !SKIPPED.has(entry.name)) yield* filesEndingIn(endings, `${path}/`);
    if (entry.isFile && endings.some((ending) => entry.name.endsWith(ending))) {
      yield { path, text: await Deno.readTextFile(new URL(path, ROOT)) };
    }
  }
}

const FENCE = /^([ \t]*)(`{3,})(.*)\n([\s\S]*?)\n\1\2[ \t]*$/gm;

/** The fenced blocks of a page, in order, without the indentation of their fences. */
export function blocksOf(page: string): Block[] {
  return [...page.matchAll(FENCE)].map((match) => {
    const [, indent = "", , info = "", text = ""] = match;
    const line = page.slice(0, match.index).split("\n").length + 1;
    const lines = text.split("\n").map((each) =>
      each.startsWith(indent) ? each.slice(indent.length) : each
    );
    return { line, info: info.trim(), text: lines.join("\n") };
  });
}

/** The page without code, fenced or inline: what is left is prose, headings and links. */
export function proseOf(page: string): string {
  return page.replaceAll(FENCE, "").replaceAll(/`[^`\n]+`/g, "");
}

/** The targets of all links and pictures, as they are written. */
export function linksOf(page: string): string[] {
  const inline = [...proseOf(page).matchAll(/\]\(([^)\s]+)\)/g)];
  const html = [...page.matchAll(/\b(?:src|srcset|href)="([^"]+)"/g)];
  return [...inline, ...html].map((match) => match[1] ?? "");
}

/** The anchors of a page's headings, as GitHub makes them. */
export function anchorsOf(page: string): Set<string> {
  const anchors = new Set<string>();
  for (const [, title = ""] of page.replaceAll(FENCE, "").matchAll(/^#{1,6} (.+)$/gm)) {
    const text = title.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1").toLowerCase();
    const slug = text.replaceAll(/[^\p{L}\p{N}\s_-]/gu, "").trim().replaceAll(/\s/g, "-");
    let anchor = slug;
    for (let count = 1; anchors.has(anchor); count += 1) anchor = `${slug}-${count}`;
    anchors.add(anchor);
  }
  return anchors;
}
