/** Words for a shell. Pure. */

/** Returns a text in single quotes. */
export const shellQuoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

/** Returns a word of a command; plain ones stay as they are. */
export const shellWord = (word: string): string =>
  /^[\w@%+=:,./-]+$/.test(word) ? word : shellQuoted(word);
