/* Style sheets of the pictures: that of the element's shadow tree, and the part that the page shares with it. */
import { DARK, LIGHT } from "./colour.js";

/* Custom properties that an embedding page may set: --alignd-ink, --alignd-paper, --alignd-serif, ... */
const properties = (values) => Object.entries(values)
  .map(([name, value]) => `--${name}: var(--alignd-${name}, ${value});`).join(" ");
const FONTS = { serif: '"Iowan Old Style", "Palatino Linotype", Palatino, Charter, Georgia, "Noto Serif", serif',
  sans: 'system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif' };

const HOST = `
:host { display: block; ${properties(FONTS)} ${properties({ ...LIGHT, paper: "Canvas" })} --s0: .8125rem; --s1: .9375rem; --s2: 1.125rem; --s3: 1.5rem; --s4: 2rem;
  color: var(--ink); font: var(--s1)/1.55 var(--sans); font-variant-numeric: tabular-nums; }
:host([data-scheme="dark"]) { ${properties({ ...DARK, paper: "Canvas" })} }
:host([theme="dark"]) { color-scheme: dark; }
:host([theme="light"]) { color-scheme: light; }
:host([hidden]) { display: none; }
:host([paper]) { width: 40rem; }
:host([paper]) .line.line.line { font-size: 1.125rem; }
:host([paper]) .pair { break-inside: avoid; border-color: transparent; }
*, ::before, ::after { box-sizing: border-box; }
button { font: inherit; color: inherit; cursor: pointer; border: 1px solid var(--line); border-radius: 8px; background: var(--card); padding: .25rem .875rem; min-height: 2.25rem; }
.hint, .read, .legend, .title, .message, figcaption { color: var(--muted); font-size: var(--s0); }
.title { margin: 0 0 .5rem; font-weight: 600; }
.message { padding: .625rem 0; }
.message.wrong { color: var(--warn); }
.many .pair.active { border-color: var(--accent); }
.busy { opacity: .55; transition: opacity .2s .15s; }
.stage { display: flex; flex-wrap: wrap; gap: 1rem 2.5rem; align-items: flex-start; }
.stage .place { max-width: 100%; min-width: 0; }
.stage .side { flex: 1 1 14rem; max-width: 30rem; padding-top: .5rem; }
figure { margin: 0; }
figcaption { margin-bottom: .5rem; }
`;

const SHARED = `
[hidden] { display: none !important; }
p { margin: 0; }
button:hover { border-color: var(--accent); color: var(--accent); }
button:disabled { opacity: .6; cursor: default; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; border-radius: 4px; }
.sr { position: absolute; width: 1px; height: 1px; margin: -1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
.hint button, .bar button { min-height: 1.875rem; padding: .125rem .625rem; font-size: var(--s0); }
.group { display: flex; }
.group button { border-radius: 0; margin-inline-start: -1px; }
.group button:first-child { border-start-start-radius: 8px; border-end-start-radius: 8px; margin: 0; }
.group button:last-child { border-start-end-radius: 8px; border-end-end-radius: 8px; }
svg { direction: ltr; } /* places are computed */
[dir="rtl"] .legend svg { scale: -1 1; }
:host(:dir(rtl)) .legend svg { scale: -1 1; }
button[aria-pressed="true"]:not(.unit) { background: var(--soft); border-color: var(--accent); color: var(--accent); }
.pair { padding-block: .5rem; padding-inline-start: 1rem; border-inline-start: 3px solid transparent; margin-inline-start: -1rem; }
.line { font-family: var(--serif); line-height: 1.6; margin: 0; overflow-wrap: anywhere; }
.line.source { font-size: clamp(var(--s2), 2.4vw, 1.375rem); color: var(--muted); }
.line.target { font-size: clamp(1.375rem, 4vw, var(--s4)); line-height: 1.5; letter-spacing: -.005em; }
.middling .line.target { font-size: clamp(1.25rem, 2.4vw, var(--s3)); }
.long .line.target, .long .line.source { font-size: clamp(1.0625rem, 1.6vw, 1.25rem); line-height: 1.75; }
.pair { position: relative; }
.pair.inter { --row: 6.5rem; --apart: 3.1rem; display: grid; padding-block: 0; margin-block: .5rem; }
.inter .line.line { grid-area: 1 / 1; margin: 0; font-size: 1.125rem; line-height: var(--row); position: relative; top: calc(1rem - var(--row) / 2); pointer-events: none; white-space: nowrap; }
.inter .line.target.target { font-size: 1.25rem; top: calc(1rem + var(--apart) - var(--row) / 2); margin-bottom: calc(2.25rem + var(--apart) - var(--row)); }
.inter .unit { pointer-events: auto; line-height: 1.25; }
.threads path.apart { stroke: var(--warn); stroke-width: 3px; opacity: .55; }
.threads.lit path.apart { opacity: .15; }
.threads.lit path.apart.on { opacity: 1; stroke-width: 4px; }
.line.target { margin-top: clamp(2.25rem, 5vw, 3.75rem); }
.threads { position: absolute; inset: 0; width: 100%; height: 100%; overflow: visible; pointer-events: none; }
.threads path { fill: none; stroke: var(--heat); stroke-width: calc(1px + 3px * var(--w)); opacity: calc(.06 + .5 * var(--w)); stroke-linecap: round; transition: opacity .15s; }
.threads.wraps path { opacity: calc(.04 + .14 * var(--w)); stroke-width: calc(1px + 1.5px * var(--w)); }
.threads path.rest { stroke-dasharray: .02 .02; }
.threads.lit path { opacity: .06; }
.threads.lit path.on { opacity: calc(.25 + .75 * var(--w)); stroke-width: calc(1px + 3px * var(--w)); }
:host(:not([still])) .fresh .threads path { stroke-dasharray: 1; animation: spin .7s ease-out both; }
@keyframes spin { from { stroke-dashoffset: 1; } }
.pieces .unit:not(.end, .pinned, :hover) { box-shadow: inset 0 0 0 1px var(--line); }
.unit { cursor: pointer; border-radius: 5px; padding: .05em .12em; margin: 0 -.12em; transition: background-color .12s;
  --lit: color-mix(in oklab, var(--heat) calc(var(--w, 0) * 42%), transparent); background: var(--lit); -webkit-box-decoration-break: clone; box-decoration-break: clone; }
.source .unit.lit { color: var(--ink); }
.unit.end { font: var(--s0) var(--sans); color: var(--muted); margin-inline-start: .5em; box-shadow: inset 0 0 0 1px var(--line);
  background: repeating-linear-gradient(-45deg, color-mix(in oklab, var(--heat) calc(var(--w, 0) * 70%), transparent) 0 3px, color-mix(in oklab, var(--heat) calc(var(--w, 0) * 20%), transparent) 3px 6px); }
.unit.end::before { content: "</s>"; direction: ltr; unicode-bidi: isolate; }
.rest { color: var(--muted); }
.target .unit { text-decoration: underline .1em color-mix(in oklab, var(--warn) calc(var(--doubt, 0) * 100%), transparent); text-underline-offset: .22em; text-decoration-skip-ink: none; }
.target .unit.rated { text-decoration: none; padding-bottom: .14em; print-color-adjust: exact; background:
  linear-gradient(var(--way, 90deg), color-mix(in oklab, var(--accent) calc(var(--q) * 100%), var(--warn)) calc(var(--q) * 100%), var(--line) 0) no-repeat 0 100% / 100% .09em, var(--lit); }
.target:dir(rtl) { --way: -90deg; }
.unit:hover, .unit.pinned { box-shadow: inset 0 0 0 1.5px var(--accent); }
.unit:focus-visible { outline: 2px solid var(--accent); }
.hint { min-height: 2.5rem; padding: .25rem 0 1rem; display: flex; flex-wrap: wrap; align-items: center; gap: .25rem .75rem; }
.sheet { display: grid; width: max-content; max-width: 100%; }
.sheet > * { grid-area: 1 / 1; }
.pane { position: sticky; top: 0; pointer-events: none; background: linear-gradient(var(--paper) 85%, transparent); }
.windowed { display: flex; flex-wrap: wrap; gap: 1rem 2rem; align-items: flex-start; }
.large { min-width: 0; }
.mini { position: relative; width: var(--width); height: var(--height); touch-action: none; cursor: grab; background: var(--card); box-shadow: 0 0 0 1px var(--line); }
.mini canvas { display: block; width: 100%; height: 100%; image-rendering: pixelated; }
.mini .mirrored { transform: scaleX(-1); }
.mini .frame { position: absolute; border: 2px solid var(--warn); border-radius: 3px; }
.ground { visibility: hidden; }
.map { display: block; user-select: none; -webkit-user-select: none; }
.map text, .pane text { font-family: var(--sans); }
.map[data-force] { cursor: crosshair; touch-action: none; }
.read { display: block; min-height: 2.25rem; padding-top: .5rem; }
.read b, figcaption b { color: var(--ink); font-weight: 600; }
.legend { display: flex; flex-wrap: wrap; align-items: center; gap: .25rem .5rem; margin: 0; }
.legend .legend { flex-wrap: nowrap; margin-inline-end: .5rem; }
.sample { flex: none; width: 1.5rem; height: 3px; border-radius: 2px; background: var(--accent); }
.sample.poor { background: linear-gradient(90deg, var(--warn) 35%, var(--line) 35%); }
.sample.doubt { background: var(--warn); }
.legend svg { border-radius: 3px; flex: none; }
table { border-collapse: collapse; font-size: var(--s0); }
th, td { padding: .3rem .6rem; text-align: end; border-bottom: 1px solid var(--line); white-space: nowrap; }
th { font-weight: 600; }
thead > tr > * { position: sticky; top: 0; background: var(--paper); z-index: 1; white-space: normal; overflow-wrap: anywhere; vertical-align: bottom; }
th[scope="row"], thead td { text-align: start; white-space: normal; overflow-wrap: anywhere; }
#map th { min-width: 3.25rem; max-width: 8rem; }
#map th, #map td { padding-inline: .25rem; }
[popover] { overflow: auto; max-height: calc(100dvh - 1.5rem); border: 1px solid var(--line); border-radius: 12px; background: var(--card); color: var(--ink); box-shadow: 0 12px 40px rgb(0 0 0 / 22%); }
.popover { position: fixed; inset: auto; margin: 0; padding: .75rem; width: min(19rem, calc(100vw - 2rem)); }
.popover ul { list-style: none; margin: .25rem 0 0; padding: 0; }
.popover li button { width: 100%; display: grid; grid-template-columns: 1fr auto; gap: 0 .75rem; border-color: transparent; text-align: start; position: relative; background: linear-gradient(var(--soft), var(--soft)) no-repeat 0 / calc(var(--p) * 100%) 100%; margin-bottom: 2px; }
.popover li button:hover { border-color: var(--accent); color: inherit; }
/* a finger needs 40 px */
@media (pointer: coarse), (max-width: 40rem) {
  .hint button, .bar button, .popover button, .group button { min-height: 2.5rem; }
  .line.source { font-size: 1.25rem; }
  .unit { line-height: 1.25; padding-block: .45em; }
  .pair.inter { --row: 8.75rem; --apart: 4.4rem; }
  .unit.end { padding-block: 1em; }
}
@media (prefers-reduced-motion: reduce) { *, ::before, ::after { animation: none !important; transition: none !important; } }
@media print { .hint, .read, .mini { display: none; } .pane { position: static; background: none; } .stage { break-inside: avoid; } }
@media (forced-colors: active) { :root, :host { --accent: Highlight; --warn: LinkText; --line: GrayText; } .sample, .target .unit.rated { forced-color-adjust: none; } .target .unit.rated { color: CanvasText; } button[aria-pressed="true"]:not(.unit) { background: Highlight; color: HighlightText; forced-color-adjust: none; } .unit.pinned { outline: 2px solid; } .unit.lit { outline: 1px dashed; } .map, .pane, .legend svg, .threads, .mini canvas { forced-color-adjust: none; } }
`;

function made(...texts) {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(texts.join(""));
  return sheet;
}
export const hostSheet = () => made(HOST, SHARED);
export const sharedSheet = () => made(SHARED);
