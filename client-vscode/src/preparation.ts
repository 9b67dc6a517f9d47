// What must be true before the server can start: a whole package, a Python that fits, an environment made with it.
import { join } from "node:path";
import * as vscode from "vscode";
import { BundleError, platformHere, readBundle, type Bundle } from "./bundle";
import { readConfig } from "./config";
import { EnvironmentError, Environments, type Environment } from "./environment";
import { choose, isInterpreter, lookAt, searchPath, within, type Candidate, type Interpreter } from "./interpreter";
import type { Problem } from "./phase";
import { chosenInterpreter } from "./pythonextension";

export class Preparation {
  constructor(
    private readonly extension: vscode.ExtensionContext,
    private readonly log: vscode.LogOutputChannel,
  ) {}

  /**
   * Finds or makes the environment. `preparing` is called when that takes longer than a look.
   * Returns the problem where a person is needed; rejects only when `signal` aborts.
   */
  async prepare(signal: AbortSignal, preparing: () => void): Promise<Environment | Problem> {
    try {
      const bundle = await readBundle(this.bundleFolder);
      const here = platformHere();
      if (bundle.platform !== here) {
        return { kind: "platform", built: bundle.platform, here };
      }
      const environments = new Environments(this.root, bundle);
      const environment = await this.environment(environments, bundle, signal, preparing);
      if (!("kind" in environment)) {
        await environments.use(environment);
        void this.tidy(environments);
      }
      return environment;
    } catch (error) {
      if (error instanceof BundleError) {
        return { kind: "package", detail: error.message };
      }
      if (error instanceof EnvironmentError && !signal.aborted) {
        return { kind: "environment", folder: this.root, detail: error.message };
      }
      throw error;
    }
  }

  /** The environment that is ready, if there is one; nothing is made. */
  async ready(): Promise<Environment | undefined> {
    try {
      return await new Environments(this.root, await readBundle(this.bundleFolder)).find();
    } catch (error) {
      if (error instanceof BundleError) {
        return undefined; // The start of the server says what is wrong with the package.
      }
      throw error;
    }
  }

  /** Removes the environment that would be used next. */
  async discard(): Promise<void> {
    const environments = new Environments(this.root, await readBundle(this.bundleFolder));
    for (let found = await environments.find(); found !== undefined; found = await environments.find()) {
      this.log.info(`removing ${found.folder}`);
      await environments.remove(found);
    }
  }

  /** Removes it only where it cannot load the server any more. */
  async discardIfBroken(): Promise<void> {
    const environments = new Environments(this.root, await readBundle(this.bundleFolder));
    const found = await environments.find();
    const fault = found === undefined ? undefined : await environments.fault(found);
    if (found !== undefined && fault !== undefined) {
      this.log.warn(`the environment ${found.folder} is damaged (${fault}) and is made anew`);
      await environments.remove(found);
    }
  }

  private async environment(
    environments: Environments,
    bundle: Bundle,
    signal: AbortSignal,
    preparing: () => void,
  ): Promise<Environment | Problem> {
    // With no wish of the user's, one that is ready is as good as any: which Python runs the server changes nothing that
    // can be seen, and no other program has to be asked first.
    const wish = readConfig().interpreter;
    const ready = wish === undefined ? await environments.find() : undefined;
    if (ready !== undefined) {
      return ready;
    }
    preparing();
    const interpreter = await this.interpreter(bundle, wish);
    if ("kind" in interpreter) {
      return interpreter;
    }
    return (await environments.find(interpreter.base)) ?? this.build(environments, interpreter, signal);
  }

  private async interpreter(bundle: Bundle, chosen: string | undefined): Promise<Interpreter | Problem> {
    await vscode.workspace.fs.createDirectory(this.extension.globalStorageUri);
    const cwd = this.extension.globalStorageUri.fsPath;
    const forbidden = vscode.workspace.isTrusted ? [] : (vscode.workspace.workspaceFolders ?? []).map((folder) => folder.uri.fsPath);
    const windows = process.platform === "win32";
    const onPath = chosen === undefined ? await searchPath(process.env["PATH"] ?? "", bundle.pythons, forbidden, windows) : [];
    const suggested = chosen === undefined ? await chosenInterpreter() : undefined;
    const allowed = suggested !== undefined && !forbidden.some((folder) => within(suggested, folder)) ? suggested : undefined;
    const look = async (candidate: Candidate): ReturnType<typeof lookAt> => {
      const result = await lookAt(candidate, bundle.pythons, cwd);
      this.log.info(
        isInterpreter(result)
          ? `${candidate.program} is Python ${result.version} (${result.base})`
          : `${candidate.program} does not fit: ${result.fault}${result.version === undefined ? "" : `, Python ${result.version}`}`,
      );
      return result;
    };
    return choose({ chosen, suggested: allowed, onPath }, look, bundle.pythons);
  }

  private build(environments: Environments, interpreter: Interpreter, signal: AbortSignal): Promise<Environment> {
    const abort = new AbortController();
    signal.addEventListener("abort", () => abort.abort(), { once: true });
    const title = vscode.l10n.t("Headway: setting up its Python {0} environment, once", interpreter.minor);
    const options = { location: vscode.ProgressLocation.Notification, title, cancellable: true };
    this.log.info(`making an environment with ${interpreter.base} (Python ${interpreter.version}) in ${this.root}`);
    return Promise.resolve(
      vscode.window.withProgress(options, async (report, token) => {
        token.onCancellationRequested(() => abort.abort());
        const started = performance.now();
        const last = { done: 0 };
        const progress = (done: number, total: number): void => {
          const message = done === 0 ? vscode.l10n.t("creating") : vscode.l10n.t("package {0} of {1}", done, total);
          report.report({ message, increment: ((done - last.done) / total) * 90 });
          last.done = done;
        };
        const environment = await environments.build(interpreter, progress, abort.signal).catch((error: unknown) => {
          throw token.isCancellationRequested ? new EnvironmentError(vscode.l10n.t("stopped on request"), { cause: error }) : error;
        });
        this.log.info(`the environment is ready after ${((performance.now() - started) / 1000).toFixed(1)} s`);
        return environment;
      }),
    );
  }

  private async tidy(environments: Environments): Promise<void> {
    try {
      for (const folder of await environments.tidy()) {
        this.log.info(`removed ${folder}, which nothing uses any more`);
      }
    } catch (error) {
      this.log.warn(`old environments could not be removed: ${String(error)}`);
    }
  }

  private get root(): string {
    return join(this.extension.globalStorageUri.fsPath, "environments");
  }

  private get bundleFolder(): string {
    return this.extension.asAbsolutePath(join("out", "bundled"));
  }
}
