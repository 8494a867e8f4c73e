/** Natural order of texts: what is a number in them by its value, such as `pod-9` before `pod-10`. Pure. */

/** Compares two texts, as a sort does. */
export const naturalOrder = new Intl.Collator("en", { numeric: true }).compare;
