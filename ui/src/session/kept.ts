// What this browser keeps for the person who is signed in: drafts, unsent messages, unfinished imports. Each entry has the
// person's id in its name, and all of them go when the person signs out, the session ends, or somebody else signs in.

const PREFIX = "maas.of.";
let owner: string | null = null; // nothing is written for anybody else: what comes late from a page that is gone is dropped

/** Begin to keep for a person, or for nobody; what was kept for others is removed. */
export function keepFor(userId: string | null) {
  owner = userId;
  for (const name of Object.keys(localStorage)) {
    if (name.startsWith(PREFIX) && (userId === null || !name.startsWith(nameOf(userId, ""))))
      localStorage.removeItem(name);
  }
}

/** What is kept of a person; null when there is nothing. */
export function kept(userId: string, name: string): string | null {
  return userId === owner ? localStorage.getItem(nameOf(userId, name)) : null;
}

/** A list that is kept; empty when there is none, or when it cannot be read. */
export function keptList<T>(userId: string, name: string): T[] {
  try {
    const list: unknown = JSON.parse(kept(userId, name) ?? "[]");
    return Array.isArray(list) ? list : [];
  } catch {
    return [];
  }
}

/** Keep a text under a name; an empty one is removed. */
export function keep(userId: string, name: string, text: string) {
  if (userId !== owner) return;
  if (text) localStorage.setItem(nameOf(userId, name), text);
  else localStorage.removeItem(nameOf(userId, name));
}

function nameOf(userId: string, name: string): string {
  return `${PREFIX}${userId}.${name}`;
}
