// The documents that a person's assistants search: their own, and those that operators have added for everybody.

import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { remove } from "../api/http";
import { refresh } from "../api/refresh";
import type { Item } from "../api/route";
import { ConfirmButton } from "../parts/confirm";
import { pollOfReading, Uploads, useDocuments } from "../parts/documents";
import { DOCUMENT_ENDINGS, megabytes, sortFiles } from "../parts/files";
import { Empty, ErrorNotice, Skeleton } from "../parts/notice";
import { Time } from "../parts/time";
import { unique, useMore } from "../parts/use_more";
import { visible } from "../parts/visible";
import { Windowed } from "../parts/windowed";
import { useUser } from "../session/session";
import { say } from "../texts";

const CARD_PX = 104; // of most cards

type Document = Item<"/v1/knowledge">;

export function Documents() {
  const { userId, config } = useUser();
  const { uploads, add, clear } = useDocuments();
  const [refused, setRefused] = useState<string[]>([]);
  const list = useMore("documents", "/v1/knowledge", { user_id: userId, limit: 50 }, true, pollOfReading);
  const documents = unique(list.items, (one) => one.id);
  const take = (files: Iterable<File>) => {
    const sorted = sortFiles(files, config);
    setRefused([...sorted.refused, ...sorted.photos.map(({ name }) => say("file.unknown", { name: visible(name) }))]);
    void add(sorted.documents);
  };
  return (
    <section
      className="flex flex-col gap-3"
      aria-label={say("memory.documents")}
      onDragOver={(event) => event.preventDefault()}
      onDrop={(event) => {
        event.preventDefault();
        take(event.dataTransfer.files);
      }}
    >
      <div className="card border-dashed!">
        <p className="mb-2 text-small text-quiet">
          {say("file.documents", { size: megabytes(config.knowledge_bytes) })} {say("file.documentsUse")}
        </p>
        <label className="button small cursor-pointer focus-within:outline-2">
          {say("file.choose")}
          <input
            type="file"
            multiple
            className="sr-only"
            accept={DOCUMENT_ENDINGS.join()}
            onChange={(event) => {
              take([...(event.target.files ?? [])]);
              event.target.value = "";
            }}
          />
        </label>
      </div>
      {refused.length > 0 && (
        <ul role="alert" className="text-small text-bad">
          {refused.map((one, index) => (
            <li key={index}>{one}</li>
          ))}
        </ul>
      )}
      <Uploads uploads={uploads} onClear={clear} />
      <ErrorNotice error={list.error} onRetry={() => void list.refetch()} />
      {list.isPending && <Skeleton lines={4} className="h-12" />}
      {list.isSuccess && !documents.length && <Empty>{say("file.none")}</Empty>}
      <Windowed
        groups={[{ key: "all", rows: documents }]}
        keyOf={(one) => one.id}
        rowPx={CARD_PX}
        hasMore={list.hasNextPage}
      >
        {(one) => <Card document={one} />}
      </Windowed>
      <div ref={list.mark} className="h-8" />
    </section>
  );
}

function Card({ document }: { document: Document }) {
  const { userId } = useUser();
  const queries = useQueryClient();
  return (
    <div className="card mb-2">
      <p className="font-semibold break-words">{visible(document.name)}</p>
      <p className="flex flex-wrap gap-x-3 text-small text-quiet">
        <Time at={document.updated_at} />
        {document.is_everybodys && <span>{say("file.everybodys")}</span>}
        {document.pages !== null && <span>{say("file.pages", { n: document.pages })}</span>}
        {document.error ? (
          <span className="text-bad">{visible(document.error)}</span>
        ) : (
          <span>{say(`file.state.${document.status}`)}</span>
        )}
      </p>
      {!document.is_everybodys && (
        <ConfirmButton
          label={say("file.remove")}
          title={say("file.removeAsk", { name: visible(document.name) })}
          what={say("file.removeWhat")}
          className="quiet-button"
          onConfirm={() =>
            remove(`/v1/knowledge/${document.id}`, { user_id: userId }).then(() => refresh(queries, ["documents"]))
          }
        />
      )}
    </div>
  );
}
