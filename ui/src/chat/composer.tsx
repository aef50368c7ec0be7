// The text area: it grows, keeps drafts, takes photos, and hands a message over once.

import { useEffect, useLayoutEffect, useRef, useState } from "react";

import { keep, kept } from "../session/kept";
import { useUser } from "../session/session";
import { say } from "../texts";

const MAX_PHOTOS = 10;
const MAX_BYTES = 64 * 1024; // of a query
const TYPES = ["image/jpeg", "image/png", "image/webp"];
const MAX_PHOTO_BYTES = 20 * 1024 * 1024;

interface Props {
  draft: string; // its name; each conversation has one
  isAnswering: boolean;
  onSend: (text: string, photos: File[]) => void;
  onStop: () => void;
}

export function Composer({ draft, isAnswering, onSend, onStop }: Props) {
  const { userId } = useUser();
  const name = `draft.${draft}`;
  const [text, setText] = useState(() => kept(userId, name) ?? "");
  const [photos, setPhotos] = useState<File[]>([]);
  const [error, setError] = useState("");
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

  const isSendable = Boolean(text.trim()) && new Blob([text]).size <= MAX_BYTES;

  const submit = () => {
    if (!isSendable) return;
    onSend(text, photos);
    setText("");
    setPhotos([]);
    setError("");
    area.current?.focus();
  };

  const add = (files: Iterable<File>) => {
    const chosen = [...files];
    const fitting = chosen.filter((file) => TYPES.includes(file.type) && file.size <= MAX_PHOTO_BYTES);
    setError(fitting.length < chosen.length ? say("chat.tooLarge") : "");
    setPhotos((before) => [...before, ...fitting].slice(0, MAX_PHOTOS));
  };

  return (
    <form
      className="border-t border-line bg-page px-4 py-3"
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
      onDragOver={(event) => event.preventDefault()}
      onDrop={(event) => {
        event.preventDefault();
        add(event.dataTransfer.files);
      }}
    >
      <div className="mx-auto flex max-w-[72ch] flex-col gap-2">
        {error && (
          <p role="alert" className="text-small text-bad">
            {error}
          </p>
        )}
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
                  ✕
                </button>
              </li>
            ))}
          </ul>
        )}
        <div className="flex items-end gap-2">
          <input
            ref={picker}
            type="file"
            accept={TYPES.join()}
            multiple
            hidden
            onChange={(event) => {
              add(event.target.files ?? []);
              event.target.value = "";
            }}
          />
          <button
            type="button"
            className="button px-3!"
            aria-label={say("chat.photo")}
            title={say("chat.photo")}
            onClick={() => picker.current?.click()}
          >
            <svg
              width="18"
              height="18"
              viewBox="0 0 18 18"
              aria-hidden="true"
              fill="none"
              stroke="currentColor"
              strokeWidth="1.5"
            >
              <rect x="1.5" y="3.5" width="15" height="11" rx="2" />
              <circle cx="6" cy="7.5" r="1.4" />
              <path d="m2 13 4-3 3 2 3-3 4 4" />
            </svg>
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
              {say("chat.stop")}
            </button>
          ) : (
            <button type="submit" className="button primary" disabled={!isSendable}>
              {say("chat.send")}
            </button>
          )}
        </div>
      </div>
    </form>
  );
}
