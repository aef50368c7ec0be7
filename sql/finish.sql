-- Runs last whenever `maas migrate` has applied a file: the optional table of vectors, and the rights on what is new.
do $$
begin
  perform maas.maas_prepare_embeddings();
  perform maas.maas_grant_rights();
end $$;
