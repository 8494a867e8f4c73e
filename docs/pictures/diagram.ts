/** Diagrams of boxes and arrows as SVG, for light and for dark pages. */

/** A box with a title and lines below it. */
export interface Box {
  readonly at: readonly [x: number, y: number];
  readonly size: readonly [width: number, height: number];
  readonly title: string;
  readonly lines?: readonly string[];
  /** `ours`: a part of Milepost; `object`: an object of the API; `outside`: somebody else's. */
  readonly kind: "ours" | "object" | "outside";
}

/** An arrow along points, with a label. */
export interface Arrow {
  readonly points: readonly (readonly [x: number, y: number])[];
  readonly label?: string;
  /** Middle of the label's line. */
  readonly labelAt?: readonly [x: number, y: number];
  readonly isDashed?: boolean;
}

/** A frame around boxes. */
export interface Frame {
  readonly at: readonly [x: number, y: number];
  readonly size: readonly [width: number, height: number];
  readonly label: string;
}

/** A whole picture. */
export interface Diagram {
  readonly title: string;
  readonly size: readonly [width: number, height: number];
  readonly frames: readonly Frame[];
  readonly boxes: readonly Box[];
  readonly arrows: readonly Arrow[];
}

/** Colours of a page. */
interface Theme {
  readonly text: string;
  readonly faint: string;
  readonly line: string;
  readonly frame: string;
  readonly fill: Readonly<Record<Box["kind"], string>>;
  readonly edge: Readonly<Record<Box["kind"], string>>;
}

const THEMES = {
  light: {
    text: "#1f2328",
    faint: "#59636e",
    line: "#59636e",
    frame: "#0969da",
    fill: { ours: "#ddf4ff", object: "#fff8c5", outside: "#f6f8fa" },
    edge: { ours: "#0969da", object: "#9a6700", outside: "#818b98" },
  },
  dark: {
    text: "#f0f6fc",
    faint: "#9198a1",
    line: "#9198a1",
    frame: "#4493f8",
    fill: { ours: "#0d2d52", object: "#3a2d08", outside: "#21262d" },
    edge: { ours: "#4493f8", object: "#d29922", outside: "#656c76" },
  },
} as const satisfies Record<string, Theme>;

/** Name of a theme. */
export type ThemeName = keyof typeof THEMES;

const escape = (text: string) =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

const LINE_HEIGHT = 18;

function boxOf({ at: [x, y], size: [width, height], title, lines = [], kind }: Box, theme: Theme) {
  const middle = x + width / 2;
  const top = y + height / 2 - (lines.length * LINE_HEIGHT) / 2 + 5;
  const below = lines.map((line, index) =>
    `<text class="small" x="${middle}" y="${top + (index + 1) * LINE_HEIGHT}">${
      escape(line)
    }</text>`
  ).join("");
  return `<rect x="${x}" y="${y}" width="${width}" height="${height}" rx="8" fill="${
    theme.fill[kind]
  }" stroke="${theme.edge[kind]}" stroke-width="1.5"/>` +
    `<text class="title" x="${middle}" y="${top}">${escape(title)}</text>${below}`;
}

function arrowOf({ points, label, labelAt, isDashed = false }: Arrow, theme: Theme) {
  const path = points.map(([x, y], index) => `${index === 0 ? "M" : "L"}${x} ${y}`).join("");
  const dashes = isDashed ? ' stroke-dasharray="5 4"' : "";
  const text = label === undefined || labelAt === undefined
    ? ""
    : `<text class="label" x="${labelAt[0]}" y="${labelAt[1]}">${escape(label)}</text>`;
  return `<path d="${path}" fill="none" stroke="${theme.line}" stroke-width="1.5" ` +
    `marker-end="url(#head)"${dashes}/>${text}`;
}

function frameOf({ at: [x, y], size: [width, height], label }: Frame, theme: Theme) {
  return `<rect x="${x}" y="${y}" width="${width}" height="${height}" rx="12" fill="none" stroke="${theme.frame}" ` +
    `stroke-dasharray="3 4"/>` +
    `<text class="frame" x="${x + 14}" y="${y + 20}">${escape(label)}</text>`;
}

/** The picture in one theme, on a transparent ground. */
export function diagramSvg(diagram: Diagram, name: ThemeName): string {
  const theme: Theme = THEMES[name];
  const [width, height] = diagram.size;
  const style = `text{font-family:system-ui,-apple-system,"Segoe UI",Helvetica,Arial,sans-serif;` +
    `text-anchor:middle;fill:${theme.text}}` +
    `.title{font-size:16px;font-weight:600}.small{font-size:13px;fill:${theme.faint}}` +
    `.label{font-size:13px;fill:${theme.text}}` +
    `.frame{font-size:13px;font-weight:600;text-anchor:start;fill:${theme.frame}}`;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img">`,
    `<title>${escape(diagram.title)}</title>`,
    `<style>${style}</style>`,
    `<defs><marker id="head" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="8" markerHeight="8" orient="auto-start-reverse">` +
    `<path d="M0 0L10 5L0 10z" fill="${theme.line}"/></marker></defs>`,
    ...diagram.frames.map((it) => frameOf(it, theme)),
    ...diagram.arrows.map((it) => arrowOf(it, theme)),
    ...diagram.boxes.map((it) => boxOf(it, theme)),
    "</svg>\n",
  ].join("\n");
}
