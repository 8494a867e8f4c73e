/** Menus and dialogs: they close on Escape, on a press elsewhere and when another view is shown. */
import type { ComponentChildren, RefObject } from "preact";
import { useEffect, useRef } from "preact/hooks";

/** Calls `close`, the first one that it was given, when somebody wants to leave what is `inside`. */
export function useClosing(inside: RefObject<HTMLElement | null>, close: () => void): void {
  useEffect(() => {
    const gone = new AbortController();
    const { signal } = gone;
    const isOutside = ({ target }: Event) =>
      target instanceof Node && !inside.current?.contains(target);
    // Not where a text was selected from inside on.
    let isPressed = false;
    document.addEventListener("keydown", ({ key }) => key === "Escape" && close(), { signal });
    document.addEventListener("pointerdown", (event) => isPressed = isOutside(event), { signal });
    document.addEventListener("click", (event) => isPressed && isOutside(event) && close(), {
      signal,
    });
    // Links and steps back; what is chosen inside changes the address without them.
    for (const type of ["popstate", "hashchange"]) addEventListener(type, close, { signal });
    return () => gone.abort();
  }, []);
}

/** A menu below its button, which has the focus again when it closes. */
export function Menu(
  { label, children }: { label: ComponentChildren; children: ComponentChildren },
) {
  const box = useRef<HTMLDetailsElement>(null);
  useClosing(box, () => {
    const menu = box.current;
    if (menu === null || !menu.open) return;
    if (menu.contains(document.activeElement)) menu.querySelector("summary")?.focus();
    menu.open = false;
  });
  return (
    <details class="menu" ref={box}>
      <summary>{label}</summary>
      <div>{children}</div>
    </details>
  );
}
