import java.io.InputStream;
import java.net.URI;
import java.net.http.*;
import java.nio.file.*;
import java.security.KeyStore;
import java.security.cert.*;
import java.time.*;
import java.util.*;
import java.util.concurrent.*;
import java.util.concurrent.atomic.AtomicLong;
import java.util.regex.*;
import javax.net.ssl.*;

/** Client that reports the progress of a training run to Milepost. Copy this file: it needs Java 17 alone and the injected variables. As a
 * command: java Push.java [--progress PERCENT] [--remaining SECONDS] [--metric NAME=VALUE]... [--step STEP] [--patience SECONDS] */
public class Push {
  private static final AtomicLong SEQUENCE = new AtomicLong(System.currentTimeMillis()); // goes up over restarts, too
  private static final Set<String> SAID = ConcurrentHashMap.newKeySet();
  private static final Pattern STOP = Pattern.compile("\"control\"\\s*:\\s*\\{[^}]*\"stop\"\\s*:\\s*true\\b");

  private static SSLContext trust(Path file) throws Exception {
    KeyStore store = KeyStore.getInstance(KeyStore.getDefaultType());
    store.load(null, null);
    try (InputStream in = Files.newInputStream(file)) {
      for (var ca : CertificateFactory.getInstance("X.509").generateCertificates(in)) store.setCertificateEntry("ca" + store.size(), ca);
    }
    TrustManagerFactory managers = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
    managers.init(store);
    SSLContext context = SSLContext.getInstance("TLS");
    context.init(null, managers.getTrustManagers(), null);
    return context;
  }

  /** One try, of 5 s at most. Token and CA are renewed while the pod runs, so both are read for it. */
  private static HttpResponse<String> attempt(String url, String body) throws Exception {
    String token = Files.readString(Path.of(System.getenv("KUBEFLOW_TRAINER_STATUS_TOKEN"))).strip();
    SSLContext trust = trust(Path.of(System.getenv("KUBEFLOW_TRAINER_STATUS_CA_CERT")));
    HttpRequest request = HttpRequest.newBuilder(URI.create(url)).header("Authorization", "Bearer " + token)
        .header("Content-Type", "application/json").POST(HttpRequest.BodyPublishers.ofString(body)).build();
    return HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).sslContext(trust).build()
        .sendAsync(request, HttpResponse.BodyHandlers.ofString()).get(5, TimeUnit.SECONDS);
  }

  private static String json(String text) {
    return '"' + text.replace("\\", "\\\\").replace("\"", "\\\"").replaceAll("\\p{Cntrl}", " ") + '"';
  }

  private static String field(String json, String name) {
    Matcher found = Pattern.compile('"' + name + "\"\\s*:\\s*\"((?:[^\"\\\\]|\\\\.)*)\"").matcher(json);
    return found.find() ? found.group(1) : "";
  }

  /** Sends a status (what is null is left out) and goes on trying for that long. Answers nothing, or why the training is
   * to stop. Never throws. */
  public static Optional<String> push(Integer progress, Integer remaining, Map<String, ?> metrics, Duration patience) {
    return push(progress, remaining, metrics, patience, null);
  }

  /** The same with the training's own count, for early-stopping rules with the unit "step". */
  public static Optional<String> push(Integer progress, Integer remaining, Map<String, ?> metrics, Duration patience, Integer step) {
    String url = System.getenv("KUBEFLOW_TRAINER_STATUS_URL");
    if (url == null || url.isEmpty()) return Optional.empty();
    String name = System.getenv("KUBEFLOW_TRAINER_STATUS_CONTAINER");
    String container = name == null || name.isEmpty() ? "" : ", \"container\": " + json(name);
    StringJoiner list = new StringJoiner(", ", "[", "]");
    metrics.forEach((metric, value) -> list.add("{\"name\": " + json(metric) + ", \"value\": " + json("" + value) + "}"));
    String body = "{\"trainerStatus\": {\"progressPercentage\": " + progress + ", \"estimatedRemainingSeconds\": " + remaining
        + ", \"step\": " + step + ", \"metrics\": " + list + ", \"lastUpdatedTime\": \"" + Instant.now() + "\"}, \"sequence\": " + SEQUENCE.getAndIncrement() + container + "}";
    long end = System.nanoTime() + patience.toNanos();
    try {
      for (long pause = 250;; pause *= 2) {
        String text, after = "";
        int code = 0;
        try {
          HttpResponse<String> answer = attempt(url, body);
          code = answer.statusCode();
          text = answer.body();
          after = answer.headers().firstValue("Retry-After").orElse("");
        } catch (Exception error) {
          text = error.toString();
        }
        Matcher stop = STOP.matcher(text);
        if (code == 200 && !stop.find()) return Optional.empty();
        if (code == 200) return Optional.of(field(text.substring(stop.start()), "reason") + ": " + field(text.substring(stop.start()), "message"));
        long wait = pause / 2 + ThreadLocalRandom.current().nextLong(pause);
        if (after.matches("\\d{1,6}")) wait = Math.max(wait, Long.parseLong(after) * 1000);
        if ((code != 0 && code != 429 && code < 500) || System.nanoTime() + wait * 1_000_000 > end) {
          if (SAID.add(text)) System.err.println("milepost: progress was not taken: " + code + " " + text);
          return Optional.empty();
        }
        Thread.sleep(wait);
      }
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
      return Optional.empty();
    }
  }

  public static void main(String[] given) {
    Map<String, Double> numbers = new HashMap<>(Map.of("--patience", 15.0));
    Map<String, String> metrics = new LinkedHashMap<>();
    try {
      for (int i = 0; i < given.length; i += 2) {
        String[] pair = given[i + 1].split("=", 2);
        if (given[i].equals("--metric")) metrics.put(pair[0], pair[1]);
        else if (Set.of("--progress", "--remaining", "--step", "--patience").contains(given[i])) numbers.put(given[i], Double.valueOf(given[i + 1]));
        else throw new IllegalArgumentException(given[i]);
      }
    } catch (RuntimeException error) {
      System.err.println("Push: I do not understand " + String.join(" ", given));
      System.exit(2);
    }
    Integer[] of = Arrays.stream(new String[] {"--progress", "--remaining", "--step"}).map(it -> numbers.containsKey(it) ? numbers.get(it).intValue() : null).toArray(Integer[]::new);
    push(of[0], of[1], metrics, Duration.ofMillis((long) (numbers.get("--patience") * 1000)), of[2]).ifPresent(System.out::println);
    System.exit(0);
  }
}
