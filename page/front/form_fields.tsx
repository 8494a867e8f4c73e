/** Fields of forms: one of several, and namespaces. */

/** A choice of one of several. */
export function Choice({ label, value, options, onChange, look = "choice" }: {
  label: string;
  value: string | number;
  options: readonly (readonly [
    value: string | number,
    text: string | number,
    isOffered?: boolean,
  ])[];
  onChange: (value: string) => void;
  /** How it looks: beside its label, or below. */
  look?: "choice" | "field";
}) {
  return (
    <label class={look}>
      <span>{label}</span>
      <select value={value} onChange={({ currentTarget }) => onChange(currentTarget.value)}>
        {options.map(([value, text, isOffered = true]) => (
          <option key={value} value={value} disabled={!isOffered}>{text}</option>
        ))}
      </select>
    </label>
  );
}

/** Names of namespaces, which count when the field is left or Enter is pressed. */
export function NamespaceField({ namespaces, known = [], onChange }: {
  namespaces: readonly string[];
  /** Names to choose from. */
  known?: readonly string[];
  onChange: (namespaces: string[]) => void;
}) {
  const text = namespaces.join(", ");
  return (
    <label class="field">
      <span>Namespaces</span>
      <input
        key={text}
        list="namespaces"
        placeholder="all"
        defaultValue={text}
        onChange={({ currentTarget: { value } }) =>
          onChange(value.split(/[\s,]+/).filter((it) => it !== ""))}
      />
      <datalist id="namespaces">
        {known.map((name) => <option key={name} value={name} />)}
      </datalist>
    </label>
  );
}
