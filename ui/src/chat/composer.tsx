// The text area: it grows, keeps drafts, takes photos and documents, and hands a message over once.

import { Paperclip, SendHorizontal, Square, X } from "lucide-react";
import { useEffect, useId, useLayoutEffect, useRef, useState } from "react";

import { Uploads, useDocuments } from "../parts/documents";
import { DOCUMENT_ENDINGS, megabytes, PHOTO_TYPES, sortFiles } from "../parts/files";
import { keep, kept } from "../session/kept";
import { useUser } from "../session/session";
import { say } from "../texts";

const MAX_PHOTOS = 10;
export const MAX_BYTES = 64 * 1024; // of a query

interface Props {
  draft: string; // its name; each conversation has one
  isAnswering: boolean;
  onSend: (text: string, photos: File[]) => Promise<boolean>; // whether it was taken; what was not, comes back
  onStop: () => void;
}

export function Composer({ draft, isAnswering, onSend, onStop }: Props) {
  const { userId, config } = useUser();
  const documents = useDocuments();
  const limitsId = useId();
  const name = `draft.${draft}`;
  const [text, setText] = useState(() => kept(userId, name) ?? "");
  const [photos, setPhotos] = useState<File[]>([]);
  const [refused, setRefused] = useState<string[]>([]);
  const [isOver, setOver] = useState(false); // files are held over it
  const area = useRef<HTMLTextAreaElement>(null);
  const picker = useRef<HTMLInputElement>(null);

  useEffect(() => setText(kept(userId, name) ?? ""), [userId, name]);
  useEffect(() => keep(userId, name, text), [userId, name, text]);
  useLayoutEffect(() => {
    const element = area.current;
    if (!element) return;
    element.style.height = "auto";
    element.style.height = `${Math.min(element.scrollHeight + 2, window.innerHeight * 0.4)}px`;
  }, [text]);

  const submit = () => {
    if (!isSendable(text)) return;
    void onSend(text, photos).then((isTaken) => {
      if (isTaken) return;
      setText((typed) => typed || text);
      setPhotos((chosen) => (chosen.length ? chosen : photos));
    });
    keep(userId, name, ""); // now: sending may lead to another page, and this one is gone before its effects
    setText("");
    setPhotos([]);
    setRefused([]);
    area.current?.focus();
  };

  const add = (files: Iterable<File>) => {
    const sorted = sortFiles(files, config);
    const all = [...photos, ...sorted.photos];
    setRefused(all.length > MAX_PHOTOS ? [...sorted.refused, say("file.tooMany", { n: MAX_PHOTOS })] : sorted.refused);
    setPhotos(all.slice(0, MAX_PHOTOS));
    if (sorted.documents.length) void documents.add(sorted.documents);
  };

  return (
    <form
      className="border-t border-line bg-page px-4 py-3"
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={(event) => event.currentTarget.contains(event.relatedTarget as Node | null) || setOver(false)}
      onDrop={(event) => {
        event.preventDefault();
        setOver(false);
        add(event.dataTransfer.files);
      }}
    >
      <div className="mx-auto flex max-w-[72ch] flex-col gap-2">
        <p id={limitsId} className={isOver ? "card border-dashed! text-small" : "sr-only"}>
          {say("file.photos", { n: MAX_PHOTOS, size: megabytes(config.attachment_bytes) })}{" "}
          {say("file.documents", { size: megabytes(config.knowledge_bytes) })} {say("file.documentsUse")}
        </p>
        {refused.length > 0 && (
          <ul role="alert" className="text-small text-bad">
            {refused.map((one, index) => (
              <li key={index}>{one}</li>
            ))}
          </ul>
        )}
        <Uploads uploads={documents.uploads} onClear={documents.clear} />
        {photos.length > 0 && (
          <ul className="flex flex-wrap gap-2">
            {photos.map((photo, index) => (
              <li key={index} className="flex items-center gap-2 rounded border border-line px-2 text-small">
                {photo.name.slice(0, 40)}
                <button
                  type="button"
                  className="quiet-button"
                  aria-label={`${say("chat.removePhoto")}: ${photo.name}`}
                  onClick={() => setPhotos(photos.filter((_, one) => one !== index))}
                >
                  <X />
                </button>
              </li>
            ))}
          </ul>
        )}
        <div className="flex items-end gap-2">
          <input
            ref={picker}
            type="file"
            accept={[...PHOTO_TYPES, ...DOCUMENT_ENDINGS].join()}
            multiple
            hidden
            onChange={(event) => {
              add([...(event.target.files ?? [])]);
              event.target.value = "";
            }}
          />
          <button
            type="button"
            className="button px-3!"
            aria-label={say("chat.attach")}
            aria-describedby={limitsId}
            title={say("chat.attach")}
            onClick={() => picker.current?.click()}
          >
            <Paperclip />
          </button>
          <textarea
            ref={area}
            rows={1}
            value={text}
            aria-label={say("chat.message")}
            placeholder={say("chat.placeholder")}
            title={say("chat.keys")}
            className="min-w-0 flex-1 resize-none"
            maxLength={MAX_BYTES}
            autoFocus
            onChange={(event) => setText(event.target.value)}
            onPaste={(event) => {
              const files = [...event.clipboardData.files];
              if (files.length) add(files);
            }}
            onKeyDown={(event) => {
              if (
                event.key === "Enter" &&
                !event.nativeEvent.isComposing &&
                (!event.shiftKey || event.ctrlKey || event.metaKey)
              ) {
                event.preventDefault();
                submit();
              } else if (event.key === "Escape" && isAnswering) {
                onStop();
              }
            }}
          />
          {isAnswering && !text ? (
            <button type="button" className="button" onClick={onStop}>
              <Square /> <span className="max-sm:sr-only">{say("chat.stop")}</span>
            </button>
          ) : (
            <button type="submit" className="button primary" disabled={!isSendable(text)}>
              <SendHorizontal /> <span className="max-sm:sr-only">{say("chat.send")}</span>
            </button>
          )}
        </div>
      </div>
    </form>
  );
}

export function isSendable(text: string): boolean {
  return Boolean(text.trim()) && new Blob([text]).size <= MAX_BYTES;
}
