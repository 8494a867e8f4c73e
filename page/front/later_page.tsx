/** Page whose script is loaded after the list, or when it is first opened. */
import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { LaterProps } from "./later_pages.tsx";
import { Notice } from "./marks_and_signs.tsx";

/** The component, once it is loaded. */
let loaded: ComponentType<LaterProps> | undefined;

/** Loads it, at the latest when it is needed. */
export async function loadLater(): Promise<void> {
  loaded = (await import("./later_pages.tsx")).LaterPages;
}

/** Pages beside the list. */
export function LaterPage(props: LaterProps) {
  const [state, setState] = useState<"loading" | "loaded" | "failed">(
    loaded === undefined ? "loading" : "loaded",
  );
  useEffect(() => {
    if (state !== "loading") return;
    loadLater().then(() => setState("loaded"), () => setState("failed"));
  }, [state]);
  const Page = loaded;
  if (state === "failed") {
    return (
      <Notice kind="warning" title="This part of the page could not be loaded">
        <p>The server does not answer, or was updated.</p>
        <p>
          <button type="button" onClick={() => location.reload()}>Reload</button>
        </p>
      </Notice>
    );
  }
  return Page === undefined ? <Notice title="Loading…" /> : <Page {...props} />;
}
