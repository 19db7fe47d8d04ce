import hashlib
import hmac
import os
import time
from html import escape
from typing import Annotated
from urllib.parse import urlencode

from authlib.integrations.starlette_client import OAuth, OAuthError
from fastapi import Depends, FastAPI, HTTPException, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import KeySet
from starlette.middleware.sessions import SessionMiddleware

ISSUER = os.environ.get("ISSUER", "http://localhost:4400/")
BASE_URL = "http://localhost:4706"

app = FastAPI()
app.add_middleware(SessionMiddleware, secret_key="a long random text, which signs the session cookie")
oauth = OAuth()
oauth.register(
    "gate",
    server_metadata_url=f"{ISSUER}.well-known/openid-configuration",
    client_id="example-fastapi",
    client_secret="example-fastapi-secret",
    client_kwargs={"scope": "openid profile email", "code_challenge_method": "S256"},
)


# A website that people sign in to.
@app.get("/", response_class=HTMLResponse)
async def home(request: Request):
    user = request.session.get("user")
    if not user:
        return '<a href="/login">Log in</a>'
    return f'Signed in as {escape(user["name"])}. <a href="/logout">Log out</a>'


@app.get("/login")
async def login(request: Request):
    return await oauth.gate.authorize_redirect(request, f"{BASE_URL}/callback")


@app.get("/callback")
async def callback(request: Request):
    try:
        token = await oauth.gate.authorize_access_token(request)
    except OAuthError as error:  # the person refused, say, or began in another browser
        return HTMLResponse(f'{escape(str(error))}. <a href="/">Back</a>', 400)
    user = await oauth.gate.userinfo(token=token)
    request.session["user"] = {"sub": user["sub"], "name": user["name"]}
    return RedirectResponse("/")


@app.get("/logout")
async def logout(request: Request):
    request.session.clear()
    return RedirectResponse(f"{ISSUER}v2/logout?" + urlencode({"client_id": "example-fastapi", "returnTo": BASE_URL}))


# An API that takes access tokens.
keys_read_at = -10.0


async def claims_of(token: str) -> dict:
    global keys_read_at
    try:
        return decode(token, await oauth.gate.fetch_jwk_set())
    except (JoseError, ValueError):
        # The gate may have changed its keys. Made-up tokens make us ask for them at most every ten seconds.
        if time.monotonic() < keys_read_at + 10:
            raise
        keys_read_at = time.monotonic()
        return decode(token, await oauth.gate.fetch_jwk_set(force=True))


def decode(token: str, keys: dict) -> dict:
    return jwt.decode(token, KeySet.import_key_set(keys), algorithms=["RS256"]).claims


rules = jwt.JWTClaimsRegistry(
    iss={"essential": True, "value": ISSUER},
    aud={"essential": True, "value": "https://api.example/"},
    exp={"essential": True},
)


async def caller(credentials: Annotated[HTTPAuthorizationCredentials, Depends(HTTPBearer())]) -> dict:
    try:
        claims = await claims_of(credentials.credentials)
        rules.validate(claims)
    except (JoseError, ValueError) as error:
        raise HTTPException(401, str(error), {"WWW-Authenticate": 'Bearer error="invalid_token"'}) from error
    if "read:things" not in claims.get("scope", "").split():
        raise HTTPException(403, "read:things is missing", {"WWW-Authenticate": 'Bearer error="insufficient_scope"'})
    return claims


@app.get("/api/things")
async def things(claims: Annotated[dict, Depends(caller)]):
    return {"things": ["gate", "post"], "caller": claims["sub"]}


# Webhooks. The signature is made over the bytes of the body, so check it before anything reads them as JSON.
@app.post("/webhook")
async def webhook(request: Request):
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > 25 * 1024 * 1024:  # no payload is larger, and anybody may send a body without end
            raise HTTPException(413)
    expected = "sha256=" + hmac.new(b"quick start secret", body, hashlib.sha256).hexdigest()
    if not hmac.compare_digest(expected.encode(), request.headers.get("x-hub-signature-256", "").encode()):
        raise HTTPException(401)
    print("webhook:", request.headers["x-github-event"], request.headers["x-github-delivery"], flush=True)
    return Response(status_code=204)  # at once: slower work belongs in a queue
