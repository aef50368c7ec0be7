-- Stored responses of OpenAI's Responses API.

create or replace function maas.maas_store_response(
  p_user uuid, p_run uuid, p_previous uuid, p_request jsonb, p_input jsonb, p_response jsonb)
returns boolean language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  insert into maas.responses (run_id, user_id, previous_run_id, request, input, response)
  select r.id, p_user, p_previous, p_request, p_input, p_response
  from maas.pipeline_runs r where r.id = p_run and r.user_id = p_user for key share
  on conflict (run_id) do update set response = excluded.response;
  return found;
end
$$;
comment on function maas.maas_store_response is
  'Stores a response of a run, or what has come of one that is stored; false if the run is not the user''s, or erased';

create or replace function maas.maas_delete_response(p_user uuid, p_run uuid)
returns boolean language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  delete from maas.responses where run_id = p_run and user_id = p_user;
  return found;
end
$$;
comment on function maas.maas_delete_response is
  'Deletes a stored response; what was said stays in memory until it is forgotten';
