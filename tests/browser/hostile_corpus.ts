/** Hostile texts: what runs as a script, or spoils a page, where text is taken for anything but text. */

/** A call that a page must not make; the test looks for its trace. */
const TRACE = "globalThis.hostile=1";

/** The texts. */
export const HOSTILE_TEXTS: readonly string[] = [
  `<script>${TRACE}</script>`,
  `<img src=x onerror="${TRACE}">`,
  `"><svg onload=${TRACE}>`,
  `' onfocus='${TRACE}' autofocus='`,
  `javascript:${TRACE}`,
  `</title></style></textarea><iframe srcdoc="<script>parent.${TRACE}</script>">`,
  `{{constructor.constructor("${TRACE}")()}}`,
  "${globalThis.hostile=1}",
  "__proto__",
  "constructor",
  "\u202egnp.exe\u202c",
  "\u0000\u001b[31mred\u001b[0m\u0007",
  "a".repeat(300),
  "%00%0a%2e%2e%2f",
  "]]>--><!--",
  "url(javascript:1);expression(1)",
];
