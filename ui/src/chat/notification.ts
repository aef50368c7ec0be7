// Tells of an answer that came while the page was hidden: by its title, and by the system if that is wanted.

import { showTitle } from "../parts/title";
import { keep, kept } from "../session/kept";
import { session } from "../session/session";
import { say } from "../texts";

const STORED = "notify";
let shown: Notification | null = null;

export function isNotifying(userId: string): boolean {
  return kept(userId, STORED) === "yes" && "Notification" in window && Notification.permission === "granted";
}

/** Turn notices of the system on or off; false when the browser does not permit them. */
export async function setNotifying(userId: string, isWanted: boolean): Promise<boolean> {
  const isGranted = isWanted && "Notification" in window && (await Notification.requestPermission()) === "granted";
  keep(userId, STORED, isGranted ? "yes" : "");
  return isGranted;
}

export function notifyOfAnswer(userId: string, answer: string) {
  const said = document.getElementById("announcement");
  if (said) said.textContent = `${say("chat.finished")}. ${answer.slice(0, 1000)}`;
  if (!document.hidden) return;
  document.title = `● ${say("chat.finished")}`;
  if (!isNotifying(userId)) return;
  try {
    shown = new Notification(say("chat.finished"), { body: answer.slice(0, 120), tag: "maas" });
  } catch {
    // Some browsers have it for service workers only; the title says it.
  }
}

document.addEventListener("visibilitychange", () => {
  if (!document.hidden) showTitle();
});
session.subscribe(() => {
  if (session.userId !== null) return;
  showTitle();
  shown?.close(); // it shows what was answered
  shown = null;
});
