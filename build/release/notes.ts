/** Notes of a release: the section of its version in the changelog. Pure. */

/** Heading of what no release has yet. */
const UNRELEASED = "Unreleased";

/** Returns the text under a version's heading; with `orUnreleased` that of what comes next. Throws if there is none. */
export function notesOf(
  changelog: string,
  version: string,
  { orUnreleased }: { readonly orUnreleased: boolean },
): string {
  const sections = new Map(
    changelog.split(/^## /m).slice(1).map((section) => {
      const [heading = "", ...lines] = section.split("\n");
      return [heading.replace(/ .*$/, "").trim(), lines.join("\n").trim()];
    }),
  );
  const found = sections.get(version) ??
    (orUnreleased ? sections.get(UNRELEASED) : undefined);
  if (!found) {
    throw new Error(
      `CHANGELOG.md has no section "## ${version}": give the section "## ${UNRELEASED}" that name`,
    );
  }
  return `${found}\n`;
}
