// One run of the server: its process and the language client that talks to it. A new run gets a new one of these.
import { spawn, type ChildProcessWithoutNullStreams } from "node:child_process";
import * as vscode from "vscode";
import {
  BaseLanguageClient,
  CloseAction,
  ErrorAction,
  ProgressType,
  RevealOutputChannelOn,
  type DynamicFeature,
  type InitializeParams,
  type LanguageClientOptions,
  type MessageTransports,
  type StaticFeature,
} from "vscode-languageclient";
import { StreamMessageReader, StreamMessageWriter } from "vscode-languageserver-protocol/node";
import { SECTION, languagesServed } from "./config";
import { documentSelector } from "./languages";
import { ServerLog } from "./logs";
import type { InitializationOptions, Streamed } from "./protocol";
import { SAVING } from "./saving";
import { sharing } from "./sharing";
import { WAITING } from "./waiting";

/** Longest that an orderly end may take before the process is killed. The editor itself waits about five seconds. */
const STOP_MS = 2000;
const KILL_MS = 1000;

export interface LaunchOptions {
  readonly command: readonly [string, ...string[]];
  /** Never a folder of the workspace: what lies there must not be found by accident. */
  readonly cwd: string;
  readonly initialization: () => InitializationOptions;
  /** Settings as the server asks for them, before they go out. */
  readonly fillSettings: (settings: unknown) => Promise<unknown>;
  readonly log: vscode.LogOutputChannel;
  readonly trace: vscode.LogOutputChannel;
  /** Called before the hand-shake, so that no notification is missed. */
  readonly onClient: (client: BaseLanguageClient) => void;
  /** Gives up the start. */
  readonly signal: AbortSignal;
}

/** How a run ended, in words for the log and the status. */
export interface Ended {
  readonly detail: string;
}

/**
 * A language client that shows no messages of its own: one place decides what a person is told, and how often. It talks to
 * a process that is started and ended here; the client of "vscode-languageclient/node" would start it in five other ways, too.
 */
class QuietClient extends BaseLanguageClient {
  constructor(
    private readonly server: ChildProcessWithoutNullStreams,
    options: LanguageClientOptions,
  ) {
    super(SECTION, "Headway", options);
  }

  protected override createMessageTransports(): Promise<MessageTransports> {
    const { stdout, stdin } = this.server;
    return Promise.resolve({ reader: new StreamMessageReader(stdout), writer: new StreamMessageWriter(stdin) });
  }

  protected override fillInitializeParams(params: InitializeParams): void {
    super.fillInitializeParams(params);
    // The server ends where this process is gone.
    params.processId = process.pid;
  }

  override error(message: string, data?: unknown): void {
    super.error(message, data, false);
  }

  override registerFeature(feature: StaticFeature | DynamicFeature<unknown>): void {
    // Our own commands carry the names of the server's; they exist also while it does not run.
    if (!("registrationType" in feature) || feature.registrationType.method !== "workspace/executeCommand") {
      super.registerFeature(feature);
    }
  }
}

export class Connection implements vscode.Disposable {
  /** Resolves when the process is gone, whoever ended it. */
  readonly ended: Promise<Ended>;
  private readonly serverLog: ServerLog;
  /** Requests so far whose answers come in parts. */
  private asked = 0;

  private constructor(
    readonly client: BaseLanguageClient,
    private readonly process: ChildProcessWithoutNullStreams,
    private readonly log: vscode.LogOutputChannel,
  ) {
    this.serverLog = new ServerLog(log, process.stderr);
    this.ended = new Promise((resolve) => {
      process.once("error", (error) => resolve({ detail: error.message }));
      process.once("close", (code, signal) => {
        void this.serverLog.whole.then(() => resolve({ detail: this.epitaph(code, signal) }));
      });
    });
  }

  /** Starts the process and shakes hands. Rejects where either fails; the process is gone then. */
  static async open(options: LaunchOptions): Promise<Connection> {
    const [program, ...args] = options.command;
    options.log.info(`starting ${[program, ...args].join(" ")}`);
    const child = spawn(program, args, { cwd: options.cwd, stdio: "pipe", windowsHide: true });
    // Writing to a server that has just ended is no error of ours; its end is dealt with where it is seen.
    child.stdin.on("error", (error) => options.log.debug(`writing to the server: ${error.message}`));
    const client = new QuietClient(child, clientOptions(options));
    const connection = new Connection(client, child, options.log);
    options.onClient(client);
    try {
      await Promise.race([
        client.start(),
        connection.ended.then(({ detail }) => Promise.reject(new Error(detail))),
        aborted(options.signal),
      ]);
      options.log.info(`the server runs as process ${child.pid ?? "?"}`);
      return connection;
    } catch (error) {
      await connection.close();
      throw error;
    }
  }

  /** Sends a request with a token of its own, and gives what comes under it before the answer. */
  async withParts<Params, Result, Part>(
    _type: Streamed<Params, Result, Part>,
    send: (token: string) => Promise<Result>,
    take: (part: Part) => void,
  ): Promise<Result> {
    this.asked += 1;
    const token = `headway-parts-${this.asked}`;
    const listener = this.client.onProgress(new ProgressType<Part>(), token, take);
    try {
      return await send(token);
    } finally {
      listener.dispose();
    }
  }

  /** Ends the run: orderly if the server takes part, else by force. Returns when the process is gone. */
  async close(): Promise<void> {
    try {
      await this.client.dispose(STOP_MS);
    } catch (error) {
      this.log.debug(`stopping the server: ${String(error)}`);
    }
    this.process.stdin.end();
    for (const signal of ["SIGTERM", "SIGKILL"] as const) {
      if (await this.gone(KILL_MS)) {
        return;
      }
      this.log.warn(`the server has not ended; sending ${signal}`);
      this.process.kill(signal);
    }
    await this.gone(KILL_MS);
  }

  dispose(): void {
    void this.close();
  }

  private async gone(waitMs: number): Promise<boolean> {
    const timer: { handle?: NodeJS.Timeout } = {};
    const late = new Promise<boolean>((resolve) => {
      timer.handle = setTimeout(() => resolve(false), waitMs);
    });
    try {
      return await Promise.race([this.ended.then(() => true), late]);
    } finally {
      clearTimeout(timer.handle);
    }
  }

  private epitaph(code: number | null, signal: NodeJS.Signals | null): string {
    const how = signal === null ? `exit code ${code ?? "unknown"}` : `signal ${signal}`;
    const words = this.serverLog.lastWords();
    return words === undefined || signal !== null ? how : `${words} (${how})`;
  }
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    const refuse = (): void => reject(signal.reason instanceof Error ? signal.reason : new Error("stopped"));
    if (signal.aborted) {
      refuse();
    } else {
      signal.addEventListener("abort", refuse, { once: true });
    }
  });
}

function clientOptions(options: LaunchOptions): LanguageClientOptions {
  return {
    documentSelector: documentSelector(languagesServed()),
    initializationOptions: options.initialization,
    outputChannel: options.log,
    traceOutputChannel: options.trace,
    revealOutputChannelOn: RevealOutputChannelOn.Never,
    // A failed start is told once, by the owner of the phase.
    initializationFailedHandler: () => false,
    // Restarts are the business of client.ts, which counts them.
    errorHandler: {
      error: () => ({ action: ErrorAction.Continue, handled: true }),
      closed: () => ({ action: CloseAction.DoNotRestart, handled: true, message: "the connection to the server is closed" }),
    },
    middleware: {
      ...sharing({ ...SAVING, ...WAITING }),
      // The status item shows what the server does by itself; what a person asked for is shown by waiting.ts.
      handleWorkDoneProgress: () => undefined,
      workspace: {
        configuration: async (params, token, next) => {
          const answers: unknown = await next(params, token);
          return Array.isArray(answers)
            ? Promise.all(
                answers.map((answer: unknown, index) =>
                  params.items[index]?.section === SECTION ? options.fillSettings(answer) : answer,
                ),
              )
            : [];
        },
      },
    },
  };
}
