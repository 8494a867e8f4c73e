/** Page whose script is loaded when it is first looked at. */
import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Notice } from "./marks_and_signs.tsx";
import type { SearchesView, SearchView } from "./search_view.ts";

/** The component, once it is loaded. */
let loaded: ComponentType<{ view: SearchesView | SearchView }> | undefined;

/** Pages of searches. */
export function LaterPage({ view }: { view: SearchesView | SearchView }) {
  const [state, setState] = useState<"loading" | "loaded" | "failed">(
    loaded === undefined ? "loading" : "loaded",
  );
  useEffect(() => {
    if (state !== "loading") return;
    import("./search_pages.tsx").then((it) => {
      loaded = it.SearchPages;
      setState("loaded");
    }, () => setState("failed"));
  }, [state]);
  const Page = loaded;
  if (state === "failed") {
    return (
      <Notice kind="warning" title="This part of the page could not be loaded">
        <p>The server does not answer, or it is another version by now.</p>
        <p>
          <button type="button" onClick={() => location.reload()}>Load the page anew</button>
        </p>
      </Notice>
    );
  }
  return Page === undefined ? <Notice title="Loading…" /> : <Page view={view} />;
}
