/**
 * Generator of docs/reference/ and of the pictures: `deno task docs` writes them, `deno task docs --check`
 * fails if one is not current. Tables come from the code; the text around them is in generate/.
 */
import { commandsPage } from "./generate/commands.ts";
import { eventsPage } from "./generate/events.ts";
import { metricsPage } from "./generate/metrics.ts";
import { namesPage } from "./generate/names.ts";
import { settingsPage } from "./generate/settings.ts";
import { openApiDocument } from "../katib/api/observation_openapi.ts";
import { parseCast } from "./pictures/asciicast.ts";
import { diagramSvg } from "./pictures/diagram.ts";
import { OVERVIEW } from "./pictures/overview.ts";
import { ROOMS } from "./pictures/rooms.ts";
import { terminalSvg } from "./pictures/terminal_svg.ts";
import { JOB_KINDS } from "../crds/job_kinds.ts";

const ROOT = new URL("../", import.meta.url);

/** The recording of the demo, as `docs/pictures/record_demo.ts` made it. */
const RECORDING = Deno.readTextFileSync(new URL("docs/pictures/demo.cast", ROOT));

/** Every generated file: its path from the root, and its text. */
export function generatedPages(): ReadonlyMap<string, string> {
  return new Map([
    ["docs/reference/commands.md", commandsPage()],
    ["docs/reference/events.md", eventsPage()],
    ["docs/reference/metrics.md", metricsPage()],
    ["docs/reference/names.md", namesPage()],
    ["docs/reference/settings.md", settingsPage()],
    ["docs/pictures/overview-light.svg", diagramSvg(OVERVIEW, "light")],
    ["docs/pictures/overview-dark.svg", diagramSvg(OVERVIEW, "dark")],
    ["docs/pictures/rooms-light.svg", diagramSvg(ROOMS, "light")],
    ["docs/pictures/rooms-dark.svg", diagramSvg(ROOMS, "dark")],
    ["docs/pictures/demo.svg", terminalSvg(parseCast(RECORDING), "A run of milepost demo")],
    [
      "docs/reference/observation.openapi.json",
      `${JSON.stringify(openApiDocument(JOB_KINDS), null, 2)}\n`,
    ],
  ]);
}

/** The paths of generated files whose text on disk differs. */
export async function stalePages(): Promise<string[]> {
  const stale: string[] = [];
  for (const [path, text] of generatedPages()) {
    const there = await Deno.readTextFile(new URL(path, ROOT)).catch(() => undefined);
    if (there !== text) stale.push(path);
  }
  return stale;
}

if (import.meta.main) {
  const isCheck = Deno.args.includes("--check");
  const stale = await stalePages();
  const pages = generatedPages();
  for (const path of isCheck ? [] : stale) {
    await Deno.writeTextFile(new URL(path, ROOT), pages.get(path) ?? "");
  }
  const lines = stale.map((path) => `${isCheck ? "not current" : "written"}: ${path}\n`);
  await Deno.stdout.write(new TextEncoder().encode(lines.join("") || "all current\n"));
  if (isCheck && stale.length > 0) Deno.exit(1);
}
