/* Tests of the page in Debian's chromium, against a daemon with the shipped models: node [--test-name-pattern=...]
 * run.mjs ALIGND, from the top folder. */
import { after, before } from "node:test";
import { begin, end } from "./browser.mjs";

before(begin);
after(end);

await import("./test_views.mjs");
await import("./test_translator.mjs");
await import("./test_live.mjs");
await import("./test_words.mjs");
await import("./test_edit.mjs");
await import("./test_tree.mjs");
await import("./test_tasks.mjs");
await import("./test_paper.mjs");
await import("./test_interlinear.mjs");
await import("./test_pairs.mjs");
await import("./test_speech.mjs");
await import("./test_truth.mjs");
await import("./test_scripts.mjs");
await import("./test_trouble.mjs");
await import("./test_reach.mjs");
await import("./test_axe.mjs");
await import("./test_links.mjs");
await import("./test_heads.mjs");
await import("./test_why.mjs");
await import("./test_step.mjs");
await import("./test_take.mjs");
await import("./test_corpus.mjs");
await import("./test_element.mjs");
await import("./test_docs.mjs");
await import("./test_models.mjs");
await import("./test_origins.mjs");
await import("./test_speed.mjs");
