// The times that people choose for a schedule, as cron expressions and back; other expressions stand as they are.

import { formatWeekday, say } from "../texts";

export const RHYTHMS = ["day", "workdays", "week", "month", "cron"] as const;
export type Rhythm = (typeof RHYTHMS)[number];

/** `time` is HH:MM; `day` one of the week, 0 is Sunday, or of the month, from 1. */
export function cronOf(rhythm: Exclude<Rhythm, "cron">, time: string, day: number): string {
  const [hour, minute] = time.split(":").map(Number);
  const days = { day: "* * *", workdays: "* * 1-5", week: `* * ${day}`, month: `${day} * *` };
  return `${minute} ${hour} ${days[rhythm]}`;
}

/** "on weekdays at 08:30"; an expression that is none of ours stays as it is. */
export function cronInWords(cron: string): string {
  const [, minute, hour, date, weekday] = /^(\d\d?) (\d\d?) (\*|\d\d?) \* (\*|1-5|[0-6])$/.exec(cron) ?? [];
  if (minute === undefined || hour === undefined || date === undefined || weekday === undefined) return cron;
  const time = `${hour.padStart(2, "0")}:${minute.padStart(2, "0")}`;
  if (date !== "*") return weekday === "*" ? say("schedule.onMonth", { day: date, time }) : cron;
  if (weekday === "*") return say("schedule.onDay", { time });
  if (weekday === "1-5") return say("schedule.onWorkdays", { time });
  return say("schedule.onWeek", { day: formatWeekday(Number(weekday)), time });
}
