/** Moments as texts of the local time. */

const two = (value: number) => String(value).padStart(2, "0");

/** Returns the day, such as `2026-01-31`. */
export const dayText = (time: Date): string =>
  `${time.getFullYear()}-${two(time.getMonth() + 1)}-${two(time.getDate())}`;

/** Returns the time of day, such as `09:05:07`. */
export const timeText = (time: Date): string =>
  [time.getHours(), time.getMinutes(), time.getSeconds()].map(two).join(":");

/** Returns the time of day, and before it the day if it is not that of `nowMs`; `none` if there is no such moment. */
export function clockText(timeMs: number, nowMs: number, none = "–"): string {
  const time = new Date(timeMs);
  if (Number.isNaN(time.getTime())) return none;
  const isToday = time.toDateString() === new Date(nowMs).toDateString();
  return isToday ? timeText(time) : `${dayText(time)} ${timeText(time)}`;
}
