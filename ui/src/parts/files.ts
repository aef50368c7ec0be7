// Which files the page takes: pictures that go with a message, and documents that assistants search. The server checks again.

import type { Config } from "../session/session";
import { formatNumber, say } from "../texts";
import { visible } from "./visible";

export const PHOTO_TYPES = ["image/jpeg", "image/png", "image/webp"];
export const DOCUMENT_ENDINGS = [".txt", ".text", ".md", ".markdown", ".html", ".htm", ".xhtml", ".docx", ".pdf"];
const MIB = 1024 * 1024;
const SHOWN_NAME = 60;

interface Sorted {
  photos: File[];
  documents: File[];
  refused: string[]; // a sentence for each file that is not taken
}

/** Files by what becomes of them; of those that are too large or of another kind it is said why. */
export function sortFiles(files: Iterable<File>, limits: Config): Sorted {
  const sorted: Sorted = { photos: [], documents: [], refused: [] };
  for (const file of files) {
    const isPhoto = PHOTO_TYPES.includes(file.type);
    const isDocument = DOCUMENT_ENDINGS.some((ending) => file.name.toLowerCase().endsWith(ending));
    const most = isPhoto ? limits.attachment_bytes : limits.knowledge_bytes;
    const name = visible(file.name).slice(0, SHOWN_NAME);
    if (!isPhoto && !isDocument) sorted.refused.push(say("file.unknown", { name }));
    else if (!file.size) sorted.refused.push(say("file.empty", { name }));
    else if (file.size > most) sorted.refused.push(say("file.tooLarge", { name, size: megabytes(most) }));
    else (isPhoto ? sorted.photos : sorted.documents).push(file);
  }
  return sorted;
}

export function megabytes(bytes: number): string {
  return say("file.megabytes", { n: formatNumber(bytes / MIB) });
}
