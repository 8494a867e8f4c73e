/** Writer of YAML for an object of Kubernetes. Pure. */

/** Texts that YAML would read as something else, or that need quotes for what they begin or end with. */
const PLAIN = /^[A-Za-z0-9_./<][-A-Za-z0-9_./<>=+@, ()]*$/;
const OTHER_TYPE = /^(true|false|null|yes|no|on|off|y|n|~|[-+.]?[\d._].*|)$/i;

function scalar(value: unknown): string {
  if (typeof value !== "string") return JSON.stringify(value) ?? "null";
  const isPlain = PLAIN.test(value) && !OTHER_TYPE.test(value) && !value.endsWith(" ");
  return isPlain ? value : JSON.stringify(value);
}

function isBlock(value: unknown): value is object {
  return typeof value === "object" && value !== null && Object.keys(value).length > 0;
}

function lines(value: unknown, indent: string): string[] {
  if (!isBlock(value)) return [`${indent}${scalar(value)}`];
  if (Array.isArray(value)) {
    return value.flatMap((item) => {
      const [first = "", ...others] = lines(item, `${indent}  `);
      return [`${indent}- ${first.trimStart()}`, ...others];
    });
  }
  return Object.entries(value).flatMap(([name, item]) => {
    if (!isBlock(item)) return [`${indent}${scalar(name)}: ${scalar(item)}`];
    return [
      `${indent}${scalar(name)}:`,
      ...lines(item, Array.isArray(item) ? indent : `${indent}  `),
    ];
  });
}

/** Returns the YAML of a JSON value. */
export const yamlText = (value: unknown): string => `${lines(value, "").join("\n")}\n`;
