package example;

import java.io.IOException;
import java.io.InputStream;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.context.annotation.Bean;
import org.springframework.core.annotation.Order;
import org.springframework.http.ResponseEntity;
import org.springframework.security.config.Customizer;
import org.springframework.security.config.annotation.web.builders.HttpSecurity;
import org.springframework.security.core.annotation.AuthenticationPrincipal;
import org.springframework.security.oauth2.client.oidc.web.logout.OidcClientInitiatedLogoutSuccessHandler;
import org.springframework.security.oauth2.client.registration.ClientRegistrationRepository;
import org.springframework.security.oauth2.core.oidc.user.OidcUser;
import org.springframework.security.oauth2.jwt.Jwt;
import org.springframework.security.web.SecurityFilterChain;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestHeader;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.util.HtmlUtils;

@SpringBootApplication
@RestController
public class Application {
    private static final Logger log = LoggerFactory.getLogger(Application.class);

    public static void main(String[] arguments) {
        SpringApplication.run(Application.class, arguments);
    }

    // A website that people sign in to.
    @GetMapping("/")
    String home(@AuthenticationPrincipal OidcUser user) {
        if (user == null) return "<a href=\"/oauth2/authorization/gate\">Log in</a>";
        return "Signed in as " + HtmlUtils.htmlEscape(user.getName()) + ". <a href=\"/logout\">Log out</a>";
    }

    @Bean
    @Order(2)
    SecurityFilterChain website(HttpSecurity http, ClientRegistrationRepository clients) throws Exception {
        var logout = new OidcClientInitiatedLogoutSuccessHandler(clients);
        logout.setPostLogoutRedirectUri("{baseUrl}/");
        return http.authorizeHttpRequests(requests -> requests.requestMatchers("/", "/webhook").permitAll().anyRequest().authenticated())
                .csrf(csrf -> csrf.ignoringRequestMatchers("/webhook")) // its signature is the proof
                .oauth2Login(Customizer.withDefaults())
                .logout(settings -> settings.logoutSuccessHandler(logout))
                .build();
    }

    // An API that takes access tokens. Issuer and audience are in application.yaml.
    @GetMapping("/api/things")
    Map<String, Object> things(@AuthenticationPrincipal Jwt token) {
        return Map.of("things", List.of("gate", "post"), "caller", token.getSubject());
    }

    @Bean
    @Order(1)
    SecurityFilterChain api(HttpSecurity http) throws Exception {
        return http.securityMatcher("/api/**")
                .authorizeHttpRequests(requests -> requests.anyRequest().hasAuthority("SCOPE_read:things"))
                .oauth2ResourceServer(server -> server.jwt(Customizer.withDefaults()))
                .build();
    }

    // Webhooks. The signature is made over the bytes of the body, so check it before anything reads them as JSON.
    @PostMapping("/webhook")
    ResponseEntity<Void> webhook(
            InputStream stream,
            @RequestHeader(name = "X-Hub-Signature-256", defaultValue = "") String signature,
            @RequestHeader("X-GitHub-Event") String event,
            @RequestHeader("X-GitHub-Delivery") String delivery)
            throws GeneralSecurityException, IOException {
        var maxBytes = 25 * 1024 * 1024; // no payload is larger, and anybody may send a body without end
        var body = stream.readNBytes(maxBytes + 1);
        if (body.length > maxBytes) return ResponseEntity.status(413).build();
        var mac = Mac.getInstance("HmacSHA256");
        mac.init(new SecretKeySpec("quick start secret".getBytes(), "HmacSHA256"));
        var expected = "sha256=" + HexFormat.of().formatHex(mac.doFinal(body));
        if (!MessageDigest.isEqual(expected.getBytes(), signature.getBytes())) return ResponseEntity.status(401).build();
        log.info("webhook: {} {}", event, delivery);
        return ResponseEntity.noContent().build(); // at once: slower work belongs in a queue
    }
}
