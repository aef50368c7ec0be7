import { say } from "../texts";

/** Today, Yesterday, This week (from Monday), Older: by the calendar of the browser's zone. */
export function groupByDay<T>(items: T[], timeOf: (item: T) => string, now = new Date()): [string, T[]][] {
  const today = startOfDay(now);
  const yesterday = new Date(today.getFullYear(), today.getMonth(), today.getDate() - 1);
  const monday = new Date(today.getFullYear(), today.getMonth(), today.getDate() - ((today.getDay() + 6) % 7));
  const groups: [string, T[]][] = [
    [say("nav.today"), []],
    [say("nav.yesterday"), []],
    [say("nav.week"), []],
    [say("nav.older"), []],
  ];
  for (const item of items) {
    const at = new Date(timeOf(item));
    const group = at >= today ? 0 : at >= yesterday ? 1 : at >= monday ? 2 : 3;
    groups[group]![1].push(item);
  }
  return groups.filter(([, members]) => members.length);
}

function startOfDay(at: Date): Date {
  return new Date(at.getFullYear(), at.getMonth(), at.getDate());
}
