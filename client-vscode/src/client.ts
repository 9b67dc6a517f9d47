// Starts the server, starts it again when it ends by itself, stops it. One server a window, whatever the folders.
import { join } from "node:path";
import * as vscode from "vscode";
import { Backoff, RESTART_POLICY } from "./backoff";
import { bounded } from "./bounded";
import { settledTypes } from "./coexistence";
import { settingsTree } from "./config";
import { Connection } from "./connection";
import { Handling } from "./handling";
import type { WorkDone } from "./patience";
import type { Preparation } from "./preparation";
import type { Phase, Problem } from "./phase";
import * as protocol from "./protocol";
import { chosenInterpreter } from "./pythonextension";
import { offered } from "./sharing";

/** The server cannot be asked now. Commands say why, once; features that run by themselves stay quiet. */
export class NotRunningError extends Error {}

/** The server runs but does not answer; a restart helps. */
export class SilentError extends Error {}

const START_LIMIT_MS = 60_000;
/** Requests that ask for no work are answered in milliseconds. */
const ANSWER_LIMIT_MS = 10_000;
/** A server that ends this soon may lack a part of its environment. */
const SHORT_MS = 5000;

/** A run, or the way to one. Replaced as a whole, so that a late answer of an old one changes nothing. */
interface Attempt {
  readonly abort: AbortController;
  connection?: Connection;
  servingSinceMs?: number;
}

export class Sidecar implements vscode.Disposable {
  private readonly phases = new vscode.EventEmitter<Phase>();
  private readonly queues = new vscode.EventEmitter<protocol.QueueState>();
  private readonly jobs = new vscode.EventEmitter<protocol.JobInfo>();
  private readonly alarms = new vscode.EventEmitter<protocol.Alert>();
  readonly onPhase = this.phases.event;
  readonly onQueueState = this.queues.event;
  readonly onJob = this.jobs.event;
  readonly onAlert = this.alarms.event;
  /** What the servers of this window have told so far. */
  readonly handling = new Handling(() => performance.now());
  private readonly backoff = new Backoff(RESTART_POLICY);
  private newest: protocol.QueueState | undefined;
  /** What a person has paused; a crash does not change their mind. */
  private pausedByPerson: readonly protocol.PriorityName[] = [];
  /** When background work that a person has paused goes on by itself; undefined: when it is resumed. */
  pausedUntilMs: number | undefined;
  private readonly warnings = new Map<string, protocol.Alert>();
  private current: Phase = { kind: "stopped" };
  private attempt: Attempt | undefined;
  private wait: NodeJS.Timeout | undefined;
  /** The last starts never came up: perhaps the environment is damaged. */
  private suspicious = false;
  private closing: Promise<void> = Promise.resolve();

  constructor(
    private readonly extension: vscode.ExtensionContext,
    private readonly preparation: Preparation,
    private readonly log: vscode.LogOutputChannel,
    private readonly trace: vscode.LogOutputChannel,
  ) {}

  get phase(): Phase {
    return this.current;
  }

  /** The newest that the running server said about itself; undefined while none runs. */
  get queue(): protocol.QueueState | undefined {
    return this.newest;
  }

  /** What the running server warns of now. */
  get alerts(): readonly string[] {
    return [...this.warnings.values()].map((alert) => alert.message);
  }

  /** A person or the activation asks for a start; earlier failures are forgotten. */
  start(): Promise<void> {
    this.backoff.reset();
    this.pausedByPerson = [];
    return this.launch();
  }

  async restart(): Promise<void> {
    await this.end({ kind: "starting" });
    await this.start();
  }

  /** Ends whatever goes on. Returns when the process is gone. */
  stop(): Promise<void> {
    return this.end({ kind: "stopped" });
  }

  /** Makes the environment anew, then starts. */
  async rebuild(): Promise<void> {
    await this.end({ kind: "starting" });
    await this.preparation.discard();
    await this.start();
  }

  /** What the server runs in, or would; undefined before that is made. */
  environment(): ReturnType<Preparation["ready"]> {
    return this.preparation.ready();
  }

  /** Sends a request to the running server. Raises NotRunningError where there is none. */
  request<Params, Result>(
    type: protocol.Request<Params, Result>,
    params: Params,
    token?: vscode.CancellationToken,
  ): Promise<Result> {
    const { client } = this.running();
    // Without a token the argument must be absent: the client would send it as a second param.
    return token === undefined ? client.sendRequest<Result>(type.method, params) : client.sendRequest<Result>(type.method, params, token);
  }

  /** As `request`, and gives what is known before the answer as soon as it is. */
  follow<Params, Result, Part>(
    type: protocol.Streamed<Params, Result, Part>,
    params: Params,
    take: (part: Part) => void,
    token?: vscode.CancellationToken,
  ): Promise<Result> {
    return this.running().withParts(type, (partialResultToken) => this.request(type, { ...params, partialResultToken }, token), take);
  }

  /** As `request`, for a job; `report` is told how far it is. */
  watch(params: protocol.SubmitParams, report: (done: WorkDone) => void, token: vscode.CancellationToken): Promise<protocol.JobInfo> {
    const type = protocol.watched;
    return this.running().withParts(type, (workDoneToken) => this.request(type, { ...params, workDoneToken }, token), report);
  }

  /** As `request`, for what is answered at once. Raises SilentError where it is not. */
  ask<Params, Result>(type: protocol.Request<Params, Result>, params: Params): Promise<Result> {
    const ask = (token: vscode.CancellationToken): Promise<Result> => this.request(type, params, token);
    return bounded(ANSWER_LIMIT_MS, new vscode.CancellationTokenSource(), ask, () => {
      throw new SilentError(type.method);
    });
  }

  /** Runs one of the server's commands. Raises NotRunningError. */
  execute(command: string): Promise<unknown> {
    return this.running().client.sendRequest<unknown>("workspace/executeCommand", { command });
  }

  /** Tells the running server something; where none runs there is nobody who would need it. */
  async notify(method: string, params: unknown): Promise<void> {
    if (this.current.kind === "running") {
      await this.running().client.sendNotification(method, params);
    }
  }

  dispose(): void {
    void this.stop();
    vscode.Disposable.from(this.phases, this.queues, this.jobs, this.alarms).dispose();
  }

  private async end(phase: Phase): Promise<void> {
    clearTimeout(this.wait);
    const { attempt } = this;
    this.attempt = undefined;
    attempt?.abort.abort();
    if (attempt?.connection !== undefined) {
      const closed = attempt.connection.close();
      this.closing = Promise.all([this.closing, closed]).then(() => undefined);
    }
    this.enter(phase);
    await this.closing;
  }

  private running(): Connection {
    const connection = this.attempt?.connection;
    if (this.current.kind !== "running" || connection === undefined) {
      throw new NotRunningError(this.current.kind);
    }
    return connection;
  }

  private async launch(): Promise<void> {
    if (this.attempt !== undefined) {
      return;
    }
    clearTimeout(this.wait);
    const attempt: Attempt = { abort: new AbortController() };
    this.attempt = attempt;
    this.enter({ kind: "starting" });
    await this.closing;
    try {
      if (this.suspicious) {
        this.suspicious = false;
        await this.preparation.discardIfBroken();
      }
      const prepared = await this.preparation.prepare(attempt.abort.signal, () => this.enterAs(attempt, { kind: "preparing" }));
      if ("kind" in prepared) {
        return this.fail(attempt, prepared);
      }
      if (this.current.kind !== "starting") {
        this.enterAs(attempt, { kind: "starting" });
      }
      await this.connect(attempt, [prepared.python, "-I", "-m", "headway", "serve", "--stdio"]);
    } catch (error) {
      if (this.attempt === attempt) {
        this.log.error(`the server did not start: ${String(error)}`);
        this.ended(attempt, error instanceof Error ? error.message : String(error));
      }
    }
  }

  private async connect(attempt: Attempt, command: readonly [string, ...string[]]): Promise<void> {
    if (this.attempt !== attempt) {
      return;
    }
    const limit = setTimeout(() => attempt.abort.abort(new Error(`no answer to initialize within ${START_LIMIT_MS / 1000} s`)), START_LIMIT_MS);
    try {
      const connection = await Connection.open({
        command,
        cwd: this.extension.globalStorageUri.fsPath,
        initialization: () => ({
          settings: settledTypes(settingsTree(), offered()),
          cacheDir: join(this.extension.globalStorageUri.fsPath, "cache"),
          trusted: vscode.workspace.isTrusted,
        }),
        fillSettings,
        log: this.log,
        trace: this.trace,
        onClient: (client) => {
          const { handling } = this;
          client.onNotification(protocol.QUEUE_STATE, handling.noted((state: protocol.QueueState) => this.take(attempt, state)));
          const job = (told: protocol.JobInfo): void => {
            if (this.attempt === attempt) {
              this.jobs.fire(told);
            }
          };
          client.onNotification(protocol.JOB_UPDATED, handling.noted(job));
          client.onNotification(protocol.ALERT, handling.noted((alert: protocol.Alert) => this.heed(attempt, alert)));
        },
        signal: attempt.abort.signal,
      });
      if (this.attempt !== attempt) {
        return void (await connection.close());
      }
      attempt.connection = connection;
      attempt.servingSinceMs = performance.now();
      void connection.ended.then(({ detail }) => this.ended(attempt, detail));
      const paused = this.pausedByPerson;
      this.enter({ kind: "running" });
      if (paused.length > 0) {
        await this.ask(protocol.pause, { priorities: paused });
      }
    } finally {
      clearTimeout(limit);
    }
  }

  /** The server ended or did not come up, and nobody asked for that. */
  private ended(attempt: Attempt, detail: string): void {
    if (this.attempt !== attempt) {
      return;
    }
    this.attempt = undefined;
    const ranMs = attempt.servingSinceMs === undefined ? 0 : performance.now() - attempt.servingSinceMs;
    const verdict = this.backoff.failed(ranMs);
    this.log.warn(`the server ended by itself (${detail}), ${verdict.failures} times in a row`);
    if (verdict.kind === "giveUp") {
      return this.enter({ kind: "failed", problem: { kind: "keepsStopping", times: verdict.failures, detail } });
    }
    this.enter({ kind: "waiting", delayMs: verdict.delayMs, failures: verdict.failures, detail });
    this.wait = setTimeout(() => void this.launch(), verdict.delayMs);
    this.suspicious = ranMs < SHORT_MS && verdict.failures % 3 === 2;
  }

  private fail(attempt: Attempt, problem: Problem): void {
    if (this.attempt === attempt) {
      this.attempt = undefined;
      this.enter({ kind: "failed", problem });
    }
  }

  private enterAs(attempt: Attempt, phase: Phase): void {
    if (this.attempt === attempt) {
      this.enter(phase);
    }
  }

  private take(attempt: Attempt, state: protocol.QueueState): void {
    if (this.attempt === attempt) {
      this.newest = state;
      if (state.pauseReason === "user" || state.pausedPriorities.length === 0) {
        this.pausedByPerson = state.pausedPriorities;
      }
      this.queues.fire(state);
    }
  }

  private heed(attempt: Attempt, alert: protocol.Alert): void {
    if (this.attempt === attempt) {
      this.log.info(`alert (${alert.level}): ${alert.message}`);
      if (alert.level === "resolved") {
        this.warnings.delete(alert.alertId);
      } else {
        this.warnings.set(alert.alertId, alert);
      }
      this.alarms.fire(alert);
      if (this.newest !== undefined) {
        this.queues.fire(this.newest);
      }
    }
  }

  private enter(phase: Phase): void {
    this.current = phase;
    if (phase.kind !== "running") {
      this.newest = undefined;
      this.warnings.clear();
    }
    this.phases.fire(phase);
    void vscode.commands.executeCommand("setContext", "headway.serving", phase.kind === "running");
  }
}

/** The Python extension's choice is the workspace's interpreter, unless the settings say otherwise. */
async function fillSettings(asked: unknown): Promise<unknown> {
  const settings = settledTypes(asked, offered());
  if (!vscode.workspace.isTrusted || typeof settings !== "object" || settings === null) {
    return settings;
  }
  const python: unknown = Reflect.get(settings, "python");
  if (typeof python !== "object" || python === null || Reflect.get(python, "interpreter") !== null) {
    return settings;
  }
  return { ...settings, python: { ...python, interpreter: (await chosenInterpreter()) ?? null } };
}
