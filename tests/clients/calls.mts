/* What a client in TypeScript asks for, with types made from /openapi.json: compiled with --strict, then run by typescript.mjs. */
import createClient from "openapi-fetch";
import type { components, paths } from "./api.js";

type Request = components["schemas"]["TranslateRequest"];

function expect(condition: unknown, what: string): asserts condition {
  if (!condition) throw new Error(what);
}

export async function calls(baseUrl: string): Promise<number> {
  const client = createClient<paths>({ baseUrl });
  const text = "Where is the train station?";

  /* 1. A text: every other field has its default. */
  const one = await client.POST("/translate", { body: { text } });
  expect(one.data && "translations" in one.data, "a translation");
  expect(one.data.translations[0]?.text.includes("gare"), "its text");

  /* 2. Several texts and hypotheses. */
  const many = await client.POST("/translate", { body: { text: [text, "It snows."], n_best: 3, include: ["tokens", "log_probs"] } });
  expect(many.data && "translations" in many.data, "translations");
  const scores: number[] = many.data.translations.flatMap((t) => t.sentences.flatMap((s) => s.hypotheses?.map((h) => h.score) ?? []));
  expect(scores.length === 6, "three hypotheses each");

  /* 3. Sampling, with a body that is put together first. */
  const body: Request = { text, strategy: "sample" };
  body.seed = 7;
  const sampled = await client.POST("/translate", { body });
  expect(sampled.data && "seed" in sampled.data && sampled.data.seed === 7, "the seed");

  /* 4. Choosing a model by language. */
  const back = await client.POST("/translate", { body: { text: "Il neige.", source: "fr", target: "en" } });
  expect(back.data && "model" in back.data && back.data.model === "fr-en", "the other model");

  /* 5. Attention: rows of target tokens, columns of source tokens. */
  const seen = await client.POST("/attention", { body: { text } });
  const sentence = seen.data?.results[0]?.sentences[0];
  const row: number[] | undefined = sentence?.attention?.[0];
  expect(row && row.length === sentence?.source_tokens?.length, "a row of attention");

  /* 6. The alignment of a given translation. */
  const given = await client.POST("/attention", { body: { text: "It snows.", translation: "Il neige.", include: ["tokens", "alignment"] } });
  const pairs: number[][] | undefined = given.data?.results[0]?.sentences[0]?.alignment;
  expect(pairs && pairs.length > 0, "an alignment");

  /* 7. As LibreTranslate's clients ask. */
  const libre = await client.POST("/translate", { body: { q: text, source: "en", target: "fr", format: "text" } });
  expect(libre.data && "translatedText" in libre.data && typeof libre.data.translatedText === "string", "a translated text");

  /* 8. Which language is it? */
  const detected = await client.POST("/detect", { body: { q: "Où est la gare ?" } });
  expect(detected.data?.[0]?.language === "fr", "the language");

  /* 9. What is loaded, and what there is. */
  const models = await client.GET("/models"), languages = await client.GET("/languages");
  expect(models.data?.models[0]?.limits?.max_source_tokens && languages.data?.[0]?.targets.length, "models and languages");

  /* 10. What is wrong with a request. */
  const wrong = await client.POST("/translate", { body: { text, beam_size: 99 } });
  expect(wrong.error && wrong.error.field === "beam_size" && wrong.error.code === "invalid_request", "an error");
  return 10;
}

/* And what does not compile. */
export const mistakes: Request[] = [
  // @ts-expect-error: no text
  {},
  // @ts-expect-error: a number
  { text: "x", beam_size: "5" },
  // @ts-expect-error: no such strategy
  { text: "x", strategy: "best" },
  // @ts-expect-error: no such field
  { text: "x", beamsize: 5 },
];
