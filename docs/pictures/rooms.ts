/** Picture of the architecture: the rooms on their floors. */
import type { Box, Diagram } from "./diagram.ts";

const ROOM = { width: 160, gap: 14, left: 130 } as const;

/** Rooms side by side, as wide together as a full floor. */
function floor(y: number, height: number, rooms: readonly Pick<Box, "title" | "lines">[]): Box[] {
  const all = 5 * ROOM.width + 4 * ROOM.gap;
  const width = (all - (rooms.length - 1) * ROOM.gap) / rooms.length;
  return rooms.map((room, index) => ({
    ...room,
    at: [ROOM.left + index * (width + ROOM.gap), y],
    size: [width, height],
    kind: "ours",
  }));
}

/** The name of a floor, to its left. */
function nameOf(y: number, height: number, title: string, line: string): Box {
  return { at: [10, y], size: [106, height], title, lines: [line], kind: "outside" };
}

/** The picture. */
export const ROOMS: Diagram = {
  title: "The rooms of the code on four floors. Imports go down only.",
  size: [1000, 396],
  frames: [],
  boxes: [
    nameOf(10, 60, "4", "command line"),
    ...floor(10, 60, [{ title: "main.ts", lines: ["commands and flags"] }]),
    nameOf(104, 60, "3", "wiring"),
    ...floor(104, 60, [{
      title: "app/",
      lines: ["builds the parts of each command and hands them to each other"],
    }]),
    nameOf(198, 84, "2", "domain"),
    ...floor(198, 84, [
      { title: "controller/", lines: ["TrainJob to JobSet,", "JobSet to Jobs"] },
      { title: "webhook/", lines: ["identity of pods,", "validation"] },
      { title: "status/", lines: ["pushes, ownership,", "ledger, replicas"] },
      { title: "katib/", lines: ["observations,", "stopping trials"] },
      { title: "page/", lines: ["API, server and", "front of the page"] },
      { title: "terminal/", lines: ["screens and lines", "of jobs"] },
      { title: "standalone/", lines: ["API server, Jobs,", "kubelet"] },
    ]),
    nameOf(316, 66, "1", "foundation"),
    ...floor(316, 66, [
      { title: "views/", lines: ["rows and details"] },
      { title: "owner/", lines: ["state of one replica"] },
      { title: "trials/", lines: ["templates, rules"] },
      { title: "crds/", lines: ["schemas, names, kinds"] },
      { title: "platform/", lines: ["kit/, http/, kube/, base/"] },
    ]),
  ],
  arrows: [
    { points: [[558, 70], [558, 102]] },
    { points: [[558, 164], [558, 196]] },
    { points: [[558, 282], [558, 314]] },
  ],
};
