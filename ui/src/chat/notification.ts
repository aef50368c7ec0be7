// Tells of an answer that came while the page was hidden: by its title, and by the system if that is wanted.

import { say } from "../texts";

const STORED = "maas.notify";
const TITLE = document.title;

export function isNotifying(): boolean {
  return localStorage.getItem(STORED) === "yes" && "Notification" in window && Notification.permission === "granted";
}

/** Turn notices of the system on or off; false when the browser does not permit them. */
export async function setNotifying(isWanted: boolean): Promise<boolean> {
  if (!isWanted) {
    localStorage.removeItem(STORED);
    return false;
  }
  const isGranted = "Notification" in window && (await Notification.requestPermission()) === "granted";
  if (isGranted) localStorage.setItem(STORED, "yes");
  return isGranted;
}

export function notifyOfAnswer(answer: string) {
  const said = document.getElementById("announcement");
  if (said) said.textContent = `${say("chat.finished")}. ${answer.slice(0, 1000)}`;
  if (!document.hidden) return;
  document.title = `● ${say("chat.finished")}`;
  if (isNotifying()) new Notification(say("chat.finished"), { body: answer.slice(0, 120), tag: "maas" });
}

document.addEventListener("visibilitychange", () => {
  if (!document.hidden) document.title = TITLE;
});
