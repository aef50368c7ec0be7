-- Knowledge: documents in pieces that are found by their words. Rows without a user are everybody's.

create table maas.knowledge_documents (
  id uuid primary key default gen_random_uuid(),
  user_id uuid,
  name varchar(500) not null,
  media_type varchar(100) not null,
  sha256 text not null,
  bytes bigint not null,
  pages int,
  chunks int not null default 0,
  summary text not null default '',
  track_id varchar(64) not null,
  status varchar(10) not null check (status in ('pending', 'processing', 'processed', 'failed')),
  error text,
  embedded_by text,
  embedding_until timestamptz,
  tsv tsvector not null generated always as (maas.maas_lexemes(name || ' ' || summary)) stored,
  created_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp()
);
comment on table maas.knowledge_documents is
  'Documents that have been read, and those that could not be: one of a name for each user, and one for everybody';
comment on column maas.knowledge_documents.user_id is 'Who may read it; null: everybody';
comment on column maas.knowledge_documents.name is 'Its path, as references show it';
comment on column maas.knowledge_documents.sha256 is 'Of the file: the same one is not read again';
comment on column maas.knowledge_documents.summary is 'Title, headings and first sentences, made by rule';
comment on column maas.knowledge_documents.embedded_by is
  'The model that has embedded all of its chunks; null while chunks wait for vectors';
comment on column maas.knowledge_documents.embedding_until is 'Until then a process is embedding its chunks';
comment on column maas.knowledge_documents.track_id is 'The ingestion that read it last';
create unique index idx_knowledge_documents_name on maas.knowledge_documents (user_id, name) nulls not distinct;
create index idx_knowledge_documents_track_id on maas.knowledge_documents (track_id);

create table maas.knowledge_chunks (
  document_id uuid not null references maas.knowledge_documents on delete cascade,
  number int not null,
  user_id uuid,
  heading text not null,
  page int,
  position int not null,
  text text not null,
  tsv tsvector not null generated always as (maas.maas_lexemes(heading || ' ' || text)) stored,
  heading_tsv tsvector not null generated always as (maas.maas_lexemes(heading)) stored,
  primary key (document_id, number)
);
alter table maas.knowledge_chunks alter column tsv set storage main, alter column heading_tsv set storage main;
comment on table maas.knowledge_chunks is 'Documents in pieces of about two hundred words, numbered from 1';
comment on column maas.knowledge_chunks.user_id is 'That of the document';
comment on column maas.knowledge_chunks.heading is 'The headings above it, the outermost first';
comment on column maas.knowledge_chunks.tsv is 'Kept in the row itself: a search reads those of thousands of chunks';
comment on column maas.knowledge_chunks.position is 'Of its first character in the text of the document';

create table maas.knowledge_terms (
  user_id uuid,
  term text collate "C" not null,
  chunks int not null
);
comment on table maas.knowledge_terms is 'In how many chunks of a user, or of everybody, a lexeme occurs';
create unique index idx_knowledge_terms on maas.knowledge_terms (user_id, term) nulls not distinct;

do $$
begin
  if exists (select from pg_extension where extname = 'btree_gin') then
    create index idx_knowledge_chunks_own on maas.knowledge_chunks using gin (user_id, tsv) where user_id is not null;
  else
    create index idx_knowledge_chunks_own on maas.knowledge_chunks (user_id) where user_id is not null;
  end if;
end $$;
create index idx_knowledge_chunks_shared on maas.knowledge_chunks using gin (tsv) where user_id is null;
