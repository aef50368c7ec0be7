// Text of others on the screen: nothing in it may turn the text around or steer a terminal it is copied to.

/** Control characters and the marks that change the direction of text, shown as their code points. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what it looks for
const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g;

export function visible(text: string): string {
  return text
    .replace(/\r\n?/g, "\n")
    .replace(HIDDEN, (letter) => `⟨${letter.charCodeAt(0).toString(16).padStart(2, "0")}⟩`);
}
