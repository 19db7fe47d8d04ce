package main

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"log"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
)

const baseURL = "http://localhost:4707"

func main() {
	issuer := os.Getenv("ISSUER")
	if issuer == "" {
		issuer = "http://localhost:4400/"
	}
	provider, err := oidc.NewProvider(context.Background(), issuer)
	if err != nil {
		log.Fatal(err)
	}
	site := &website{
		issuer:   issuer,
		provider: provider,
		config: oauth2.Config{
			ClientID:     "example-go",
			ClientSecret: "example-go-secret",
			Endpoint:     provider.Endpoint(),
			RedirectURL:  baseURL + "/callback",
			Scopes:       []string{oidc.ScopeOpenID, "profile", "email"},
		},
	}
	http.HandleFunc("GET /{$}", site.home)
	http.HandleFunc("GET /login", site.login)
	http.HandleFunc("GET /callback", site.callback)
	http.HandleFunc("GET /logout", site.logout)
	http.HandleFunc("GET /api/things", things(provider.Verifier(&oidc.Config{ClientID: "https://api.example/"})))
	http.HandleFunc("POST /webhook", webhook)
	log.Println(baseURL)
	log.Fatal(http.ListenAndServe(":4707", nil))
}

// A website that people sign in to. Its sessions are in memory: names by the value of a cookie.
type website struct {
	issuer   string
	provider *oidc.Provider
	config   oauth2.Config
	sessions sync.Map
}

func (site *website) home(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	name, signedIn := site.sessions.Load(cookie(r, "session"))
	if !signedIn {
		fmt.Fprint(w, `<a href="/login">Log in</a>`)
		return
	}
	fmt.Fprintf(w, `Signed in as %s. <a href="/logout">Log out</a>`, html.EscapeString(name.(string)))
}

func (site *website) login(w http.ResponseWriter, r *http.Request) {
	state, verifier := rand.Text(), oauth2.GenerateVerifier()
	setCookie(w, "login", state+"."+verifier)
	http.Redirect(w, r, site.config.AuthCodeURL(state, oauth2.S256ChallengeOption(verifier)), http.StatusFound)
}

func (site *website) callback(w http.ResponseWriter, r *http.Request) {
	state, verifier, _ := strings.Cut(cookie(r, "login"), ".")
	if state == "" || r.FormValue("state") != state {
		http.Error(w, "this sign-in did not begin here", http.StatusBadRequest)
		return
	}
	token, err := site.config.Exchange(r.Context(), r.FormValue("code"), oauth2.VerifierOption(verifier))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	var user struct{ Name string }
	info, err := site.provider.UserInfo(r.Context(), oauth2.StaticTokenSource(token))
	if err == nil {
		err = info.Claims(&user)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	session := rand.Text()
	site.sessions.Store(session, user.Name)
	setCookie(w, "session", session)
	http.Redirect(w, r, "/", http.StatusFound)
}

func (site *website) logout(w http.ResponseWriter, r *http.Request) {
	site.sessions.Delete(cookie(r, "session"))
	query := url.Values{"client_id": {site.config.ClientID}, "returnTo": {baseURL}}
	http.Redirect(w, r, site.issuer+"v2/logout?"+query.Encode(), http.StatusFound)
}

// An API that takes access tokens. The verifier checks signature, issuer, audience and time.
func things(verifier *oidc.IDTokenVerifier) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		bearer, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		token, err := verifier.Verify(r.Context(), bearer)
		if err != nil {
			w.Header().Set("WWW-Authenticate", `Bearer error="invalid_token"`)
			http.Error(w, err.Error(), http.StatusUnauthorized)
			return
		}
		var claims struct{ Scope string }
		if token.Claims(&claims) != nil || !slices.Contains(strings.Fields(claims.Scope), "read:things") {
			w.Header().Set("WWW-Authenticate", `Bearer error="insufficient_scope"`)
			http.Error(w, "read:things is missing", http.StatusForbidden)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		json.NewEncoder(w).Encode(map[string]any{"things": []string{"gate", "post"}, "caller": token.Subject})
	}
}

// Webhooks. The signature is made over the bytes of the body, so check it before anything reads them as JSON.
func webhook(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 25<<20))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	code := hmac.New(sha256.New, []byte("quick start secret"))
	code.Write(body)
	expected := "sha256=" + hex.EncodeToString(code.Sum(nil))
	if !hmac.Equal([]byte(expected), []byte(r.Header.Get("X-Hub-Signature-256"))) {
		http.Error(w, "wrong signature", http.StatusUnauthorized)
		return
	}
	log.Println("webhook:", r.Header.Get("X-GitHub-Event"), r.Header.Get("X-GitHub-Delivery"))
	w.WriteHeader(http.StatusNoContent) // at once: slower work belongs in a queue
}

func cookie(r *http.Request, name string) string {
	found, err := r.Cookie(name)
	if err != nil {
		return ""
	}
	return found.Value
}

func setCookie(w http.ResponseWriter, name, value string) {
	http.SetCookie(w, &http.Cookie{Name: name, Value: value, Path: "/", HttpOnly: true, SameSite: http.SameSiteLaxMode})
}
