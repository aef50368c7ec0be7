"""The routes of apps: OAuth 2.1 for clients of /mcp, its metadata, and what people have connected."""

from __future__ import annotations

from maas.http import oauth, protected_resource
from maas.http.oauth import consent, tokens
from maas.http.parameters import USER
from maas.http.route import Route

OAUTH_ROUTES = (
    Route("GET", protected_resource.PATH, protected_resource.get_protected_resource, "open",
          response=protected_resource.ProtectedResource, errors=(404,)),
    Route("GET", protected_resource.ROOT_PATH, protected_resource.get_root_resource, "open",
          response=protected_resource.ProtectedResource, errors=(404,)),
    Route("GET", protected_resource.SERVER_PATH, protected_resource.get_authorization_server, "open",
          response=protected_resource.AuthorizationServer, errors=(404,)),
    Route("POST", "/oauth/register", tokens.post_client, "open", oauth.NewClient, oauth.RegisteredClient, 201,
          errors=(400, 404, 413, 415, 429, 503), error_schema=oauth.OAuthError),
    Route("POST", "/oauth/token", tokens.post_app_token, "open", oauth.TokenForm, oauth.TokenResponse,
          errors=(400, 401, 404, 413, 415, 429, 503), request_types=(protected_resource.FORM,),
          error_schema=oauth.OAuthError),
    Route("POST", "/oauth/revoke", tokens.post_app_revocation, "open", oauth.RevocationForm,
          errors=(400, 404, 413, 415, 429, 503), request_types=(protected_resource.FORM,),
          error_schema=oauth.OAuthError),
    Route("POST", "/v1/apps/preview", consent.post_app_preview, "read", consent.AppRequest, consent.AskingApp,
          errors=(400, 404, 413, 415, 422)),
    Route("POST", "/v1/apps", consent.post_app, "ask", consent.AppRequest, consent.ConnectingApp, 201,
          errors=(400, 404, 413, 415, 422)),
    Route("GET", "/v1/apps", consent.get_apps, "read", response=consent.AppList, errors=(400,), required=("user_id",),
          query=USER),
    Route("DELETE", "/v1/apps/{id}", consent.delete_app, "ask", status=204, errors=(404,)),
)  # fmt: skip
