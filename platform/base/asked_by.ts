/** Words that say who asked for a change. Pure. */

/** Returns the message of one for which nobody gave one. */
export const askedBy = (user: string): string => `asked for by ${user}`;

/** Whether a text says who asked, as that message does at its end. */
export const namesAsker = (text: string, user: string): boolean =>
  user !== "" && text.endsWith(user);

/** Returns the text with who asked, if somebody did and it does not say so. */
export const withAsker = (text: string, user = ""): string =>
  user === "" || namesAsker(text, user) ? text : `${text} (${askedBy(user)})`;
