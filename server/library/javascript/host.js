/* A part of the engine that emcc links: what the engine tells the worker that opened it. Threads wait until that worker
 * has copied the bytes. */
mergeInto(LibraryManager.library, {
  host_event__proxy: "sync",
  host_event: function(call, bytes, length) {
    Module["onEvent"](call, HEAPU8.slice(bytes >>> 0, (bytes >>> 0) + length));
  },
  host_end__proxy: "sync",
  host_end: function(call, status, bytes, length) {
    Module["onEnd"](call, status, HEAPU8.slice(bytes >>> 0, (bytes >>> 0) + length));
  },
});
