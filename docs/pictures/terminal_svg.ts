/** A recording of a terminal as an animated SVG, by CSS only. */
import { type Recording, type Screen, screensOf } from "./asciicast.ts";

const CELL = { width: 8.4, height: 20 } as const;
const MARGIN = { top: 44, side: 18, bottom: 18 } as const;
/** How long the last screen stays before the recording begins again, in seconds. */
const HOLD_SECONDS = 5;

const COLOURS = {
  background: "#0d1117",
  frame: "#30363d",
  text: "#c9d1d9",
  faint: "#484f58",
} as const;

/** Words with a colour of their own. */
const WORDS: readonly (readonly [RegExp, string])[] = [
  [/\bComplete\b/, "#3fb950"],
  [/\bRunning\b/, "#58a6ff"],
  [/\b(?:Failed|EarlyStopped)\b/, "#ff7b72"],
  [/\b(?:Suspended|Created)\b/, "#d29922"],
  [/^\$ .*/, "#f0f6fc"],
];
const BAR = "#58a6ff";

const escape = (text: string) =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
const round = (number: number) => String(Math.round(number * 100) / 100);

/** The versions of one line, each with the share of the time at which it appears. */
interface Row {
  readonly versions: readonly { readonly from: number; readonly text: string }[];
}

/** A line of a screen of that width. */
const clip = (line: string, width: number) =>
  line.length > width ? `${line.slice(0, width - 1)}…` : line;

function rowsOf(screens: readonly Screen[], seconds: number, width: number): Row[] {
  const count = Math.max(...screens.map((it) => it.lines.length));
  return Array.from({ length: count }, (_, index) => {
    const versions = [{ from: 0, text: "" }];
    for (const { at, lines } of screens) {
      const text = clip(lines[index]?.trimEnd() ?? "", width);
      if (text !== versions.at(-1)?.text) versions.push({ from: at / seconds, text });
    }
    return { versions };
  });
}

/** A run of characters as text, with the colours of its words. */
function textOf(text: string, x: number, y: number): string {
  const word = WORDS.map(([pattern, colour]) => ({ match: pattern.exec(text), colour }))
    .find(({ match }) => match !== null);
  const found = word?.match;
  const spans = found === null || found === undefined || word === undefined ? escape(text) : [
    escape(text.slice(0, found.index)),
    `<tspan fill="${word.colour}">${escape(found[0])}</tspan>`,
    escape(text.slice(found.index + found[0].length)),
  ].join("");
  return `<text x="${round(x)}" y="${round(y)}">${spans}</text>`;
}

/** One version of a line: text, and bars as rectangles so that they have no gaps. */
function lineOf(text: string, y: number): string {
  return [...text.matchAll(/█+|░+|[^█░]+/g)].map(({ 0: run, index }) => {
    const x = index * CELL.width;
    if (run.trim() === "") return "";
    if (!/[█░]/.test(run)) return textOf(run, x, y);
    const fill = run.startsWith("█") ? BAR : COLOURS.faint;
    const width = round(run.length * CELL.width);
    return `<rect x="${round(x)}" y="${
      round(y - 11)
    }" width="${width}" height="10" fill="${fill}"/>`;
  }).join("");
}

/** A line as a strip of its versions, which a stepwise animation moves through a window. */
function stripOf({ versions }: Row, index: number): { body: string; style: string } {
  const body = versions.map((it, at) => lineOf(it.text, at * CELL.height + 15)).join("");
  const top = MARGIN.top + index * CELL.height;
  const window = `<svg x="${MARGIN.side}" y="${top}" width="100%" height="${CELL.height}">`;
  if (versions.length === 1) return { body: "", style: "" };
  const steps = versions.map(({ from }, at) =>
    `${round(from * 100)}%{transform:translateY(${-at * CELL.height}px)}`
  ).join("");
  const last = (versions.length - 1) * -CELL.height;
  return {
    body: `${window}<g class="r r${index}">${body}</g></svg>`,
    style: `@keyframes r${index}{${steps}to{transform:translateY(${last}px)}}` +
      `.r${index}{animation-name:r${index};transform:translateY(${last}px)}`,
  };
}

/** The picture. Readers who prefer no motion see the last screen. */
export function terminalSvg(recording: Recording, title: string): string {
  const screens = screensOf(recording);
  const seconds = (screens.at(-1)?.at ?? 0) + HOLD_SECONDS;
  const strips = rowsOf(screens, seconds, recording.width).map(stripOf);
  const width = Math.ceil(recording.width * CELL.width + 2 * MARGIN.side);
  const height = MARGIN.top + recording.height * CELL.height + MARGIN.bottom;
  const dots = ["#ff5f56", "#ffbd2e", "#27c93f"].map((fill, index) =>
    `<circle cx="${22 + index * 20}" cy="22" r="6" fill="${fill}"/>`
  ).join("");
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img">
<title>${escape(title)}</title>
<style>text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;fill:${COLOURS.text};white-space:pre}
.r{animation:${round(seconds)}s step-end infinite}
${strips.map((it) => it.style).filter((it) => it !== "").join("\n")}
@media (prefers-reduced-motion:reduce){.r{animation:none}}</style>
<rect x=".5" y=".5" width="${width - 1}" height="${
    height - 1
  }" rx="10" fill="${COLOURS.background}" stroke="${COLOURS.frame}"/>
${dots}
${strips.map((it) => it.body).filter((it) => it !== "").join("\n")}
</svg>
`;
}
