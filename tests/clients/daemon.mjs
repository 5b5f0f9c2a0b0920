/* A daemon on a free port, ready for requests: {url, stop}. */
import { spawn } from "node:child_process";

function launch(program, models, options) {
  const usual = models.length > 1 && !options.includes("--default-model")
    ? ["--default-model", models[0].split("/").at(-1)] : [];
  const listen = [...usual, "--listen", "127.0.0.1:0", "--log-level", "info", ...options];
  const daemon = spawn(program, [...models.flatMap((model) => ["--model", model]), ...listen],
    { stdio: ["ignore", "ignore", "pipe"] });
  return new Promise((resolve, reject) => {
    let log = "";
    daemon.on("exit", (code) => reject(new Error(`alignd ended with ${code}:\n${log}`)));
    daemon.stderr.on("data", (data) => {
      log += data;
      const found = /event=listening address=(\S+)/.exec(log);
      if (found) resolve({ daemon, url: `http://${found[1]}` });
    });
  });
}

export async function startDaemon(program, models, options = []) {
  const { daemon, url } = await launch(program, models, options);
  const stop = () => {
    daemon.removeAllListeners("exit");
    daemon.kill("SIGTERM");
  };
  for (let i = 0; i < 600; i++) {
    /* On a busy machine it may not be heard in time. */
    if ((await fetch(`${url}/ready`).catch(() => null))?.ok) return { url, stop };
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  stop();
  throw new Error("alignd was not ready in time");
}
