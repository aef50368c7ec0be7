"""The routes of /auth/v1: sign-in with email and password."""

from __future__ import annotations

from maas.http import sign_in
from maas.http.route import Route
from maas.http.sign_in import sessions

SIGN_IN_ROUTES = (
    Route("POST", "/auth/v1/signup", sessions.post_sign_up, "open", sign_in.SignUp, sign_in.AuthSession,
          errors=(400, 403, 404, 413, 415, 422, 429, 503), error_schema=sign_in.AuthError),
    Route("POST", "/auth/v1/token", sessions.post_token, "open", sign_in.TokenRequest, sign_in.AuthSession,
          errors=(400, 403, 404, 413, 415, 429, 503), error_schema=sign_in.AuthError, required=("grant_type",),
          query={"grant_type": ({"type": "string", "enum": [*sessions.GRANT_TYPES]}, "What the body holds.")}),
    Route("POST", "/auth/v1/verify", sessions.post_verify, "open", sign_in.Verification, sign_in.AuthSession,
          errors=(400, 403, 404, 413, 415, 429, 503), error_schema=sign_in.AuthError),
    Route("GET", "/auth/v1/user", sessions.get_account, "open", response=sign_in.AccountUser,
          errors=(401, 403, 404, 429, 503), error_schema=sign_in.AuthError),
    Route("PUT", "/auth/v1/user", sessions.put_account, "open", sign_in.UserChange, sign_in.AccountUser,
          errors=(400, 401, 403, 404, 413, 415, 422, 429, 503), error_schema=sign_in.AuthError),
    Route("POST", "/auth/v1/logout", sessions.post_logout, "open", status=204, errors=(400, 401, 403, 404, 429, 503),
          error_schema=sign_in.AuthError, query={
              "scope": ({"type": "string", "enum": [*sessions.SIGN_OUT_SCOPES], "default": "global"},
                        "Which sessions end."),
          }),
    Route("GET", "/auth/v1/settings", sessions.get_auth_settings, "open", response=sign_in.AuthSettings,
          errors=(404, 429), error_schema=sign_in.AuthError),
    Route("GET", "/auth/v1/health", sessions.get_auth_health, "open", response=sign_in.AuthHealth, errors=(404, 429),
          error_schema=sign_in.AuthError),
)  # fmt: skip
