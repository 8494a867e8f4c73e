/** Turns of what is drawn: one in two frames, so that what takes its time leaves room for who uses the page. */

const turns: (() => void)[] = [];

/** Draws in the next turn. */
export function inTurn(draw: () => void): void {
  turns.push(draw);
  if (turns.length === 1) plan();
}

function plan(): void {
  requestAnimationFrame(() => requestAnimationFrame(next));
}

function next(): void {
  try {
    turns[0]?.();
  } finally {
    turns.shift();
    if (turns.length > 0) plan();
  }
}
