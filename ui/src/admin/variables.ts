// What stands in braces in a prompt, to be filled in when the prompt is used.

export const VARIABLE = /\{([a-z_]{1,50})\}/g;

/** The names in a text that its role does not know. */
export function unknownOf(text: string, known: string[]): string[] {
  const used = new Set(Array.from(text.matchAll(VARIABLE), ([, name]) => name!));
  return [...used].filter((name) => !known.includes(name));
}
