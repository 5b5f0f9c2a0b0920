/* The style sheet of the views that are loaded on demand. */

const TEXT = `
#edited { display: block; width: 100%; height: 100%; resize: none; border: 0; background: none; overflow: hidden; position: relative; }
.stack > #result { color: transparent; max-height: none; overflow: visible; }
.strip, .keys, .buttons, #panel form .row { display: flex; flex-wrap: wrap; align-items: center; gap: .5rem 1rem; }
.keys, .ranks li::before { color: var(--muted); font-size: var(--s0); }
.step small, .ranks small, .say, .verdict { color: var(--muted); }
#panel form textarea { border: 1px solid; border-radius: 8px; background: var(--card); }
.step { border: 0; background: none; }
#word { width: min(30rem, calc(100vw - 2rem)); }
#word .group { margin-bottom: .5rem; }
#word .group button { padding: .25rem .625rem; font-size: var(--s0); flex: 1; }
#word li button { display: block; background: none; padding: .375rem .5rem; font: var(--s1)/1.4 var(--serif); }
#word li button:disabled { opacity: 1; color: var(--muted); }
#word b { font-weight: 650; }
#word .rest { color: var(--muted); }
#word .read { min-height: 1.5rem; padding-top: .25rem; }
#files { padding: .75rem 1rem; border-top: 1px solid var(--line); }
#files h2 { flex: 1; margin: 0; overflow-wrap: anywhere; }
#files progress { accent-color: var(--accent); width: min(16rem, 40%); }
#files table { width: 100%; margin-top: .75rem; table-layout: fixed; }
#files th:first-child { width: 3.5rem; }
#files td, #files th { text-align: start; white-space: normal; overflow-wrap: anywhere; vertical-align: top; }
.notes { margin: .5rem 0 0; padding-inline-start: 1.25rem; color: var(--warn); font-size: var(--s0); }
.strip { gap: 1rem .25rem; align-items: flex-end; margin-bottom: 1rem; }
.step { border-radius: 8px; padding: .375rem .375rem .25rem; display: grid; justify-items: center; gap: .25rem; min-width: 3rem; }
.step:hover { background: var(--soft); color: inherit; }
.step .bars { display: flex; align-items: flex-end; gap: 3px; height: 4.5rem; border-bottom: 1px solid var(--line); }
.step i { display: block; width: 14px; border-radius: 3px 3px 0 0; height: calc(var(--p) * 100%); background: var(--accent); min-height: 2px; }
.step i + i { width: 5px; background: var(--muted); }
.step.doubt i:first-child { background: var(--warn); }
.step small { font-size: .75rem; }
.keys { gap: .25rem 1.25rem; margin-bottom: 1.25rem; }
.keys span::before { content: ""; display: inline-block; width: .75rem; height: .75rem; border-radius: 3px; margin-inline-end: .4rem; vertical-align: -.08rem; background: var(--c); }
.cards.three { grid-template-columns: repeat(auto-fit, minmax(min(100%, 14rem), 1fr)); }
.cards + .strip { margin-top: 1.5rem; }
.none { color: var(--muted); border-style: dashed; background: none; }
#panel form { display: grid; gap: .75rem; margin-bottom: 1.5rem; max-width: 44rem; }
#panel form label { display: grid; gap: .25rem; }
#panel form textarea { border-color: var(--field); width: 100%; field-sizing: content; max-height: 30vh; padding: .5rem .75rem; font: var(--s2)/1.4 var(--serif); resize: vertical; }
#panel form .row { gap: .75rem; align-items: end; }
.ranks { padding: 0; margin: 0 0 1.5rem; list-style: none; counter-reset: rank; }
.ranks li { display: grid; grid-template-columns: 1.5rem 1fr auto; gap: .75rem; padding: .4rem 0; border-bottom: 1px solid var(--line); counter-increment: rank; align-items: baseline; }
.ranks li::before { content: counter(rank); }
.ranks .line { font-size: var(--s2); line-height: 1.4; }
.ranks li:first-child .line { font-weight: 600; }
.cover { display: grid; grid-template-columns: max-content minmax(4rem, 28rem) max-content auto; gap: .375rem .75rem; align-items: center; margin: 0 0 2rem; padding: 0; font-size: var(--s0); }
.cover .track { height: .625rem; background: var(--soft); border-radius: 3px; position: relative; }
.cover .track::after { content: ""; position: absolute; inset: -3px auto -3px 50%; width: 1px; background: var(--field); }
.cover .track i { display: block; height: 100%; border-radius: 3px; background: var(--accent); width: calc(var(--p) * 100%); }
.cover .odd i { background: var(--warn); }
.cover .word { grid-column: 1; font: var(--s1) var(--serif); max-width: 10rem; overflow-wrap: anywhere; }
.cover > * { display: contents; }
.buttons { gap: .5rem; margin-bottom: 1.5rem; }
@media (max-width: 40rem) {
  .ranks li { grid-template-columns: 1.5rem 1fr; gap: 0 .5rem; }
  .ranks small { grid-column: 2; }
  .cover { grid-template-columns: max-content 1fr max-content; }
  .cover .verdict { grid-column: 2 / -1; margin: -.25rem 0 .375rem; }
}
progress { accent-color: var(--accent); width: min(16rem, 50%); }
.words { display: flex; flex-wrap: wrap; gap: .25rem; margin-bottom: 1.25rem; font-family: var(--serif); }
.words button { padding: .125rem .5rem; min-height: 2rem; }
.answer { font-size: var(--s2); margin-bottom: 1rem; }
.answer b { font-family: var(--serif); }
.share { height: .625rem; background: var(--soft); border-radius: 3px; overflow: hidden; display: flex; forced-color-adjust: none; }
.share i { background: var(--accent); width: calc(var(--p) * 100%); }
.share .written { background: var(--field); }
.share .lost { background: var(--warn); }
.lean .track { display: inline-block; position: relative; width: 8rem; height: .75rem; margin-inline-end: .75rem; vertical-align: middle; background: linear-gradient(var(--field), var(--field)) 50% / 1px 100% no-repeat; forced-color-adjust: none; }
.lean i { position: absolute; inset: .125rem auto .125rem 50%; width: calc(var(--p) * 50%); background: var(--accent); }
.lean .less i { inset-inline: auto 50%; background: var(--warn); }
td.lean { text-align: start; }
.fits { width: 100%; max-width: 44rem; }
.fits th, .fits td { white-space: normal; overflow-wrap: anywhere; padding-inline: .25rem; }
.legend, .read { color: var(--muted); font-size: var(--s0); }
#panel .file { display: inline-flex; padding: .25rem .875rem; border: 1px solid var(--line); background: var(--card); color: var(--ink); font-size: inherit; }
#panel .file:hover { border-color: var(--accent); color: var(--accent); }
.drop { display: flex; flex-wrap: wrap; align-items: center; gap: .5rem 1rem; padding: 1rem 1.125rem; margin-bottom: 1rem; border: 1px dashed var(--field); border-radius: 12px; color: var(--muted); font-size: var(--s0); }
.drop.over { border-color: var(--accent); background: var(--soft); }
#panel .drop .file { color: var(--ink); font-size: var(--s1); }
.corpus { width: 100%; table-layout: fixed; }
.corpus th:first-child { width: 3.25rem; }
.corpus th:nth-child(n + 4) { width: 5.75rem; }
.corpus td { vertical-align: top; }
.passage { font: var(--s1)/1.45 var(--serif); }
.passage button { font: inherit; border: 0; background: none; padding: 0; text-align: start; color: var(--accent); min-height: 0; }
.corpus .passage { text-align: start; white-space: normal; overflow-wrap: anywhere; }
.corpus .passage button { width: 100%; }
.corpus th:nth-child(-n + 3) { text-align: start; }
.corpus th button { padding: 0; min-height: 1.875rem; font-weight: 600; color: inherit; }
@media (max-width: 48rem) { /* a line is two: its numbers, and below them its texts */
  .corpus, .corpus tbody, .corpus thead { display: block; }
  .corpus thead { position: sticky; top: 0; background: var(--paper); z-index: 1; }
  .corpus tr { display: grid; grid-template-columns: 2rem 1fr 1fr 1.3fr 1fr; padding: .25rem 0; border-bottom: 1px solid var(--line); }
  .corpus td, .corpus th, .corpus th:first-child, .corpus th:nth-child(n + 4) { border: 0; grid-row: 1; padding: .125rem 0; width: auto; }
  .corpus th button { font-size: .75rem; }
  .corpus .passage { grid-row: auto; grid-column: 1 / -1; }
  .corpus th:nth-child(2), .corpus th:nth-child(3) { display: none; }
}
.concordance { margin: 0 0 1.25rem; }
.concordance .head { margin-bottom: .5rem; color: var(--muted); font-size: var(--s0); }
.concordance summary { padding-block: .25rem; }
.concordance ol { margin: 0 0 .5rem; padding-inline-start: 2.5rem; max-height: 18rem; overflow-y: auto; }
.concordance .passage { margin-bottom: .375rem; }
.chosen:not(:empty) { margin-bottom: 1.5rem; padding-bottom: 1rem; border-bottom: 1px solid var(--line); }
.chosen alignd-attention + alignd-attention { margin-top: 1rem; }
#panel form.links { margin: 1.25rem 0 1rem; }
#panel form.links textarea { font: var(--s1)/1.4 ui-monospace, monospace; min-height: 2.5rem; }
@media (pointer: coarse), (max-width: 40rem) { .words button, #panel .file, .corpus th button, .corpus .passage button { min-height: 2.5rem; min-width: 2.5rem; } .lean .track { width: 4rem; } }
@media (forced-colors: active) { .keys span::before, .step i, .track, .track i { forced-color-adjust: none; } }
@media print { .words, .drop, #panel form, .buttons { display: none; } }
`;

const sheet = new CSSStyleSheet();
sheet.replaceSync(TEXT);
document.adoptedStyleSheets.push(sheet);
