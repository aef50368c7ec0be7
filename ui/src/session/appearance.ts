// Light, dark, or as the system has it; and whether to notify of answers.

const STORED = "maas.scheme";
export type Scheme = "auto" | "light" | "dark";

export function chosenScheme(): Scheme {
  const stored = localStorage.getItem(STORED);
  return stored === "light" || stored === "dark" ? stored : "auto";
}

export function chooseScheme(scheme: Scheme) {
  if (scheme === "auto") localStorage.removeItem(STORED);
  else localStorage.setItem(STORED, scheme);
  applyScheme();
}

export function applyScheme() {
  const scheme = chosenScheme();
  if (scheme === "auto") delete document.documentElement.dataset.scheme;
  else document.documentElement.dataset.scheme = scheme;
}
