/** A name as it can stand in a path: what was typed, with a dash for each slash. */
export function nameOfPath(typed: string): string {
  return typed.trim().replaceAll("/", "-");
}
