/* Where the files of a model folder come from: the disk, or addresses, whose files a browser keeps. */

const isAddress = (folder) => /^(https?|file|blob):/.test(folder);

const fetchFile = async (url, options) => {
  const response = await fetch(url, options);
  if (!response.ok)
    throw new Error(`${url} cannot be fetched: ${response.status} ${response.statusText}`);
  return response;
};

/* Kept files are named by their digests, so that a folder that has changed is fetched again. What cannot be kept,
 * because the page is not secure or the disk is full, is fetched each time. */
const CACHE = "alignd-models";

const openCache = async () => {
  try {
    return await globalThis.caches?.open(CACHE);
  } catch {
    return undefined;
  }
};

const keep = async (cache, key, response) => {
  try {
    for (const former of await cache.keys(key, { ignoreSearch: true }))
      await cache.delete(former);
    await cache.put(key, response);
  } catch {
    /* it is fetched again next time */
  }
};

const readKept = async (cache, url, digest) => {
  const key = `${url}?sha256=${digest}`;
  const kept = await cache?.match(key);
  if (kept)
    return kept.arrayBuffer();
  const response = await fetchFile(url);
  const copy = cache && response.clone();
  const bytes = await response.arrayBuffer();
  if (copy)
    await keep(cache, key, copy);
  return bytes;
};

const fetchFolder = async (folder) => {
  const base = folder.endsWith("/") ? folder : `${folder}/`;
  const manifest = await (await fetchFile(new URL("manifest.json", base), { cache: "no-cache" })).json();
  const cache = await openCache();
  return Promise.all(Object.entries(manifest.files).map(async ([name, { sha256 }]) =>
    [name, new Uint8Array(await readKept(cache, new URL(name, base).href, sha256))]));
};

const readFolder = async (folder) => {
  const { readFile, readdir } = await import("node:fs/promises");
  const entries = (await readdir(folder, { withFileTypes: true })).filter((entry) => !entry.isDirectory());
  return Promise.all(entries.map(async ({ name }) => [name, await readFile(`${folder}/${name}`)]));
};

/** Resolves to the names and bytes of the folder's files. */
export const readModel = (folder) => isAddress(folder) ? fetchFolder(folder) : readFolder(folder);
