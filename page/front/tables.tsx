/** Tables: regions that scroll, headers that sort, and rows between which the arrow keys move. */
import type { ComponentChildren } from "preact";

/** A table with its headers; `above` is what is said of all rows. */
export function Table({ label, kind, headers, above, onKeyDown, children }: {
  label: string;
  /** How its rows look. */
  kind?: "jobs" | "trials";
  headers: ComponentChildren;
  above?: ComponentChildren;
  onKeyDown?: (event: KeyboardEvent) => void;
  children: ComponentChildren;
}) {
  return (
    <div class="scroll" role="region" aria-label={label} tabIndex={0}>
      {above}
      <table class={kind}>
        <thead>
          <tr>{headers}</tr>
        </thead>
        <tbody onKeyDown={onKeyDown}>{children}</tbody>
      </table>
    </div>
  );
}

/** Returns headers that only name their columns. */
export const namedHeaders = (names: readonly string[]) =>
  names.map((name) => <th key={name} scope="col">{name}</th>);

/** The name of a column of which nothing is to be seen. */
export const UnseenHeader = ({ text }: { text: string }) => (
  <th scope="col">
    <span class="hidden">{text}</span>
  </th>
);

/** The order of the rows by a column; undefined: they are ordered by another. */
export type RowOrder = "ascending" | "descending" | undefined;

/** The order as a sign. */
export const OrderSign = ({ order }: { order: RowOrder }) => (
  <span class="arrow" aria-hidden="true">
    {order === undefined ? "" : order === "ascending" ? "▲" : "▼"}
  </span>
);

/** A header that orders the rows. */
export function SortHeader({ order, onSort, children }: {
  order: RowOrder;
  onSort: () => void;
  children: ComponentChildren;
}) {
  return (
    <th scope="col" aria-sort={order}>
      <button type="button" onClick={onSort}>
        {children}
        <OrderSign order={order} />
      </button>
    </th>
  );
}

/** Moves the focus to the same part of the next row. */
export function moveFocus(event: KeyboardEvent) {
  if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
  if (!(event.target instanceof HTMLElement)) return;
  const row = event.target.closest("tr");
  const next = event.key === "ArrowDown" ? row?.nextElementSibling : row?.previousElementSibling;
  next?.querySelector<HTMLElement>(event.target.tagName.toLowerCase())?.focus();
  event.preventDefault();
}
